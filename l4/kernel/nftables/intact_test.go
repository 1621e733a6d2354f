package nftables_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/nftables"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// Farms are restored after an operator flushed a chain or set, or deleted a rule, though the
// table still exists.
func TestFarmsAreRestoredAfterAPartialFlush(t *testing.T) {
	s := l4test.NewSite(t, 1)
	f := s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	f.L4.Persist, f.L4.TTL = farm.L4PersistSrc, 60
	filter := nftables.New(s.NFT, l4test.Quiet)
	s.Use(filter)
	s.Apply(f)
	intact := func() (ok bool) {
		s.In(func(ctx context.Context) { ok = filter.Intact(ctx) })
		return ok
	}
	for _, how := range []string{
		"flush chain inet sluice farm1", "flush chain inet sluice prerouting", "flush chain inet sluice deliver4",
		"flush map inet sluice ports4", "delete element inet sluice target4 { 0x5c00000a }", "flush set inet sluice masqueraded",
		"chain inet sluice prerouting { policy drop ; }", "add table inet sluice { flags dormant ; }", "insert rule inet sluice farm1 drop",
		"flush table inet sluice", "delete table inet sluice", "flush ruleset",
	} {
		for range 2 {
			if !intact() {
				t.Fatalf("before %q: rules are reported as missing", how)
			}
		}
		s.Appliance.Run("nft", strings.Fields(how)...)
		if intact() {
			t.Errorf("%q was not noticed", how)
		}
		s.Apply(f)
		if got := s.Ask("tcp", l4test.Source(1), s.VIP4+":80"); got.Server != "b1" {
			t.Errorf("after %q: %+v", how, got)
		}
	}
	if !intact() {
		t.Error("rules are reported as missing")
	}
	list := s.Appliance.Run("nft", "-a", "list", "chain", "inet", "sluice", "prerouting")
	last := strings.Fields(list[strings.LastIndex(list, "# handle "):])[2]
	s.Appliance.Run("nft", "replace", "rule", "inet", "sluice", "prerouting", "handle", last, "tcp", "dport", "9999", "accept")
	if intact() {
		t.Error("a rule in place of one of ours was not noticed")
	}
	s.Apply(f)
	s.Follow()
	s.Appliance.Run("nft", "flush", "chain", "inet", "sluice", "farm1")
	l4test.Eventually(t, "the farm is carried again by itself", func() bool {
		a, err := s.Open(0, s.VIP4+":80")
		return err == nil && a.Server == "b1"
	})
}

// Docker and other programs change rules often.
func TestForeignRuleChangesCauseNoRebuild(t *testing.T) {
	s := newPacketSite(t, 2)
	filter := nftables.New(s.run, slog.New(failOnWarning{t}))
	var farms []farm.Farm
	for i, nat := range farm.NATTypes() {
		f := s.farm(uint32(2*i+1), nat, farm.L4TCP, false, one(80), farm.PortRange{First: 1000, Last: 2000}, farm.PortRange{First: 2001, Last: 3000})
		f.VIP = f.VIP.Next()
		for range i {
			f.VIP = f.VIP.Next()
		}
		f.L4.DataPath, f.L4.Persist, f.L4.TTL = farm.DataPathKernel, farm.L4PersistSrcSrc, 60
		f.L4.Backends[0].Sessions = []string{"10.0.0.1 . 7", "10.0.0.2 . 7"}
		f.L4.Backends[1].ConnLimit = 9
		if nat == farm.NATDirect || nat == farm.NATStateless {
			f.L4.Backends[1].ConnLimit = 0
		}
		farms = append(farms, f)
	}
	s.Appliance.Do(func() {
		ctx := context.Background()
		problems, err := filter.Carry(ctx, &rules.Input{Farms: farms, Wire: s.wire()})
		if err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		look := func(when string) {
			t.Helper()
			if !filter.Intact(ctx) {
				t.Errorf("%s: rules are reported as missing", when)
			}
		}
		look("at first")
		if err := filter.Fill(ctx, rules.Counted{Full: map[uint32]bool{farms[0].L4.Backends[1].ID: true}}); err != nil {
			t.Fatal(err)
		}
		if err := filter.Learn(ctx, &farms[0], ctl.KernelSession{Key: "10.0.0.3 . 7", Backend: farms[0].L4.Backends[0].ID, TTL: time.Minute}); err != nil {
			t.Fatal(err)
		}
		look("after changes of our own")
	})
	for i := range 3 {
		s.Appliance.Run("nft", "add", "table", "ip", fmt.Sprint("foreign", i))
		s.Appliance.Do(func() {
			if !filter.Intact(context.Background()) {
				t.Error("a foreign table: rules are reported as missing")
			}
		})
	}
}
