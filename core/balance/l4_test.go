package balance_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/farm"
)

func TestPrioritiesOfL4FarmsOpenByTheNumberOfUnusableOnesAtTheLevel(t *testing.T) {
	for _, c := range []struct {
		name     string
		priority []int
		down     []int
		level    int
	}{
		{"all at 1", []int{1, 1}, nil, 1},
		{"one of two down opens 2", []int{1, 1, 2}, []int{0}, 2},
		{"two down open 3", []int{1, 1, 2, 3}, []int{0, 1}, 3},
		{"two down jump over 2, whose state does not matter", []int{1, 1, 2, 3}, []int{0, 1, 2}, 3},
		{"and what is down there opens the next", []int{1, 1, 2, 3, 4}, []int{0, 1, 3}, 4},
		{"a chain", []int{1, 2, 3}, []int{0, 1}, 3},
		{"a gap ends it", []int{1, 3}, []int{0}, 2},
		{"nothing at 1", []int{2, 2}, []int{0}, 1},
		{"the last one down opens nothing", []int{1}, []int{0}, 2},
	} {
		var members []balance.Member
		for _, p := range c.priority {
			members = append(members, balance.Member{Priority: p})
		}
		f := newFixture(t, members...)
		p := balance.NewL4(farm.L4Weight, f.members, f.health, &f.state)
		for _, i := range c.down {
			f.down(i)
		}
		if p.Level() != c.level || p.Copy().Level() != c.level {
			t.Errorf("%s: level %d, want %d", c.name, p.Level(), c.level)
		}
	}
}

// The rule as worded in the specification, compared with the implementation.
func TestL4LevelFollowsTheSpecification(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := make([]balance.Member, rapid.IntRange(0, 12).Draw(t, "members"))
		for i := range members {
			members[i] = balance.Member{Priority: rapid.IntRange(0, 9).Draw(t, "priority"), Out: rapid.Bool().Draw(t, "out")}
		}
		f := newFixture(t, members...)
		want := 1
		for {
			unusable := 0
			for _, m := range members {
				if m.Out && max(1, m.Priority) == want {
					unusable++
				}
			}
			if unusable == 0 {
				break
			}
			want += unusable
		}
		if got := balance.NewL4(farm.L4Weight, f.members, f.health, &f.state).Level(); got != want {
			t.Fatalf("level %d, want %d", got, want)
		}
	})
}

func TestPrioTakesTheFirstByPriority(t *testing.T) {
	f := newFixture(t, balance.Member{Priority: 2, Weight: 9}, balance.Member{Priority: 1}, balance.Member{Priority: 1, Weight: 9, Limit: 1})
	p := balance.NewL4(farm.L4Priority, f.members, f.health, &f.state)
	want := func(what string, index int) {
		t.Helper()
		for range 3 {
			if i, ok := p.Pick(0, balance.Tried{}); !ok || i != index {
				t.Fatalf("%s: picked %d, %v, want %d", what, i, ok, index)
			}
		}
	}
	want("all up", 1)
	if i, ok := p.Pick(0, balance.Tried{}.With(1)); !ok || i != 2 {
		t.Errorf("behind the first comes %d, %v", i, ok)
	}
	if i, ok := p.Pick(0, balance.Tried{}.With(1)); ok {
		t.Errorf("the second is full, and %d was picked", i)
	}
	f.down(1)
	want("the first down", 0) // level 2; the other member of priority 1 is full
}

func TestWeightsDoNotCountWithRoundRobinOfL4Farms(t *testing.T) {
	f := newFixture(t, weights(9, 1)...)
	p := balance.NewL4(farm.L4RoundRobin, f.members, f.health, &f.state)
	got := [2]int{}
	for range 100 {
		i, _ := p.Pick(0, balance.Tried{})
		got[i]++
	}
	if got != [2]int{50, 50} || f.members[0].Weight != 9 {
		t.Errorf("picked %v, weights are %d and %d", got, f.members[0].Weight, f.members[1].Weight)
	}
}
