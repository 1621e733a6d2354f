package choose_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/geoip"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/rdata"
	"github.com/sluicelb/sluice/dns/choose"
	"github.com/sluicelb/sluice/dns/wire"
	"github.com/sluicelb/sluice/dns/zone"
)

// board is a service of backends with the addresses 192.0.2.1 and so on, which are up.
type board struct {
	*choose.Chooser
	health *health.Table
	told   []choose.Candidate
}

func newBoard(t *testing.T, backends int, edit func(*farm.DNSService)) *board {
	t.Helper()
	return newBoardOf(t, nil, backends, edit)
}

func newBoardOf(t *testing.T, places *geoip.Table, backends int, edit func(*farm.DNSService)) *board {
	t.Helper()
	table, err := health.OpenTable(make([]byte, health.TableSize))
	if err != nil {
		t.Fatal(err)
	}
	s := farm.DNSService{ID: 1, Name: "shop", Algorithm: farm.DNSRoundRobin, TTL: 60}
	for i := range backends {
		a := netip.AddrFrom4([4]byte{192, 0, 2, byte(i + 1)})
		s.Backends = append(s.Backends, farm.Backend{ID: uint32(i + 1), Host: a.String(), Addr: a})
		table.SetGuardian(uint32(i+1), health.Up, time.Now())
	}
	edit(&s)
	f := farm.Farm{ID: 1, Global: &farm.GSLB{Services: []farm.DNSService{s}}}
	b := &board{Chooser: choose.New(1), health: table}
	b.Services, b.Places = choose.Compile(&f, table, places), places
	b.Trail = func(c choose.Candidate) { b.told = append(b.told, c) }
	return b
}

func (b *board) set(state health.State, ids ...uint32) {
	for _, id := range ids {
		b.health.SetGuardian(id, state, time.Now())
	}
}

// ask returns the last byte of each address a client gets, and the rest of the choice.
func (b *board) ask(client string) (got []int, p zone.Pick) {
	q := wire.Query{Client: netip.MustParseAddr(client)}
	b.told = nil
	b.Choose(0, &q, false, &p)
	for i := range p.Count {
		got = append(got, int(p.Addresses[i][3]))
	}
	return got, p
}

func (b *board) want(t *testing.T, what string, want ...int) zone.Pick {
	t.Helper()
	got, p := b.ask("198.51.100.1")
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
	return p
}

func TestRoundRobinRotatesTheFirstAddress(t *testing.T) {
	b := newBoard(t, 3, func(s *farm.DNSService) {})
	b.want(t, "first", 2, 3, 1)
	b.want(t, "second", 3, 1, 2)
	b.want(t, "third", 1, 2, 3)
	b.set(health.Down, 2)
	got, _ := b.ask("198.51.100.1")
	slices.Sort(got)
	if !slices.Equal(got, []int{1, 3}) {
		t.Errorf("one is down: %v", got)
	}
	b = newBoard(t, 3, func(s *farm.DNSService) { s.Answers = 2 })
	b.want(t, "two of them", 2, 3)
}

func TestPriorityReturnsTheFirstHealthyBackend(t *testing.T) {
	b := newBoard(t, 3, func(s *farm.DNSService) {
		s.Algorithm = farm.DNSPriority
		s.Backends[0].Priority, s.Backends[1].Priority, s.Backends[2].Priority = 2, 3, 1
	})
	b.want(t, "all up", 3)
	b.want(t, "again", 3)
	b.set(health.Down, 3)
	b.want(t, "the first is down", 1)
	b.set(health.Down, 1)
	b.want(t, "the second, too", 2)
	b.set(health.Up, 3)
	b.want(t, "the first is back", 3)
}

func TestAnswersFollowWeights(t *testing.T) {
	b := newBoard(t, 3, func(s *farm.DNSService) {
		s.Algorithm = farm.DNSWeight
		s.Backends[0].Weight, s.Backends[1].Weight, s.Backends[2].Weight = 1, 2, 5
	})
	var count [4]int
	for range 8000 {
		got, _ := b.ask("198.51.100.1")
		if len(got) != 1 {
			t.Fatal(got)
		}
		count[got[0]]++
	}
	for i, want := range []int{0, 1000, 2000, 5000} {
		if count[i] < want*85/100 || count[i] > want*115/100 {
			t.Errorf("%v, want about 1000, 2000, 5000", count)
			break
		}
	}
	b = newBoard(t, 3, func(s *farm.DNSService) { s.Algorithm, s.Answers = farm.DNSWeight, 3 })
	got, _ := b.ask("198.51.100.1")
	slices.Sort(got)
	if !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("three are drawn: %v", got)
	}
}

func TestAClientNetKeepsItsBackend(t *testing.T) {
	b := newBoard(t, 5, func(s *farm.DNSService) { s.Algorithm = farm.DNSHash })
	before, used := map[int]int{}, map[int]bool{}
	for i := range 200 {
		one, p := b.ask(fmt.Sprintf("198.51.%d.1", i))
		other, _ := b.ask(fmt.Sprintf("198.51.%d.77", i))
		if len(one) != 1 || !slices.Equal(one, other) || p.Scope != 24 {
			t.Fatalf("%v and %v of a net, scope %d", one, other, p.Scope)
		}
		before[i], used[one[0]] = one[0], true
	}
	if len(used) != 5 {
		t.Errorf("only %v are used", used)
	}
	b.set(health.Down, 3)
	for i := range 200 {
		now, _ := b.ask(fmt.Sprintf("198.51.%d.1", i))
		if before[i] != 3 && now[0] != before[i] {
			t.Fatalf("net %d moved from %d to %d", i, before[i], now[0])
		}
	}
}

func TestLongestMatchingNetWins(t *testing.T) {
	b := newBoard(t, 4, func(s *farm.DNSService) {
		s.Algorithm = farm.DNSGeo
		s.Backends[0].Nets = []netip.Prefix{netip.MustParsePrefix("198.51.0.0/16")}
		s.Backends[1].Nets = []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24")}
		s.Backends[2].Nets = []netip.Prefix{netip.MustParsePrefix("2001:db8::/32")}
	})
	for _, c := range []struct {
		client string
		want   int
		scope  uint8
	}{{"198.51.100.1", 2, 24}, {"198.51.7.1", 1, 18}, {"203.0.113.9", 2, 24}, {"10.0.0.1", 4, 1}, {"192.0.2.1", 4, 6}, {"2001:db8::1", 3, 32}, {"2001:db9::1", 4, 32}} {
		if got, p := b.ask(c.client); !slices.Equal(got, []int{c.want}) || p.Scope != c.scope {
			t.Errorf("%s: %v with scope %d, want %d with %d", c.client, got, p.Scope, c.want, c.scope)
		}
	}
	b.set(health.Down, 2)
	if got, _ := b.ask("198.51.100.1"); !slices.Equal(got, []int{1}) {
		t.Errorf("the closest is down: %v", got)
	}
	b.set(health.Down, 4)
	if got, _ := b.ask("10.0.0.1"); len(got) != 1 {
		t.Errorf("without a matching net, and with the unrestricted one down: %v", got)
	}
}

func TestUnprobedBackendsAreNotReturned(t *testing.T) {
	b := newBoard(t, 2, func(s *farm.DNSService) {})
	b.set(health.Undefined, 1, 2)
	if p := b.want(t, "unknown"); !p.Unknown || p.Fail {
		t.Errorf("%+v", p)
	}
	b.set(health.Down, 1)
	if p := b.want(t, "one down, one unknown"); !p.Unknown {
		t.Errorf("%+v", p)
	}
	b.set(health.Up, 2)
	b.want(t, "one is up", 2)
	b = newBoard(t, 2, func(s *farm.DNSService) { s.Unprobed = true })
	b.set(health.Undefined, 1, 2)
	b.want(t, "told so", 2, 1)
}

func TestAllDownPolicyDeterminesTheAnswer(t *testing.T) {
	for policy, want := range map[farm.AllDown][]int{"": {2, 1}, farm.AllDownAll: {2, 1}, farm.AllDownNone: nil, farm.AllDownFail: nil, farm.AllDownFallback: {99, 98}} {
		b := newBoard(t, 3, func(s *farm.DNSService) {
			s.AllDown = policy
			s.Fallback = []netip.Addr{netip.MustParseAddr("192.0.2.99"), netip.MustParseAddr("192.0.2.98"), netip.MustParseAddr("2001:db8::1")}
			s.Backends[2].Maintenance = farm.MaintenanceDrain
		})
		b.set(health.Down, 1, 2)
		if p := b.want(t, string(policy), want...); p.Fail != (policy == farm.AllDownFail) || p.Unknown {
			t.Errorf("%s: %+v", policy, p)
		}
	}
}

// With AllDownAll, answers and scope are the same as if all backends were up, with any
// algorithm.
func TestAllDownAllUsesTheNormalAlgorithm(t *testing.T) {
	for _, algorithm := range farm.DNSAlgorithms() {
		for _, answers := range []uint8{1, 3} {
			make := func() *board {
				b := newBoardOf(t, world(t), 4, func(s *farm.DNSService) {
					s.Algorithm, s.Answers = algorithm, answers
					for i, at := range []string{"-33.87,151.21", "52.52,13.40", "40.71,-74.01", ""} {
						s.Backends[i].Coordinates, s.Backends[i].Weight, s.Backends[i].Priority = at, uint8(2*i+1), uint8(4-i)
					}
					s.Backends[2].Nets = []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}
				})
				for i := range uint32(4) {
					b.health.SetLoad(i+1, 40*(4-i))
					b.health.Slot(i + 1).SetLatency(time.Duration(40*(4-i)) * time.Millisecond)
				}
				return b
			}
			up, down := make(), make()
			down.set(health.Down, 1, 2, 3, 4)
			for i := range 60 {
				client := fmt.Sprintf("198.51.%d.1", 80+i)
				if i%2 != 0 {
					client = fmt.Sprintf("10.%d.%d.1", i%7, i)
				}
				want, a := up.ask(client)
				got, b := down.ask(client)
				if !slices.Equal(got, want) || a.Scope != b.Scope || len(got) == 0 {
					t.Fatalf("%s with %d answers, client %s: %v with scope %d, want %v with %d", algorithm, answers, client, got, b.Scope, want, a.Scope)
				}
			}
			for _, c := range down.told {
				if c.Taken != strings.HasPrefix(c.Reason, "no backend works") || !c.Taken && !strings.HasPrefix(c.Reason, "it is down as all are") {
					t.Errorf("%s: explained as %+v", algorithm, c)
				}
			}
		}
	}
}

func TestAllInMaintenanceHaveNoAddress(t *testing.T) {
	for _, algorithm := range farm.DNSAlgorithms() {
		b := newBoard(t, 2, func(s *farm.DNSService) {
			s.Algorithm = algorithm
			s.Backends[0].Maintenance, s.Backends[1].Maintenance = farm.MaintenanceDrain, farm.MaintenanceCut
		})
		if p := b.want(t, string(algorithm)); p.Fail || p.Unknown {
			t.Errorf("%s: %+v", algorithm, p)
		}
	}
}

// The all-down policy also applies to the version without backends, and to a service without
// any.
func TestAllDownPolicyAppliesToBothFamilies(t *testing.T) {
	const four, six = "203.0.113.7", "2001:db8::7"
	for _, c := range []struct {
		name     string
		backends int
		policy   farm.AllDown
		fallback []string
		state    health.State
		drained  bool
		of4, of6 string // an address, or SERVFAIL
		ttl6     uint32
	}{
		{"all down", 1, farm.AllDownFallback, []string{four, six}, health.Down, false, four, six, 5},
		{"no fallback of IPv6", 1, farm.AllDownFallback, []string{four}, health.Down, false, four, "", 5},
		{"up", 1, farm.AllDownFallback, []string{four, six}, health.Up, false, "192.0.2.1", "", 60},
		{"not probed", 1, farm.AllDownFallback, []string{four, six}, health.Undefined, false, "", "", 60},
		{"in maintenance", 1, farm.AllDownFallback, []string{four, six}, health.Up, true, four, six, 60},
		{"a failure", 1, farm.AllDownFail, nil, health.Down, false, "SERVFAIL", "SERVFAIL", 5},
		{"no address", 1, farm.AllDownNone, nil, health.Down, false, "", "", 5},
		{"all of them", 1, farm.AllDownAll, nil, health.Down, false, "192.0.2.1", "", 5},
		{"no backend", 0, farm.AllDownFallback, []string{four, six}, 0, false, four, six, 60},
		{"no backend, a failure", 0, farm.AllDownFail, nil, 0, false, "SERVFAIL", "SERVFAIL", 60},
		{"no backend, as by default", 0, "", nil, 0, false, "", "", 60},
	} {
		b := newBoard(t, c.backends, func(s *farm.DNSService) {
			s.AllDown, s.DegradedTTL = c.policy, 5
			for _, a := range c.fallback {
				s.Fallback = append(s.Fallback, netip.MustParseAddr(a))
			}
			if c.drained {
				s.Backends[0].Maintenance = farm.MaintenanceDrain
			}
		})
		if c.backends > 0 {
			b.set(c.state, 1)
		}
		for _, v6 := range []bool{false, true} {
			p, got, want := b.askFor("198.51.100.1", "", v6), "", c.of4
			if v6 {
				want = c.of6
			}
			switch {
			case p.Fail:
				got = "SERVFAIL"
			case p.Count > 0 && v6:
				got = netip.AddrFrom16(p.Addresses[0]).String()
			case p.Count > 0:
				got = netip.AddrFrom4([4]byte(p.Addresses[0][:])).String()
			}
			if got != want || p.Count > 1 || v6 && p.TTL != c.ttl6 {
				t.Errorf("%s, IPv6 %v: %q for %d s, want %q", c.name, v6, got, p.TTL, want)
			}
		}
	}
	b := newBoard(t, 2, func(s *farm.DNSService) { s.AllDown, s.DegradedTTL = farm.AllDownFail, 5 })
	b.set(health.Down, 1)
	if p := b.askFor("198.51.100.1", "", true); p.Fail || p.TTL != 60 {
		t.Errorf("one of two is down: the other version is %+v", p)
	}
}

// A version whose backends cannot be checked has no address while the other version serves
// clients; otherwise the all-down policy applies. It must not answer SERVFAIL forever.
func TestUncheckableFamilyHasNoAddress(t *testing.T) {
	const six = "2001:db8::7"
	for _, c := range []struct {
		name     string
		policy   farm.AllDown
		of4, of6 health.State
		second6  health.State // of another backend of IPv6
		unprobed bool
		want     string // an address, SERVFAIL, WAIT
	}{
		{"IPv4 serves", "", health.Up, health.Unable, health.Unable, false, ""},
		{"IPv4 serves, else a failure", farm.AllDownFail, health.Up, health.Unable, health.Unable, false, ""},
		{"IPv4 has no result yet", farm.AllDownFail, health.Undefined, health.Unable, health.Unable, false, ""},
		{"IPv4 is down", "", health.Down, health.Unable, health.Unable, false, six},
		{"IPv4 is down, then none", farm.AllDownNone, health.Down, health.Unable, health.Unable, false, ""},
		{"IPv4 is down, then a failure", farm.AllDownFail, health.Down, health.Unable, health.Unable, false, "SERVFAIL"},
		{"nothing can be asked", "", health.Unable, health.Unable, health.Unable, false, six},
		{"nothing can be asked, then a failure", farm.AllDownFail, health.Unable, health.Unable, health.Unable, false, "SERVFAIL"},
		{"the other one is up", "", health.Up, health.Unable, health.Up, false, "2001:db8::8"},
		{"the other one is down", farm.AllDownFail, health.Up, health.Unable, health.Down, false, "SERVFAIL"},
		{"the other one has no result yet", farm.AllDownFail, health.Up, health.Unable, health.Undefined, false, "WAIT"},
		{"unprobed ones are answered with", "", health.Up, health.Unable, health.Unable, true, six},
	} {
		b := newBoard(t, 3, func(s *farm.DNSService) {
			s.AllDown, s.Unprobed, s.Algorithm = c.policy, c.unprobed, farm.DNSPriority
			s.Backends[1].Addr, s.Backends[2].Addr = netip.MustParseAddr(six), netip.MustParseAddr("2001:db8::8")
		})
		b.set(c.of4, 1)
		b.set(c.of6, 2)
		b.set(c.second6, 3)
		p, got := b.askFor("198.51.100.1", "", true), ""
		switch {
		case p.Unknown:
			got = "WAIT"
		case p.Fail:
			got = "SERVFAIL"
		case p.Count > 0:
			got = netip.AddrFrom16(p.Addresses[0]).String()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if nobodyKnows := c.want == "" && c.of4 != health.Down; b.Last.Unable != nobodyKnows {
			t.Errorf("%s: the trail has %v, want %v", c.name, b.Last.Unable, nobodyKnows)
		}
		if p.Count > 0 && c.of6 == health.Unable && got == six && !c.unprobed && !strings.Contains(b.told[0].Reason, "its check cannot ask it") {
			t.Errorf("%s: %s", c.name, b.told[0].Reason)
		}
	}
}

func TestMaintenanceDoesNotDegradeTheTTL(t *testing.T) {
	b := newBoard(t, 2, func(s *farm.DNSService) {
		s.Backends[0].Maintenance, s.DegradedTTL = farm.MaintenanceDrain, 5
	})
	if p := b.want(t, "one is out", 2); p.TTL != 60 {
		t.Errorf("kept for %d s", p.TTL)
	}
	b.set(health.Down, 2)
	if p := b.want(t, "the other is down", 2); p.TTL != 5 {
		t.Errorf("kept for %d s", p.TTL)
	}
	b = newBoard(t, 2, func(s *farm.DNSService) { s.DegradedTTL = 90 })
	b.set(health.Down, 2)
	if p := b.want(t, "one is down", 1); p.TTL != 60 {
		t.Errorf("kept for longer than while all work: %d s", p.TTL)
	}
}

func TestEveryBackendIsExplainedWithAReason(t *testing.T) {
	b := newBoard(t, 4, func(s *farm.DNSService) {
		s.Algorithm = farm.DNSPriority
		s.Backends[3].Maintenance = farm.MaintenanceCut
	})
	b.set(health.Down, 1)
	b.ask("198.51.100.1")
	var reasons []string
	for _, c := range b.told {
		reasons = append(reasons, fmt.Sprint(c.Number, c.Taken, " ", c.Reason))
	}
	if want := []string{"1 false it is down", "2 true it is the first that works", "3 false one before it works", "4 false it is in maintenance"}; !slices.Equal(reasons, want) {
		t.Errorf("got %q, want %q", reasons, want)
	}
}

// inTurn returns the backends of single-address answers, for any client.
func (b *board) inTurn(t *testing.T) (out []int) {
	t.Helper()
	seen := map[int]bool{}
	for range 20 {
		got, p := b.ask("198.51.100.1")
		if len(got) != 1 || p.Scope != 0 {
			t.Fatalf("%v, scope %d", got, p.Scope)
		}
		seen[got[0]] = true
	}
	for i := range 5 {
		if seen[i] {
			out = append(out, i)
		}
	}
	return out
}

func TestFastestBackendsRotate(t *testing.T) {
	b := newBoard(t, 4, func(s *farm.DNSService) { s.Algorithm = farm.DNSFastest })
	took := func(list ...time.Duration) {
		for i, d := range list {
			b.health.Slot(uint32(i + 1)).SetLatency(d)
		}
	}
	const ms = time.Millisecond
	for _, c := range []struct {
		latency []time.Duration
		want    []int
	}{
		{[]time.Duration{30 * ms, 20 * ms, 10 * ms, 50 * ms}, []int{3}},
		{[]time.Duration{40 * ms, 45 * ms, 50 * ms, 51 * ms}, []int{1, 2, 3}}, // within a quarter
		{[]time.Duration{1100 * time.Microsecond, 200 * time.Microsecond, 1300 * time.Microsecond, 0}, []int{1, 2}},
		{[]time.Duration{0, 0, 90 * ms, 0}, []int{3}},
		{[]time.Duration{0, 0, 0, 0}, []int{1, 2, 3, 4}}, // all unknown
	} {
		took(c.latency...)
		if got := b.inTurn(t); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.latency, got, c.want)
		}
	}
	took(30*ms, 20*ms, 10*ms, 0)
	b.set(health.Down, 3)
	if got := b.inTurn(t); !slices.Equal(got, []int{2}) {
		t.Errorf("the fastest is down: %v", got)
	}
	for _, c := range b.told {
		if c.Number == 2 && (c.Latency != 20*ms || !c.Taken || c.Reason != "it answers its checks as soon as any") || c.Number == 1 && c.Reason != "others answer their checks sooner, or it was their turn" {
			t.Errorf("explained as %+v", c)
		}
	}
	b = newBoard(t, 3, func(s *farm.DNSService) { s.Algorithm, s.Answers = farm.DNSFastest, 3 })
	took(30*ms, 0, 10*ms)
	if got, _ := b.ask("198.51.100.1"); !slices.Equal(got, []int{3, 1, 2}) {
		t.Errorf("all are answered, the fastest first: %v", got)
	}
}

func TestLeastLoadedBackendsRotate(t *testing.T) {
	weights := []uint8{0, 0, 0, 0}
	var b *board
	has := func(loads ...int) {
		b = newBoard(t, 4, func(s *farm.DNSService) {
			s.Algorithm = farm.DNSLoad
			for i, w := range weights {
				s.Backends[i].Weight = w
			}
		})
		for i, n := range loads {
			if n >= 0 {
				b.health.SetLoad(uint32(i+1), uint32(n))
			}
		}
	}
	for _, c := range []struct {
		loads   []int
		weights []uint8
		want    []int
	}{
		{loads: []int{300, 200, 100, 500}, want: []int{3}},
		{loads: []int{800, 900, 901, 1000}, want: []int{1, 2}}, // within an eighth
		{loads: []int{0, 4, 5, 60}, want: []int{1, 2}},         // or some connections
		{loads: []int{-1, -1, 70000, -1}, want: []int{3}},      // unknown counts as highest
		{loads: []int{-1, -1, -1, -1}, want: []int{1, 2, 3, 4}},
		{loads: []int{100, 190, 400, 4000}, weights: []uint8{1, 2, 1, 100}, want: []int{4}},
		{loads: []int{100, 190, 400, 0}, weights: []uint8{1, 2, 5, 1}, want: []int{4}},
		{loads: []int{100, 190, 400, 91}, weights: []uint8{1, 2, 5, 1}, want: []int{3}},
		{loads: []int{100, 190, 400, 88}, weights: []uint8{1, 2, 4, 1}, want: []int{2, 4}},
	} {
		if weights = c.weights; weights == nil {
			weights = []uint8{0, 0, 0, 0}
		}
		has(c.loads...)
		if got := b.inTurn(t); !slices.Equal(got, c.want) {
			t.Errorf("%v of weights %v: %v, want %v", c.loads, c.weights, got, c.want)
		}
	}
	weights = nil
	has(300, 200, 100, -1)
	b.set(health.Down, 3)
	if got := b.inTurn(t); !slices.Equal(got, []int{2}) {
		t.Errorf("the least loaded is down: %v", got)
	}
	for _, c := range b.told {
		if c.Number == 2 && (c.Load != 200 || !c.Taken || c.Reason != "no other has less to do for its weight") || c.Number == 4 && c.Load != -1 ||
			c.Number == 1 && c.Reason != "others have less to do for their weight, or it was their turn" {
			t.Errorf("explained as %+v", c)
		}
	}
}

// askFor is ask with a client subnet sent by a resolver.
func (b *board) askFor(client, subnet string, v6 bool) (p zone.Pick) {
	q := wire.Query{Client: netip.MustParseAddr(client)}
	if subnet != "" {
		q.HasSubnet, q.Subnet = true, netip.MustParsePrefix(subnet)
	}
	b.Choose(0, &q, v6, &p)
	return p
}

// A choice is constant for a net: the resolver's client subnet, if that is shorter than
// ours.
func TestHashUsesTheClientNet(t *testing.T) {
	v6 := netip.MustParseAddr("2001:db8::1")
	b := newBoard(t, 16, func(s *farm.DNSService) {
		s.Algorithm = farm.DNSHash
		for i := range 8 {
			v6 = v6.Next()
			s.Backends[i].Addr, s.Backends[i].Host = v6, v6.String()
		}
	})
	for _, c := range []struct {
		client, subnet string
		scope          uint8
		v6             bool
		same, others   string // a client of that net; a pattern of nets, some with another backend
	}{
		{"10.1.2.3", "", 24, false, "10.1.2.200", "10.1.%d.1"},
		{"192.0.2.53", "10.1.2.0/24", 24, false, "10.1.2.9", "10.1.%d.1"},
		{"192.0.2.53", "10.1.2.0/25", 24, false, "10.1.2.9", "10.1.%d.1"},
		{"192.0.2.53", "10.1.0.0/16", 16, false, "", "10.%d.0.1"},
		{"192.0.2.53", "0.0.0.0/1", 1, false, "", "%d.0.0.1"},
		{"192.0.2.53", "0.0.0.0/0", 24, false, "192.0.2.1", "10.1.%d.1"}, // no client subnet
		{"2001:db8:1:1::1", "", 56, true, "2001:db8:1:ff::1", "2001:db8:%d:1::1"},
	} {
		p := b.askFor(c.client, c.subnet, c.v6)
		if p.Scope != c.scope || p.Count != 1 || c.v6 != (p.Addresses[0][4] != 0 || p.Addresses[0][0] == 0x20) {
			t.Errorf("%s, %s: scope %d, %d addresses", c.client, c.subnet, p.Scope, p.Count)
		}
		if c.same != "" {
			if q := b.askFor(c.same, "", c.v6); q.Addresses[0] != p.Addresses[0] {
				t.Errorf("%s, %s: another of the net has another backend", c.client, c.subnet)
			}
		}
		differ := false
		for i := range 20 {
			differ = differ || b.askFor(fmt.Sprintf(c.others, 200-i), "", c.v6).Addresses[0] != p.Addresses[0]
		}
		if !differ {
			t.Errorf("%s, %s: every net has the same backend", c.client, c.subnet)
		}
	}
}

// The probability of each order follows the weights.
func TestOrderOfAnswersFollowsWeights(t *testing.T) {
	b := newBoard(t, 3, func(s *farm.DNSService) { s.Algorithm, s.Answers = farm.DNSWeight, 3 })
	orders := map[string]int{}
	const rounds = 12_000
	for range rounds {
		got, _ := b.ask("10.0.0.1")
		orders[fmt.Sprint(got)]++
	}
	for order, n := range orders {
		if len(orders) != 6 || n < rounds/6*85/100 || n > rounds/6*115/100 {
			t.Errorf("%s came %d times of %d, and there are %d orders", order, n, rounds, len(orders))
		}
	}
}

// queryFor returns a question for a name.
func queryFor(t *testing.T, name string, v6 bool) *wire.Query {
	t.Helper()
	owner, err := rdata.Name(name, "example.com")
	if err != nil {
		t.Fatal(err)
	}
	kind := wire.TypeA
	if v6 {
		kind = wire.TypeAAAA
	}
	msg, err := rdata.Query(owner, kind, netip.Prefix{})
	if err != nil {
		t.Fatal(err)
	}
	q := &wire.Query{Client: netip.MustParseAddr("198.51.100.1")}
	if verdict, _ := q.Parse(msg); verdict != wire.Serve {
		t.Fatal("the query is none")
	}
	return q
}

// Resolvers ask for A and AAAA of a name, or for several names, one after the other. Each of
// these questions gets the backends in turn.
func TestRotationIgnoresOtherQueries(t *testing.T) {
	inTurn := []farm.DNSAlgorithm{farm.DNSRoundRobin, farm.DNSGeo, farm.DNSNearest, farm.DNSFastest, farm.DNSLoad}
	patterns := [][]string{{"www A", "www AAAA"}, {"www A", "api A"}, {"www A", "www AAAA", "api AAAA", "api A"}}
	for _, algorithm := range inTurn {
		b := newBoard(t, 2, func(s *farm.DNSService) {
			s.Algorithm, s.Answers = algorithm, 1
			for i := range uint32(2) {
				a := netip.MustParseAddr(fmt.Sprintf("2001:db8::%d", i+1))
				s.Backends = append(s.Backends, farm.Backend{ID: 3 + i, Host: a.String(), Addr: a})
			}
		})
		b.set(health.Up, 3, 4)
		for _, pattern := range patterns {
			first := map[string]int{}
			for range 20 {
				for _, question := range pattern {
					name, kind, _ := strings.Cut(question, " ")
					var p zone.Pick
					b.Choose(0, queryFor(t, name, kind == "AAAA"), kind == "AAAA", &p)
					last := p.Addresses[0][3]
					if kind == "AAAA" {
						last = p.Addresses[0][15]
					}
					if p.Count != 1 || last != 1 && last != 2 {
						t.Fatalf("%s: %+v", question, p)
					}
					if last == 1 {
						first[question]++
					}
				}
			}
			for _, question := range pattern {
				if first[question] != 10 {
					t.Errorf("%s, %v: one of two backends answered %d of 20 questions %s", algorithm, pattern, first[question], question)
				}
			}
		}
	}
}

// One query for each of many names, e.g. of a wildcard, uses all backends.
func TestRotationStartsDifferByName(t *testing.T) {
	b := newBoard(t, 4, func(s *farm.DNSService) { s.Answers = 1 })
	var count [5]int
	for i := range 400 {
		var p zone.Pick
		b.Choose(0, queryFor(t, fmt.Sprintf("customer%d", i), false), false, &p)
		count[p.Addresses[0][3]]++
	}
	for i, n := range count[1:] {
		if n < 60 || n > 140 {
			t.Errorf("backend %d answered %d of 400 names, want about 100: %v", i+1, n, count[1:])
		}
	}
}
