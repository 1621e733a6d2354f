package kernel_test

import (
	"context"
	"maps"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/l4/kernel"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/housetest"
)

// The limit of a farm is about the connections of all its backends.
func TestConnectionsOfAFarmAreCounted(t *testing.T) {
	f := &observed{open: map[uint32]int{1: 2, 2: 1}}
	k := kernel.New(kernel.Options{Filter: f, Connections: f, Log: l4test.Quiet})
	one := l4test.Example(func(f *farm.Farm) { f.L4.MaxConnections = 3 })
	limit := map[uint32]bool{rules.LimitOf(one.ID): true}
	apply := func() { k.Apply(t.Context(), 1, &farm.Config{Farms: []farm.Farm{one}}) }
	look := func(what string, open map[uint32]int, held map[uint32]bool) {
		t.Helper()
		f.open = open
		k.Age(100 * time.Millisecond)
		k.Follow(t.Context())
		if !maps.Equal(f.held, held) || len(f.full)+len(f.room) != 0 {
			t.Errorf("%s: held %v, full %v, room %v; want held %v", what, f.held, f.full, f.room, held)
		}
	}
	apply()
	if !maps.Equal(f.held, limit) || len(f.full)+len(f.room) != 0 {
		t.Fatalf("held %v, full %v, room %v", f.held, f.full, f.room)
	}
	look("there is room for one", map[uint32]int{1: 2}, map[uint32]bool{})
	look("it has come, 0.1 s later", map[uint32]int{1: 2, 2: 1}, limit)
	look("all have gone", nil, map[uint32]bool{})
	f.filled = 0
	look("the rules count the next", map[uint32]int{1: 3}, map[uint32]bool{})
	if f.filled != 0 {
		t.Errorf("they were counted %d times again", f.filled)
	}
	f.Doubt()
	apply()
	if !maps.Equal(f.held, limit) {
		t.Errorf("after rules were rebuilt: held %v, want %v", f.held, limit)
	}
	one = one.Clone()
	one.L4.MaxConnections = 4
	apply()
	look("the limit was raised", map[uint32]int{1: 3, 2: 1}, limit)
	one = one.Clone()
	one.L4.MaxConnections = 0
	apply()
	look("there is no limit", map[uint32]int{1: 3, 2: 1}, map[uint32]bool{})
}

// A limit is held until it has room, whatever happens to other farms.
func TestChangingALimitKeepsTheOther(t *testing.T) {
	f := &observed{open: map[uint32]int{1: 2, 2: 1, 3: 1}}
	k := kernel.New(kernel.Options{Filter: f, Connections: f, Log: l4test.Quiet})
	full := l4test.Example(func(f *farm.Farm) { f.L4.MaxConnections, f.L4.Backends[0].ConnLimit = 3, 2 })
	other := l4test.Example(func(f *farm.Farm) {
		f.ID, f.VIP = 8, netip.MustParseAddr("192.0.2.2")
		f.L4.ID, f.L4.Backends[0].ID, f.L4.Backends[1].ID = 13, 3, 4
	})
	want := map[uint32]bool{rules.LimitOf(full.ID): true, 1: true}
	look := func(what string) {
		t.Helper()
		if !maps.Equal(f.held, want) {
			t.Errorf("%s: held %v, want %v", what, f.held, want)
		}
	}
	apply := func(what string, edit func(l *farm.L4)) {
		t.Helper()
		other = other.Clone()
		edit(other.L4)
		k.Apply(t.Context(), 1, &farm.Config{Farms: []farm.Farm{full, other}})
		look(what)
	}
	apply("before", func(*farm.L4) {})
	apply("another farm has got a limit", func(l *farm.L4) { l.MaxConnections = 5 })
	apply("and its backend", func(l *farm.L4) { l.Backends[0].ConnLimit = 5 })
	apply("and one without connections", func(l *farm.L4) { l.Backends[1].ConnLimit = 5 })
	f.refused = map[uint32]string{other.ID: "refused"}
	for _, what := range []string{"the other is refused", "it still is"} {
		apply(what, func(l *farm.L4) { l.Backends[1].Weight++ })
	}
	f.refused = nil
	apply("it is not any longer", func(l *farm.L4) { l.Backends[1].Weight++ })
	f.asked = nil
	if apply("it has another weight", func(l *farm.L4) { l.Backends[1].Weight++ }); f.asked != nil {
		t.Errorf("connections of %v were counted for the same limits", f.asked)
	}
	f.open[1] = 1
	want = map[uint32]bool{}
	apply("there is room", func(l *farm.L4) { l.MaxConnections = 6 })
	f.open[2] = 2 // the backend keeps its room
	want = map[uint32]bool{rules.LimitOf(full.ID): true}
	k.Age(100 * time.Millisecond)
	k.Follow(t.Context())
	look("the limit was near")
}

// party is a farm and its clients.
type party struct {
	*l4test.Site
	t       *testing.T
	network string
	farm    farm.Farm
	come    int
}

// open opens a connection of another client, which stays open.
func (p *party) open() (*housetest.Answer, error) {
	p.come++
	from := l4test.Source(p.come % 20)
	if p.farm.VIP.Is6() {
		from = netip.MustParseAddr("fd00:1::100")
		for range p.come % 20 {
			from = from.Next()
		}
	}
	a, err := p.Client.Ask(p.network, netip.AddrPortFrom(from, 0), l4test.Listener(p.farm))
	if err == nil {
		p.t.Cleanup(a.Close)
	}
	return a, err
}

// fits checks that so many clients are admitted and the next is not.
func (p *party) fits(when string, n int) {
	p.t.Helper()
	for i := range n {
		if _, err := p.open(); err != nil {
			p.t.Fatalf("%s: client %d of %d: %v\n%s", when, i+1, n, err, p.Ruleset())
		}
	}
	time.Sleep(300 * time.Millisecond) // connections older than the rules are counted every tenth of a second
	if _, err := p.open(); !l4test.Refused(err) {
		p.t.Fatalf("%s: one too many: %v\n%s", when, err, p.Ruleset())
	}
}

func TestAFarmLimitIncludesConnectionsOlderThanItsRules(t *testing.T) {
	for name, c := range map[string]struct {
		network  string
		protocol farm.L4Protocol
		six      bool
		edit     func(l *farm.L4)
	}{
		"tcp":                  {"tcp", farm.L4TCP, false, func(*farm.L4) {}},
		"udp over IPv6":        {"udp", farm.L4UDP, true, func(*farm.L4) {}},
		"ports over IPv6":      {"tcp", farm.L4TCPUDP, true, func(l *farm.L4) { l.Ports[0].Last = 90 }},
		"a limit of a backend": {"tcp", farm.L4TCP, false, func(l *farm.L4) { l.Backends[0].ConnLimit = 50 }},
		"sessions":             {"tcp", farm.L4TCP, false, func(l *farm.L4) { l.Persist = farm.L4PersistSrc }},
	} {
		t.Run(name, func(t *testing.T) {
			s := l4test.NewSite(t, 2)
			p := &party{Site: s, t: t, network: c.network, farm: s.Farm(1, c.protocol, farm.NATMasquerade, c.six, 80)}
			c.edit(p.farm.L4)
			limit := func(n uint32) {
				p.farm = p.farm.Clone()
				p.farm.L4.MaxConnections = n
				s.Apply(p.farm)
			}
			limit(0)
			s.Follow()
			var last *housetest.Answer
			for range 3 {
				a, err := p.open()
				if err != nil {
					t.Fatal(err)
				}
				last = a
			}
			limit(3)
			p.fits("a new limit", 0)
			limit(5)
			p.fits("a higher limit", 2)
			s.Filter.Doubt()
			s.Apply(p.farm)
			p.fits("rebuilt rules", 0)
			s.Appliance.Run("nft", "flush", "ruleset")
			l4test.Eventually(t, "rules are restored", func() bool {
				return s.Appliance.Run("nft", "list", "tables") != ""
			})
			p.fits("restored rules", 0)
			if c.network == "tcp" {
				last.Close()
				l4test.Eventually(t, "there is room again", func() bool {
					_, err := p.open()
					return err == nil
				})
				p.fits("one has left", 0)
			}
		})
	}
}

// Connections of TCP continue while their backend is down, so its rules keep counting.
func TestRecoveredBackendKeepsItsLimit(t *testing.T) {
	s := l4test.NewSite(t, 1)
	table, err := health.OpenTable(make([]byte, health.TableSize))
	if err != nil {
		t.Fatal(err)
	}
	s.Reconciler = kernel.New(kernel.Options{Filter: s.Filter, Health: table, Log: l4test.Quiet})
	p := &party{Site: s, t: t, network: "tcp", farm: s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80)}
	p.farm.L4.Backends[0].ConnLimit, p.farm.L4.MaxConnections = 3, 4
	s.Apply(p.farm)
	p.fits("before", 3)
	id := p.farm.L4.Backends[0].ID
	for _, state := range []health.State{health.Down, health.Up} {
		table.SetGuardian(id, state, time.Now())
		s.In(func(ctx context.Context) { s.Reconciler.Follow(ctx) })
	}
	p.fits("it is up again", 0)
	p.farm = p.farm.Clone()
	p.farm.L4.Backends[0].ConnLimit = 0
	s.Apply(p.farm)
	p.fits("the farm has one more", 1)
}
