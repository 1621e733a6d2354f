package nftables_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
)

func TestTrafficIsCountedByBackendAndOutlivesARestart(t *testing.T) {
	s := l4test.NewSite(t, 2)
	f := s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	f.L4.Algorithm = farm.L4RoundRobin
	s.Apply(f)
	for i := range 4 {
		a, err := s.Open(i, s.VIP4+":80")
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Again(strings.Repeat("x", 10_000)); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string) {
		t.Helper()
		got := s.Traffic()
		for id, c := range got.Backends {
			if c.Connections != 2 || c.Established != 2 || c.Pending != 0 || c.BytesIn < 20_000 || c.BytesOut < 20_000 || c.PacketsIn < 6 || c.PacketsOut < 6 {
				t.Errorf("%s: backend %d: %+v", when, id, c)
			}
		}
		if sum := got.Farms[1]; len(got.Backends) != 2 || sum.Connections != 4 || sum.Established != 4 || sum.BytesIn < 40_000 {
			t.Errorf("%s: farm: %+v of %d backends", when, sum, len(got.Backends))
		}
	}
	check("at first")
	f.L4.Backends[0].Weight = 3
	s.Apply(f)
	check("after an edit")
	s.Renew()
	s.Apply(f)
	check("after a restart")
}

func TestTrafficOfAStoppedFarmIsKept(t *testing.T) {
	s := l4test.NewSite(t, 2)
	f, other := s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80), s.Farm(2, farm.L4TCP, farm.NATTarget, false, 81)
	f.L4.Algorithm = farm.L4RoundRobin
	visit := func(n int) {
		t.Helper()
		for i := range n {
			if _, err := s.Open(i, s.VIP4+":80"); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := func(when string, connections uint64) {
		t.Helper()
		got := s.Traffic()
		if got.Farms[1].Connections != connections || got.Farms[1].BytesIn == 0 || got.Farms[2].Connections != 0 {
			t.Errorf("%s: %+v and %+v, want %d connections", when, got.Farms[1], got.Farms[2], connections)
		}
	}
	for _, beside := range [][]farm.Farm{{other}, nil} { // with rules left, and with none
		s.Renew()
		s.Apply(append([]farm.Farm{f}, beside...)...)
		before := s.Traffic().Farms[1].Connections
		visit(2)
		want("at first", before+2)
		f.Stopped = true
		s.Apply(append([]farm.Farm{f}, beside...)...)
		want("stopped", before+2)
		f.L4.TTL++
		s.Apply(append([]farm.Farm{f}, beside...)...)
		want("edited while it is stopped", before+2)
		f.Stopped = false
		s.Apply(append([]farm.Farm{f}, beside...)...)
		want("started", before+2)
		visit(2)
		want("at last", before+4)
	}
	s.Apply(other)
	s.Apply(f)
	if got := s.Traffic().Farms[1]; got.Connections != 0 {
		t.Errorf("a farm that was deleted is remembered: %+v", got)
	}
}

func TestRulesOfAFarmAreReadFromTheKernel(t *testing.T) {
	s := l4test.NewSite(t, 2)
	f, g := s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80), s.Farm(2, farm.L4UDP, farm.NATTarget, false, 53)
	f.L4.Persist = farm.L4PersistSrc
	s.Apply(f, g)
	s.In(func(ctx context.Context) {
		text, err := s.Reconciler.Rules(ctx, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"chain farm1 {", "numgen random mod 2", s.VIP4 + " . tcp . 80 : goto farm1", "0x5c00000a : 10.10.2.11 . 8080", "chain refresh1 {", "map inet sluice session1_srcip4"} {
			if !strings.Contains(text, part) {
				t.Errorf("%q is missing in\n%s", part, text)
			}
		}
		if strings.Contains(text, "farm2") || strings.Contains(text, "0x5c000014") {
			t.Errorf("another farm's rules are among them:\n%s", text)
		}
		objects, err := s.Reconciler.Objects(ctx)
		if err != nil || len(objects) != 1 || objects[0].Name != "inet sluice" || !strings.Contains(objects[0].Detail, "chains") {
			t.Errorf("objects: %+v, %v", objects, err)
		}
		if err := s.Reconciler.Clean(ctx); err != nil {
			t.Error(err)
		}
		if objects, err := s.Reconciler.Objects(ctx); err != nil || len(objects) != 0 {
			t.Errorf("after cleaning: %+v, %v", objects, err)
		}
	})
	if out := s.Appliance.Run("nft", "list", "tables"); strings.Contains(out, "sluice") {
		t.Errorf("tables left: %s", out)
	}
}
