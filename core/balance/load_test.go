package balance_test

import (
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluicelb/sluice/core/balance"
)

func TestLimitsAreExactUnderConcurrency(t *testing.T) {
	for _, a := range algorithms {
		f := newFixture(t, balance.Member{Limit: 3}, balance.Member{Limit: 5, Weight: 9})
		p := f.picker(a)
		var wg sync.WaitGroup
		var mu sync.Mutex
		most, refused := [2]int64{}, 0
		for g := range 16 {
			wg.Go(func() {
				for k := range 200 {
					i, ok := p.Pick(uint64(g*1000+k), balance.Tried{})
					if !ok {
						mu.Lock()
						refused++
						mu.Unlock()
						continue
					}
					now := f.members[i].Load.Active.Load()
					mu.Lock()
					most[i] = max(most[i], now)
					mu.Unlock()
					p.Held(i).Done()
				}
			})
		}
		wg.Wait()
		if most[0] > 3 || most[1] > 5 {
			t.Errorf("%v: %v in flight at limits 3 and 5", a, most)
		}
		for i, m := range f.members {
			if n := m.Load.Active.Load(); n != 0 {
				t.Errorf("%v: member %d keeps %d, want 0", a, i, n)
			}
		}
	}
}

func TestAllFullMeansNoPickUntilOneIsReleased(t *testing.T) {
	for _, a := range algorithms {
		f := newFixture(t, balance.Member{Limit: 2}, balance.Member{Limit: 1}, balance.Member{Priority: 2})
		p := f.picker(a)
		count(t, p, 3, false)
		if i, ok := p.Pick(9, balance.Tried{}); ok || i != 0 {
			t.Errorf("%v: picked %d over every limit", a, i)
		}
		p.Held(1).Done()
		if i, ok := p.Pick(9, balance.Tried{}); !ok || i != 1 {
			t.Errorf("%v: picked %d, %v after 1 was released", a, i, ok)
		}
	}
}

// Waiting exchanges call Room and are the first to notice changes of health.
func TestRoomFollowsHealthChanges(t *testing.T) {
	f := newFixture(t, balance.Member{Limit: 1}, balance.Member{Limit: 1})
	p := f.picker(balance.RoundRobin)
	if !p.Claim(0) {
		t.Fatal("0 cannot be had")
	}
	for _, c := range []struct {
		change       func(int)
		member       int
		free, usable bool
	}{{f.down, 1, false, true}, {f.up, 1, true, true}, {f.down, 1, false, true}, {f.down, 0, false, false}, {f.up, 1, true, true}} {
		c.change(c.member)
		if free := p.Free(balance.Tried{}); free != c.free {
			t.Errorf("%+v: free %v, want %v", c, free, c.free)
		}
		if free, usable := p.Room(); free != c.free || usable != c.usable {
			t.Errorf("%+v: free %v, usable %v", c, free, usable)
		}
	}
}

func TestLimitHoldsOverAReload(t *testing.T) {
	f := newFixture(t, balance.Member{Limit: 2})
	old := f.picker(balance.RoundRobin)
	i, _ := old.Pick(0, balance.Tried{})
	held := old.Held(i)
	f.members[0].Limit = 1
	p := f.picker(balance.LeastConnections)
	if _, ok := p.Pick(0, balance.Tried{}); ok {
		t.Error("the exchange of the old generation is not counted")
	}
	held.Done()
	if _, ok := p.Pick(0, balance.Tried{}); !ok {
		t.Error("the slot released through the old generation is not free")
	}
}

func TestLeastConnectionsFillsByWeight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.SliceOfN(rapid.IntRange(1, 9), 1, 8).Draw(t, "weights")
		f := newFixture(t, weights(w...)...)
		p := f.picker(balance.LeastConnections)
		n := rapid.IntRange(1, 200).Draw(t, "picks")
		share(t, count(t, p, n, false), w, 9)
		// Moving one exchange elsewhere would improve nothing.
		for i := range w {
			for j := range w {
				a, b := f.members[i].Load.Active.Load(), f.members[j].Load.Active.Load()
				if (a-1)*int64(w[j]) > b*int64(w[i]) {
					t.Fatalf("member %d has %d at weight %d, member %d %d at %d", i, a, w[i], j, b, w[j])
				}
			}
		}
	})
}

// ResponseTime is not included: idle members with equal times still differ by weight, and
// the heaviest gets all sequential exchanges.
func TestIdleMembersTakeTurnsByWeight(t *testing.T) {
	for _, a := range []balance.Algorithm{balance.LeastConnections, balance.PendingConnections} {
		p := newFixture(t, weights(3, 2, 1)...).picker(a)
		share(t, count(t, p, 60, true), []int{3, 2, 1}, 0)
	}
}

func TestPendingConnectionsTakesTheFewestWaiting(t *testing.T) {
	f := newFixture(t, weights(1, 1, 2)...)
	p := f.picker(balance.PendingConnections)
	f.members[0].Load.Pending.Store(3)
	f.members[1].Load.Pending.Store(4)
	f.members[2].Load.Pending.Store(5) // 2.5 per weight
	share(t, count(t, p, 20, false), []int{0, 0, 1}, 0)
}

func TestRandomOfTwoPrefersTheLessLoaded(t *testing.T) {
	f := newFixture(t, weights(1, 1, 1, 1)...)
	p := f.picker(balance.RandomOfTwo)
	f.members[0].Load.Active.Store(1000)
	got := count(t, p, 400, true)
	if got[0] != 0 {
		t.Errorf("the busiest of four got %d of 400", got[0])
	}
	share(t, got, []int{0, 1, 1, 1}, 70)
	// An idle member of four is among the two in half of the draws: six standard deviations.
	for idle := range 4 {
		for i := range f.members {
			f.members[i].Load.Active.Store(1000)
		}
		f.members[idle].Load.Active.Store(0)
		if n := count(t, p, 4000, true)[idle]; n < 1800 || n > 2200 {
			t.Errorf("the idle one, %d, got %d of 4000", idle, n)
		}
	}
}

// With two members these are always the two drawn.
func TestRandomOfTwoFollowsWeights(t *testing.T) {
	f := newFixture(t, weights(3, 1)...)
	p := f.picker(balance.RandomOfTwo)
	f.members[0].Load.Active.Store(1000)
	share(t, count(t, p, 50, true), []int{0, 1}, 0)
	f.members[0].Load.Active.Store(0)
	got := count(t, p, 800, false)
	share(t, got, []int{3, 1}, 20)
}

func TestResponseTimePrefersTheFasterPerWeight(t *testing.T) {
	f := newFixture(t, weights(1, 1, 3)...)
	p := f.picker(balance.ResponseTime)
	for i, d := range []time.Duration{10 * time.Millisecond, 4 * time.Millisecond, 9 * time.Millisecond} {
		f.members[i].Load.Observe(int64(d))
	}
	if i, _ := p.Pick(0, balance.Tried{}); i != 2 { // 3 ms per weight
		t.Errorf("picked %d, want 2", i)
	}
	if i, _ := p.Pick(0, balance.Tried{}); i != 1 { // 2 in flight on member 2: 6 ms
		t.Errorf("then picked %d, want 1", i)
	}
}
