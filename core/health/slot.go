package health

import (
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// State is one finding about one backend.
type State uint32

// The findings. Undefined is the zero value: nothing is known.
const (
	Undefined State = iota
	Up
	Down
)

// String returns the word the API uses for the state.
func (s State) String() string { return string(s.status()) }

func (s State) status() farm.Status {
	switch s {
	case Up:
		return farm.StatusUp
	case Down:
		return farm.StatusDown
	}
	return farm.StatusUndefined
}

// known maps values that are no state, as foreign memory may hold, to
// Undefined.
func (s State) known() State {
	if s > Down {
		return Undefined
	}
	return s
}

// combine is the state two findings make together: one Down is enough for
// Down, else one Up for Up.
func combine(a, b State) State { return max(a.known(), b.known()) }

// Slot holds what is known of one backend. It lives in shared memory.
type Slot struct {
	passive    atomic.Uint32
	guardian   atomic.Uint32
	passiveAt  atomic.Int64 // when this writer last turned the status, Unix ns
	guardianAt atomic.Int64
	owner      atomic.Uint64

	// What follows is the engine's, see Eject.
	ejected      atomic.Uint32 // 1 while it is
	failures     atomic.Uint32 // in a row
	cause        atomic.Uint32
	times        atomic.Uint32 // it was ejected, one soon after the other
	ejectedAt    atomic.Int64  // Unix ns
	ejectedUntil atomic.Int64
}

// Usable tells whether the backend may be picked: nobody found it down, and it
// is not ejected.
//
// Hot path: at most three atomic loads of one cache line, inlined, 0 allocations.
func (s *Slot) Usable() bool {
	return s.passive.Load() != uint32(Down) && s.guardian.Load() != uint32(Down) && s.ejected.Load() == 0
}

// Missed tells whether nothing but the engine's own finding keeps the backend from
// being picked, if anything does: connects to it failed.
func (s *Slot) Missed() bool {
	return s.guardian.Load() != uint32(Down) && s.ejected.Load() == 0
}

// Status returns up, down or undefined. One that is ejected is down: it gets no
// traffic.
func (s *Slot) Status() farm.Status {
	if s.Ejected() {
		return farm.StatusDown
	}
	return combine(s.Passive(), s.Guardian()).status()
}

// Passive returns the engine's own finding.
func (s *Slot) Passive() State { return State(s.passive.Load()).known() }

// Guardian returns mgmt's finding.
func (s *Slot) Guardian() State { return State(s.guardian.Load()).known() }

// Since returns when Status took its present value; the zero time when it
// never changed.
func (s *Slot) Since() time.Time {
	at := max(s.passiveAt.Load(), s.guardianAt.Load())
	if at == 0 {
		return time.Time{}
	}
	return time.Unix(0, at)
}
