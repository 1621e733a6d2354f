package kernel_test

import (
	"context"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel"
)

// Restarting a firewall of others often begins with "flush ruleset".
func TestFarmsComeBackAfterSomebodyFlushedAllRules(t *testing.T) {
	s := newSite(t, 1)
	one, two := s.l4(1, farm.L4TCP, farm.NATMasquerade, false, 80), s.l4(2, farm.L4TCP, farm.NATMasquerade, false, 81)
	s.apply(one)
	s.Appliance.Run("nft", "flush", "ruleset")
	one.L4.Algorithm = farm.L4RoundRobin
	s.apply(one, two)
	s.ask("tcp", netip.Addr{}, s.vip4+":80")
	s.ask("tcp", netip.Addr{}, s.vip4+":81")
	s.Appliance.Run("nft", "flush", "ruleset")
	s.follow()
	eventually(t, "the farm is carried again", func() bool {
		a, err := s.open(0, s.vip4+":80")
		return err == nil && a.Server == "b1"
	})
}

func TestSessionsOfACutBackendAreForgottenThoughOneExpiresMeanwhile(t *testing.T) {
	s := newSite(t, 1)
	f := s.l4(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	f.L4.Persist, f.L4.TTL = farm.L4PersistSrc, 60
	s.apply(f)
	s.in(func(ctx context.Context) {
		filter := kernel.NewNftables(s.run, slog.New(slog.DiscardHandler))
		if err := filter.Learn(ctx, &f, kernel.Session{Key: "192.0.2.7", Backend: 10, TTL: time.Minute}); err != nil {
			t.Fatal(err)
		}
		if _, err := filter.Forget(ctx, &f, "192.0.2.7", "192.0.2.8"); err != nil {
			t.Fatal(err)
		}
		if left, err := filter.Learned(ctx, &f); err != nil || len(left) != 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	})
}
