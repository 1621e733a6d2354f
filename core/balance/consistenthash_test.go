package balance_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sluicelb/sluice/core/balance"
)

const flows = 20_000

// where returns the member ID of every flow.
func where(p *balance.Picker) []uint32 {
	out := make([]uint32, flows)
	for h := range out {
		if i, ok := p.Pick(uint64(h), balance.Tried{}); ok {
			out[h] = p.ID(i)
		}
	}
	return out
}

func TestConsistentHashSpreadsByWeight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.SliceOfN(rapid.IntRange(1, 9), 1, 12).Draw(t, "weights")
		got := count(t, newFixture(t, weights(w...)...).picker(balance.ConsistentHash), flows, true)
		share(t, got, w, 400) // five standard deviations of the drawing
	})
}

func TestLeavingMemberMovesLittleMoreThanItsFlows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 20).Draw(t, "members")
		f := newFixture(t, make([]balance.Member, n)...)
		before := where(f.picker(balance.ConsistentHash))
		gone := rapid.IntRange(0, n-1).Draw(t, "leaves")
		id := f.members[gone].ID
		f.members = append(f.members[:gone:gone], f.members[gone+1:]...)
		after := where(f.picker(balance.ConsistentHash))
		other := 0
		for h := range before {
			if before[h] != after[h] && before[h] != id {
				other++
			}
		}
		if other > flows/100 {
			t.Fatalf("%d of %d flows of other members moved", other, flows)
		}
	})
}

func TestDownMemberMovesOnlyItsOwnFlows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 12).Draw(t, "members")
		f := newFixture(t, make([]balance.Member, n)...)
		p := f.picker(balance.ConsistentHash)
		// Some are down already, so that flows are moved more than once.
		for i := range n - 2 {
			if rapid.Bool().Draw(t, "down before") {
				f.down(i)
			}
		}
		before := where(p)
		gone := n - 1
		f.down(gone)
		after := where(p)
		got := make([]int, n+1)
		for h := range before {
			if before[h] != after[h] && before[h] != f.members[gone].ID {
				t.Fatalf("flow %d moved from %d to %d", h, before[h], after[h])
			}
			if before[h] == f.members[gone].ID {
				got[after[h]]++
			}
		}
		if got[f.members[gone].ID] > 0 {
			t.Fatal("a flow stayed on the member that is down")
		}
		f.up(gone)
		for h, id := range where(p) {
			if id != before[h] {
				t.Fatalf("flow %d did not come back to %d", h, before[h])
			}
		}
	})
}

func TestOrderOfMembersMovesNoFlow(t *testing.T) {
	f := newFixture(t, weights(1, 2, 3, 4)...)
	before := where(f.picker(balance.ConsistentHash))
	m := f.members
	m[0], m[1], m[2], m[3] = m[2], m[3], m[1], m[0]
	for h, id := range where(f.picker(balance.ConsistentHash)) {
		if id != before[h] {
			t.Fatalf("flow %d moved", h)
		}
	}
}
