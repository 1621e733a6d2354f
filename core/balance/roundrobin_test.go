package balance_test

import (
	"math"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluicelb/sluice/core/balance"
)

// share checks that got differs from each weight's share by at most slack.
func share(t interface{ Fatalf(string, ...any) }, got []int, weight []int, slack float64) {
	n, total := 0, 0
	for i := range got {
		n, total = n+got[i], total+weight[i]
	}
	for i := range got {
		want := float64(n) * float64(weight[i]) / float64(total)
		if math.Abs(float64(got[i])-want) > slack {
			t.Fatalf("picks %v for weights %v: member %d is off by %.1f", got, weight, i, float64(got[i])-want)
		}
	}
}

func TestRoundRobinIsExactAndSmooth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.SliceOfN(rapid.IntRange(1, 9), 1, 10).Draw(t, "weights")
		p := newFixture(t, weights(w...)...).picker(balance.RoundRobin)
		total := 0
		for _, x := range w {
			total += x
		}
		got := make([]int, len(w))
		for range 2 * total {
			i, _ := p.Pick(0, balance.Tried{})
			got[i]++
			share(t, got, w, 2) // at any moment
		}
		share(t, got, w, 0) // after whole rotations
	})
}

func TestRoundRobinTakesEqualsInTheirOrder(t *testing.T) {
	p := newFixture(t, weights(2, 2, 1)...).picker(balance.RoundRobin)
	for k, want := range []int{0, 1, 2, 0, 1} {
		if i, _ := p.Pick(0, balance.Tried{}); i != want {
			t.Errorf("turn %d is that of %d, want %d", k, i, want)
		}
	}
}

func TestRoundRobinIsExactAcrossGoroutines(t *testing.T) {
	f := newFixture(t, weights(3, 1)...)
	const loops, each = 8, 1000
	var wg sync.WaitGroup
	var mu sync.Mutex
	sum := make([]int, 2)
	for range loops {
		wg.Go(func() {
			// Every loop makes its own picker over the shared state.
			got := count(t, f.picker(balance.RoundRobin), each, true)
			mu.Lock()
			defer mu.Unlock()
			sum[0], sum[1] = sum[0]+got[0], sum[1]+got[1]
		})
	}
	wg.Wait()
	share(t, sum, []int{3, 1}, 0)
}

func TestRoundRobinContinuesAfterReload(t *testing.T) {
	f := newFixture(t, weights(1, 1)...)
	got := make([]int, 2)
	for range 10 {
		i, _ := f.picker(balance.RoundRobin).Pick(0, balance.Tried{})
		got[i]++
	}
	share(t, got, []int{1, 1}, 0)
}

func TestRoundRobinSkipsDownMembersUntilRecovery(t *testing.T) {
	f := newFixture(t, weights(1, 2, 3)...)
	p := f.picker(balance.RoundRobin)
	f.down(1)
	share(t, count(t, p, 40, true), []int{1, 0, 3}, 0)
	f.up(1)
	share(t, count(t, p, 60, true), []int{1, 2, 3}, 0)
}

// A single usable member does not use the rotation: the others continue at the same
// position.
func TestOneMemberAloneTakesNoTurns(t *testing.T) {
	f := newFixture(t, weights(1, 1, 1)...)
	p := f.picker(balance.RoundRobin)
	f.down(1)
	f.down(2)
	for range 4 {
		if i, ok := p.Pick(0, balance.Tried{}); i != 0 || !ok {
			t.Errorf("got %d, %t", i, ok)
		}
	}
	f.up(1)
	f.up(2)
	if i, _ := p.Pick(0, balance.Tried{}); i != 0 {
		t.Errorf("the first turn is that of %d, want 0", i)
	}
}

func TestFullMemberLeavesOtherSharesUnchanged(t *testing.T) {
	members := weights(9, 2, 1)
	members[0].Limit = 1
	p := newFixture(t, members...).picker(balance.RoundRobin)
	if !p.Claim(0) {
		t.Fatal("no slot on an idle member")
	}
	got := count(t, p, 300, true)
	share(t, got, []int{0, 2, 1}, 1)
	members = weights(balance.MaxWeight, 1) // with a late turn
	members[0].Limit = 1
	p = newFixture(t, members...).picker(balance.RoundRobin)
	if !p.Claim(0) {
		t.Fatal("no slot on an idle member")
	}
	share(t, count(t, p, 10, true), []int{0, 1}, 0)
}
