package balance_test

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluicelb/sluice/core/balance"
)

const flows = 10_000

// where returns the member ID of the first n flows, or 0 for none.
func where(p *balance.Picker, n int) []uint32 {
	out := make([]uint32, n)
	for h := range out {
		if i, ok := p.Pick(uint64(h), balance.Tried{}); ok {
			out[h] = p.ID(i)
		}
	}
	return out
}

func TestConsistentHashSpreadsByWeight(t *testing.T) {
	f := newFixture(t) // shared, as for a service that changes; its stored table fits no other weights
	for _, w := range [][]int{{1}, {1, 1}, {9, 1}, {1, 2, 3, 4}, {4, 3, 2, 1}, {5, 5, 5, 1, 1, 9, 9}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}} {
		f.members = newFixture(t, weights(w...)...).members
		got := count(t, f.picker(balance.ConsistentHash), flows, true)
		share(t, got, w, 300) // six standard deviations
	}
}

// A different hash would move the flows of a running service.
func TestFlowsStayWithTheNextRelease(t *testing.T) {
	sum := crc32.NewIEEE()
	_ = binary.Write(sum, binary.LittleEndian, where(newFixture(t, weights(1, 2, 3)...).picker(balance.ConsistentHash), flows))
	if got := sum.Sum32(); got != 0xff87dd80 {
		t.Errorf("they are elsewhere: %#x", got)
	}
}

// Flows of members that are down are spread by weight too.
func TestConsistentHashSpreadsMovedFlowsByWeight(t *testing.T) {
	f := newFixture(t, weights(3, 1, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9)...)
	for i := range 10 {
		f.down(2 + i)
	}
	got := count(t, f.picker(balance.ConsistentHash), flows, true)
	share(t, got[:2], []int{3, 1}, 300)
}

func TestLeavingMemberMovesLittleMoreThanItsFlows(t *testing.T) {
	for _, n := range []int{2, 3, 4, 7, 12, 20, 40} {
		f := newFixture(t, make([]balance.Member, n)...)
		before := where(f.picker(balance.ConsistentHash), flows)
		gone := n / 2
		id := f.members[gone].ID
		f.members = append(f.members[:gone:gone], f.members[gone+1:]...)
		after := where(f.picker(balance.ConsistentHash), flows)
		other := 0
		for h := range before {
			if before[h] != after[h] && before[h] != id {
				other++
			}
		}
		if other > flows/100 {
			t.Errorf("one of %d left: %d of %d flows of other members moved", n, other, flows)
		}
	}
}

func TestDownMemberMovesOnlyItsOwnFlows(t *testing.T) {
	for _, n := range []int{2, 3, 12} {
		f := newFixture(t, make([]balance.Member, n)...)
		p := f.picker(balance.ConsistentHash)
		gone := n - 1
		rapid.Check(t, func(t *rapid.T) {
			// Some are down already, so that flows move more than once.
			for i := range n - 2 {
				if f.up(i); rapid.Bool().Draw(t, "down before") {
					f.down(i)
				}
			}
			f.up(gone)
			before := where(p, flows/10)
			f.down(gone)
			for h, id := range where(p, flows/10) {
				if id != before[h] && before[h] != f.members[gone].ID {
					t.Fatalf("flow %d moved from %d to %d", h, before[h], id)
				}
				if id == f.members[gone].ID {
					t.Fatalf("flow %d stayed on the member that is down", h)
				}
			}
			f.up(gone)
			for h, id := range where(p, flows/10) {
				if id != before[h] {
					t.Fatalf("flow %d did not return to %d", h, before[h])
				}
			}
		})
	}
}

func TestOrderOfMembersMovesNoFlow(t *testing.T) {
	f := newFixture(t, weights(1, 2, 3, 4)...)
	before := where(f.picker(balance.ConsistentHash), flows)
	m := f.members
	m[0], m[1], m[2], m[3] = m[2], m[3], m[1], m[0]
	for h, id := range where(f.picker(balance.ConsistentHash), flows) {
		if id != before[h] {
			t.Fatalf("flow %d moved", h)
		}
	}
}
