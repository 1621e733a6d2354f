package balance

import (
	"math/bits"
	"sync/atomic"
)

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
