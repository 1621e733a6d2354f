package balance

import (
	"cmp"
	"math/bits"
	"slices"
	"sync/atomic"
)

// maxDraws bounds the turns one Pick draws from the rotation before it looks
// at every member. Members that cannot be taken are drawn and passed over, so
// the others keep their exact shares; past 32 the next free one in line will do.
const maxDraws = 32

// roundRobin takes turns on a schedule shared by all loops: of every
// len(schedule) picks, wherever they happen, each member gets its weight.
func (p *Picker) roundRobin(t *table, tried Tried) (int, bool) {
	if len(t.eligible) == 1 { // no turns to take: leave the shared counter alone
		i := int(t.eligible[0])
		return i, p.take(i, tried)
	}
	i := t.turns.next(p.state)
	// What take does for most members, without the call.
	if m := &p.members[i]; !m.counted && tried == (Tried{}) && m.slot.Usable() {
		return i, true
	}
	return p.roundRobinSlow(t, i, tried)
}

func (p *Picker) roundRobinSlow(t *table, drawn int, tried Tried) (int, bool) {
	if p.take(drawn, tried) {
		return drawn, true
	}
	if !p.anyFree(t, tried) {
		return 0, false
	}
	for range maxDraws {
		if i := t.turns.next(p.state); p.take(i, tried) {
			return i, true
		}
	}
	for _, i := range t.eligible {
		if p.take(int(i), tried) {
			return int(i), true
		}
	}
	return 0, false
}

// anyFree spares the rotation the draws of a service whose members are all
// full or tried.
func (p *Picker) anyFree(t *table, tried Tried) bool {
	for _, i := range t.eligible {
		if p.free(int(i), tried) {
			return true
		}
	}
	return false
}

// State is what one service remembers between generations. All loops share
// it. The zero value starts a new rotation.
type State struct {
	_ [128]byte // the rotation is written by every loop: keep others away
	// turns counts what was drawn from schedules. Only the low 32 bits are
	// used; when they wrap, one rotation is cut short.
	turns   atomic.Uint64
	_       [120]byte
	attempt Attempt
	maglev  atomic.Pointer[maglev] // the last one built, kept while members stay the same
}

// rotation is a schedule that loops take turns on.
type rotation struct {
	order []uint16
	magic uint64 // reciprocal of len(order)
}

func newRotation(order []uint16) rotation {
	r := rotation{order: order}
	if len(order) > 0 {
		r.magic = ^uint64(0)/uint64(len(order)) + 1
	}
	return r
}

// next draws the next turn; the rotation is not empty.
func (r *rotation) next(s *State) int {
	return int(r.order[r.remainder(uint32(s.turns.Add(1)-1))])
}

// remainder is n % len(order) by two multiplications instead of a division
// (Lemire, Kaser, Kurz: Faster remainder by direct computation, 2019).
func (r *rotation) remainder(n uint32) uint64 {
	hi, _ := bits.Mul64(r.magic*uint64(n), uint64(len(r.order)))
	return hi
}

// MaxWeight bounds a member's weight; higher values act as this one. The
// contract allows 1–9.
const MaxWeight = 255

// schedule spreads the members with these indexes as evenly as their weights
// allow: in every cycle each comes as often as its (reduced) weight says, and
// its turns lie as far apart as possible. The k-th turn of a member with
// weight w belongs at the point (k+½)/w of the cycle; the schedule is all turns
// in the order of these points, which is Webster's method of apportionment.
func schedule(indexes []uint16, weight func(i uint16) int) []uint16 {
	divisor, total := 0, 0
	for _, i := range indexes {
		divisor = gcd(divisor, weight(i))
	}
	for _, i := range indexes {
		total += weight(i) / divisor
	}
	if total == len(indexes) {
		return slices.Clone(indexes) // equal weights
	}
	type turn struct {
		point  uint64
		member uint16
	}
	turns := make([]turn, 0, total)
	for _, i := range indexes {
		w := uint64(weight(i) / divisor)
		for k := range w {
			turns = append(turns, turn{(2*k + 1) << 40 / w, i})
		}
	}
	slices.SortFunc(turns, func(a, b turn) int {
		return cmp.Or(cmp.Compare(a.point, b.point), cmp.Compare(a.member, b.member))
	})
	order := make([]uint16, total)
	for n, t := range turns {
		order[n] = t.member
	}
	return order
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
