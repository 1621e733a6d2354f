package kernel_test

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/l4/kernel"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/nftables"
	"github.com/sluicelb/sluice/sysnet/conntrack"
	"github.com/sluicelb/sluice/sysnet/housetest"
)

// Connections ended on request are not picked up again.
func TestEndedConnectionsAreNotPickedUp(t *testing.T) {
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

func TestEndedConnectionsAreRecordedForTheIdleTimeout(t *testing.T) {
	f := &told{}
	k := kernel.New(kernel.Options{Filter: f, Connections: none{}, Log: l4test.Quiet})
	one := l4test.Example(func(f *farm.Farm) { f.L4.NAT, f.L4.IdleTimeout = farm.NATDirect, 1 })
	apply := func(farms ...farm.Farm) { k.Apply(context.Background(), 1, &farm.Config{Farms: farms}) }
	ended := func() bool { in, _ := f.now(); return in.Flushed[one.ID] }
	apply(one)
	if ended() {
		t.Error("connections are considered ended too early")
	}
	fewer := one.Clone()
	fewer.L4.Backends = fewer.L4.Backends[1:]
	apply(fewer)
	if ended() {
		t.Error("connections of a deleted backend are remembered")
	}
	apply(one)
	apply(l4test.Stopped(one))
	apply(one)
	if !ended() {
		t.Error("connections of a stopped farm are forgotten")
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
		t.Error("connections of a cut backend are forgotten")
	}
	apply()
	apply(one)
	if ended() {
		t.Error("connections of a deleted farm are remembered")
	}
	k.Flushing(context.Background(), func(id uint32) bool { return id == one.L4.Backends[0].ID+1000 })
	if ended() {
		t.Error("connections of another farm's backend are considered ended")
	}
	k.Flushing(context.Background(), func(id uint32) bool { return id == one.L4.Backends[0].ID })
	if !ended() {
		t.Error("connections ended on request are forgotten")
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
		t.Error("a new reconciler forgot the connections of a stopped farm")
	}
}

// killed replaces netd as after kill -9: the next one knows only the kernel's rules.
func killed(s *l4test.Site) { s.Use(nftables.New(s.NFT, l4test.Quiet)) }

func TestAKilledNetdForgetsNoEndedConnections(t *testing.T) {
	s := l4test.NewSite(t, 1)
	when := map[string]func(f farm.Farm){
		"after the farm runs again":                        func(f farm.Farm) { s.Apply(l4test.Stopped(f)); s.Apply(f); killed(s) },
		"while it is stopped, and it is started meanwhile": func(f farm.Farm) { s.Apply(l4test.Stopped(f)); killed(s) },
		"while its address is taken": func(f farm.Farm) {
			s.Apply(l4test.Stopped(f))
			s.Apply(f)
			other := s.Farm(9, farm.L4TCP, f.L4.NAT, false, f.L4.Ports[0].First)
			for range 2 {
				if problems := s.Try(other, f); problems[f.ID] == "" {
					t.Error("two farms have the same address")
				}
				killed(s)
			}
		},
		"twice":                        func(f farm.Farm) { s.Apply(l4test.Stopped(f)); s.Apply(f); killed(s); s.Apply(f); killed(s) },
		"and its rules are built anew": func(f farm.Farm) { s.Apply(l4test.Stopped(f)); s.Apply(f); s.Renew() },
		"before a backend that was cut is back": func(f farm.Farm) {
			cut := f.Clone()
			cut.L4.Backends[0].Maintenance = farm.MaintenanceCut
			s.Apply(cut)
			killed(s)
			s.Apply(cut)
		},
	}
	for name, end := range when {
		t.Run(name, func(t *testing.T) {
			for i, nat := range []farm.NATType{farm.NATMasquerade, farm.NATTarget} {
				f := s.Farm(uint32(i+1), farm.L4TCP, nat, false, uint16(80+i))
				s.Apply(f)
				a, err := s.Open(0, l4test.Listener(f))
				if err != nil {
					t.Fatal(err)
				}
				end(f)
				s.Apply(f)
				if rules := s.Ruleset(); !strings.Contains(rules, "syn") { // a reset may be lost on its way
					t.Errorf("%s: packets in mid-stream are not refused:\n%s", nat, rules)
				}
				if err := a.Again("after that"); !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("%s: the connection was ended, and then %v", nat, err)
				}
				s.Apply()
				s.Apply(f)
				if rules := s.Ruleset(); strings.Contains(rules, "midstream") {
					t.Errorf("%s: a farm that was deleted and made again refuses packets in mid-stream", nat)
				}
				s.Apply()
			}
		})
	}
}

// A reconciler adopts what another filter remembers, for the time that connections may be silent.
func TestRememberedConnectionsExpire(t *testing.T) {
	one := l4test.Example(func(f *farm.Farm) { f.L4.NAT, f.L4.IdleTimeout = farm.NATDirect, 1 })
	backend := one.L4.Backends[0].ID
	table, err := health.OpenTable(make([]byte, health.TableSize))
	if err != nil {
		t.Fatal(err)
	}
	table.SetGuardian(backend, health.Down, time.Now())
	f := &remembering{flushed: map[uint32]bool{one.ID: true, 99: true}, cut: map[uint32]bool{backend: true, 99: true}}
	k := kernel.New(kernel.Options{Filter: f, Health: table, Connections: none{}, Log: l4test.Quiet})
	k.Apply(t.Context(), 1, &farm.Config{Farms: []farm.Farm{one}})
	if in, _ := f.now(); !maps.Equal(in.Flushed, map[uint32]bool{one.ID: true}) || !maps.Equal(in.Cut, map[uint32]bool{backend: true}) {
		t.Errorf("remembered: flushed %v, cut %v", in.Flushed, in.Cut)
	}
	table.SetGuardian(backend, health.Up, time.Now())
	k.Age(1100 * time.Millisecond)
	k.Follow(t.Context())
	if in, _ := f.now(); len(in.Flushed) > 0 || len(in.Cut) > 0 {
		t.Errorf("later: flushed %v, cut %v", in.Flushed, in.Cut)
	}
}

// remembering is a filter of an earlier process.
type remembering struct {
	told
	flushed, cut map[uint32]bool
}

func (r *remembering) Remembered(context.Context) (flushed, cut map[uint32]bool, err error) {
	return r.flushed, r.cut, nil
}

// Restarting another firewall often begins with "flush ruleset".
func TestFarmsAreRestoredAfterAFlush(t *testing.T) {
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
