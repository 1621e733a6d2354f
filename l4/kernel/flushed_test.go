package kernel_test

import (
	"context"
	"errors"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/sysnet/conntrack"
	"github.com/sluicelb/sluice/sysnet/housetest"
)

// Connections ended on request are not picked up again.
func TestWhatIsEndedOnRequestIsNotTakenUpAgain(t *testing.T) {
	s := l4test.NewSite(t, 1)
	f, g := s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80), s.Farm(2, farm.L4TCP, farm.NATMasquerade, false, 81)
	end := func(c *housetest.Answer, how func(ctx context.Context)) {
		t.Helper()
		s.In(func(ctx context.Context) {
			how(ctx)
			if _, err := conntrack.FlushOnly(ctx, func(id uint32) bool { return id == 10 }); err != nil {
				t.Fatal(err)
			}
		})
		s.Apply(f, g)
		if err := c.Again("after that"); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("it was ended, and then %v", err)
		}
	}
	open := func(f farm.Farm) *housetest.Answer {
		t.Helper()
		a, err := s.Open(0, l4test.Listener(f))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	s.Apply(f, g)
	other := open(g)
	end(open(f), func(ctx context.Context) {
		s.Reconciler.Flushing(ctx, func(id uint32) bool { return id == 10 })
	})
	end(open(f), func(ctx context.Context) {
		if err := s.Reconciler.Clean(ctx); err != nil {
			t.Fatal(err)
		}
	})
	if err := other.Again("the other"); err != nil {
		t.Error(err)
	}
}

func TestEndedConnectionsAreRememberedAsLongAsTheyMayBeSilent(t *testing.T) {
	f := &told{}
	k := kernel.New(kernel.Options{Filter: f, Connections: none{}, Log: l4test.Quiet})
	one := l4test.Example(func(f *farm.Farm) { f.L4.NAT, f.L4.IdleTimeout = farm.NATDirect, 1 })
	apply := func(farms ...farm.Farm) { k.Apply(context.Background(), 1, &farm.Config{Farms: farms}) }
	ended := func() bool { in, _ := f.now(); return in.Flushed[one.ID] }
	apply(one)
	if ended() {
		t.Error("nothing was ended yet")
	}
	fewer := one.Clone()
	fewer.L4.Backends = fewer.L4.Backends[1:]
	apply(fewer)
	if ended() {
		t.Error("nobody chooses a backend that was deleted")
	}
	apply(one)
	apply(l4test.Stopped(one))
	apply(one)
	if !ended() {
		t.Error("those of a farm that was stopped are not remembered")
	}
	k.Age(1100 * time.Millisecond)
	k.Follow(context.Background())
	if ended() {
		t.Error("they are remembered for longer")
	}
	cut := one.Clone()
	cut.L4.Backends[0].Maintenance = farm.MaintenanceCut
	apply(cut)
	apply(one)
	if !ended() {
		t.Error("those of a backend that was cut are not remembered")
	}
	apply()
	apply(one)
	if ended() {
		t.Error("those of a farm that was deleted are remembered")
	}
	k.Flushing(context.Background(), func(id uint32) bool { return id == one.L4.Backends[0].ID+1000 })
	if ended() {
		t.Error("those of another farm's backend were ended")
	}
	k.Flushing(context.Background(), func(id uint32) bool { return id == one.L4.Backends[0].ID })
	if !ended() {
		t.Error("those that were ended on request are not remembered")
	}
	apply()
	_, before := f.now()
	k.Flushing(context.Background(), func(uint32) bool { return true })
	if _, after := f.now(); after != before {
		t.Error("the rules were written again though there is no farm")
	}
	k = kernel.New(kernel.Options{Filter: f, Connections: none{}, Log: l4test.Quiet})
	apply(l4test.Stopped(one))
	apply(one)
	if !ended() {
		t.Error("a reconciler that is new forgot those of a farm that is stopped")
	}
}

// Restarting another firewall often begins with "flush ruleset".
func TestFarmsComeBackAfterSomebodyFlushedAllRules(t *testing.T) {
	s := l4test.NewSite(t, 1)
	one, two := s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80), s.Farm(2, farm.L4TCP, farm.NATMasquerade, false, 81)
	s.Apply(one)
	s.Appliance.Run("nft", "flush", "ruleset")
	one.L4.Algorithm = farm.L4RoundRobin
	s.Apply(one, two)
	s.Ask("tcp", netip.Addr{}, s.VIP4+":80")
	s.Ask("tcp", netip.Addr{}, s.VIP4+":81")
	s.Appliance.Run("nft", "flush", "ruleset")
	s.Follow()
	l4test.Eventually(t, "the farm is carried again", func() bool {
		a, err := s.Open(0, s.VIP4+":80")
		return err == nil && a.Server == "b1"
	})
}
