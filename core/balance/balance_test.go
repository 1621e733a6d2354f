package balance_test

import (
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
)

// fixture is a service with everything a Picker needs.
type fixture struct {
	health  *health.Table
	state   balance.State
	members []balance.Member
}

// tableMemory reuses the memory of health tables: each takes 2 MiB, and property tests need
// hundreds.
var tableMemory = sync.Pool{New: func() any {
	mem := make([]byte, health.TableSize)
	return &mem
}}

func newFixture(t interface {
	Fatal(...any)
	Cleanup(func())
}, members ...balance.Member) *fixture {
	mem := tableMemory.Get().(*[]byte)
	b, err := health.OpenTable(*mem)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{health: b, members: members}
	for i := range f.members {
		m := &f.members[i]
		if m.ID == 0 {
			m.ID = uint32(i + 1)
		}
		m.Slot, m.Load = b.Slot(m.ID), new(balance.Load)
	}
	t.Cleanup(func() {
		for _, m := range f.members {
			b.SetPassive(m.ID, health.Undefined, time.Time{})
			b.SetGuardian(m.ID, health.Undefined, time.Time{})
			b.Adopt(m.ID, 1) // clears ejections and past failures
			b.Adopt(m.ID, 0)
		}
		tableMemory.Put(mem)
	})
	return f
}

func (f *fixture) picker(a balance.Algorithm) *balance.Picker {
	return balance.New(a, f.members, f.health, &f.state)
}

func (f *fixture) set(i int, s health.State) {
	f.health.SetPassive(f.members[i].ID, s, time.Unix(1, 0))
}

func (f *fixture) down(i int) { f.set(i, health.Down) }
func (f *fixture) up(i int)   { f.set(i, health.Up) }

// weights returns members with these weights.
func weights(w ...int) []balance.Member {
	m := make([]balance.Member, len(w))
	for i := range w {
		m[i].Weight = w[i]
	}
	return m
}

// count picks n times, releasing at once if release is set, and counts by index.
func count(t interface{ Fatalf(string, ...any) }, p *balance.Picker, n int, release bool) []int {
	got := make([]int, p.Len())
	for k := range n {
		i, ok := p.Pick(uint64(k), balance.Tried{})
		if !ok {
			t.Fatalf("pick %d found no member", k)
		}
		got[i]++
		if release {
			p.Held(i).Done()
		}
	}
	return got
}

var algorithms = []balance.Algorithm{
	balance.RoundRobin, balance.LeastConnections, balance.ResponseTime,
	balance.PendingConnections, balance.RandomOfTwo, balance.ConsistentHash, balance.First,
}

func TestEveryPolicyHasItsAlgorithm(t *testing.T) {
	seen := map[balance.Algorithm]bool{}
	for _, p := range farm.RoutingPolicies() {
		seen[balance.Parse(p)] = true
	}
	if len(seen) != len(farm.RoutingPolicies()) || balance.Parse("") != balance.RoundRobin {
		t.Errorf("policies parse to %v", seen)
	}
}

func TestNoMembersNoPick(t *testing.T) {
	for _, a := range algorithms {
		if i, ok := newFixture(t).picker(a).Pick(1, balance.Tried{}); ok || i != 0 {
			t.Errorf("%v picked %d", a, i)
		}
	}
}

// TestForbiddenMembersAreNeverPicked makes random changes to random services and checks
// every pick against the rules, and that a pick succeeds whenever a member is usable.
func TestForbiddenMembersAreNeverPicked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "members")
		members := make([]balance.Member, n)
		for i := range members {
			members[i] = balance.Member{
				Weight:   rapid.IntRange(0, 9).Draw(t, "weight"),
				Priority: rapid.IntRange(0, 4).Draw(t, "priority"),
				Limit:    int64(rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "limit")),
				Out:      rapid.IntRange(0, 4).Draw(t, "out") == 0,
			}
		}
		f := newFixture(t, members...)
		p := f.picker(rapid.SampledFrom(algorithms).Draw(t, "algorithm"))
		down := make([]bool, n)
		var held []*balance.Load
		for range 40 {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				i := rapid.IntRange(0, n-1).Draw(t, "turn")
				if down[i] = !down[i]; down[i] {
					f.down(i)
				} else {
					f.up(i)
				}
			case 1:
				for _, l := range held {
					l.Done()
				}
				held = nil
			default:
				tried, mask := balance.Tried{}, rapid.IntRange(0, 1<<n-1).Draw(t, "tried")
				mask &= rapid.IntRange(0, 1<<n-1).Draw(t, "and")
				for i := range n {
					if mask>>i&1 != 0 {
						tried = tried.With(i)
					}
				}
				allowed := func(i int) bool {
					full := members[i].Limit > 0 && f.members[i].Load.Active.Load() >= members[i].Limit
					return !down[i] && !members[i].Out && !full && mask>>i&1 == 0 && max(1, members[i].Priority) <= p.Level()
				}
				some := false
				for i := range n {
					some = some || allowed(i)
				}
				may := make([]bool, n)
				for i := range n {
					may[i] = allowed(i)
				}
				i, ok := p.Pick(rapid.Uint64().Draw(t, "hash"), tried)
				if ok != some || ok && !may[i] {
					t.Fatalf("picked %d, %v; allowed are %v", i, ok, may)
				}
				if ok {
					held = append(held, p.Held(i))
				}
			}
		}
		for _, l := range held {
			l.Done()
		}
		for i, m := range f.members {
			if a := m.Load.Active.Load(); a != 0 {
				t.Fatalf("member %d: %d slots left reserved", i, a)
			}
		}
	})
}

func TestPriorityWalk(t *testing.T) {
	const up, down, out = 0, 1, 2
	for _, c := range []struct {
		name     string
		priority []int
		state    []int
		level    int
		picked   []int // indexes that get traffic
	}{
		{"all at 1", []int{1, 1}, []int{up, up}, 1, []int{0, 1}},
		{"unset acts as 1", []int{0, 2}, []int{up, up}, 1, []int{0}},
		{"the higher waits", []int{1, 2}, []int{up, up}, 1, []int{0}},
		{"one down opens 2", []int{1, 2, 3}, []int{down, up, up}, 2, []int{1}},
		{"one of two down opens 2 beside the other", []int{1, 1, 2}, []int{down, up, up}, 2, []int{1, 2}},
		{"two down open 3", []int{1, 1, 2, 3, 4}, []int{down, down, up, up, up}, 3, []int{2, 3}},
		{"maintenance counts as unusable", []int{1, 2}, []int{out, up}, 2, []int{1}},
		{"a chain", []int{1, 2, 3}, []int{down, out, up}, 3, []int{2}},
		{"a gap cannot be reached", []int{1, 3}, []int{down, up}, 2, nil},
		{"the walk stops above the level", []int{1, 2, 2}, []int{up, down, down}, 1, []int{0}},
		{"order of configuration does not matter", []int{3, 2, 1}, []int{up, down, down}, 3, []int{0}},
		{"lowest is 2", []int{2, 2}, []int{up, up}, 1, nil},
	} {
		var members []balance.Member
		for i := range c.priority {
			members = append(members, balance.Member{Priority: c.priority[i], Out: c.state[i] == out})
		}
		f := newFixture(t, members...)
		p := f.picker(balance.RoundRobin)
		for i, s := range c.state {
			if s == down {
				f.down(i)
			}
			if p.Usable(i) != (s == up) {
				t.Errorf("%s: Usable(%d) is %v", c.name, i, !p.Usable(i))
			}
		}
		if p.Level() != c.level {
			t.Errorf("%s: level %d, want %d", c.name, p.Level(), c.level)
		}
		got := map[int]bool{}
		for range 20 {
			if i, ok := p.Pick(0, balance.Tried{}); ok {
				got[i] = true
			}
		}
		for _, i := range c.picked {
			if !got[i] {
				t.Errorf("%s: %d gets nothing", c.name, i)
			}
		}
		if len(got) != len(c.picked) {
			t.Errorf("%s: picked %v, want %v", c.name, got, c.picked)
		}
	}
}

func TestTriedRemembersManyMembers(t *testing.T) {
	var tried balance.Tried
	for _, i := range []int{0, 5, 63, 64, 200, 65534, 300} {
		if tried.Has(i) {
			t.Errorf("%d before it was tried", i)
		}
		tried = tried.With(i)
	}
	for _, i := range []int{0, 5, 63, 64, 200, 65534, 300} {
		if !tried.Has(i) {
			t.Errorf("%d is forgotten", i)
		}
	}
	if tried.Has(1) || tried.Has(65) {
		t.Error("untried members are named")
	}
}

func TestSessionMayClaimADrainedButNotADownOrFullMember(t *testing.T) {
	f := newFixture(t, balance.Member{Out: true, Limit: 1}, balance.Member{})
	p := f.picker(balance.RoundRobin)
	if !p.Claim(0) || p.Claim(0) || !p.Full(0) {
		t.Error("the limit of a drained member is not kept")
	}
	p.Held(0).Done()
	if p.Held(1) != nil {
		t.Error("a member without a limit was counted")
	}
	f.down(0)
	if p.Claim(0) {
		t.Error("a member that is down was claimed")
	}
}
