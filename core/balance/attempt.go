package balance

import (
	"sync/atomic"
	"time"
)

// When connects to all members of a service failed, the tries in the background
// find out late that they are back. So one exchange at a time may try one of
// them, and is answered by the member that accepts.

// attemptPace is the least time between two attempts of a service: what has just
// refused is not asked as often as clients ask.
const attemptPace = 10 * int64(time.Millisecond)

// Attempt is the right of one exchange to try a member that is down. It is given
// back with Done.
type Attempt struct {
	busy atomic.Bool
	next atomic.Int64 // when another one may begin, on clock
	turn atomic.Uint32
}

// Done lets the next exchange try. It does nothing on nil.
func (a *Attempt) Done() {
	if a != nil {
		a.next.Store(clock() + attemptPace)
		a.busy.Store(false)
	}
}

// Attempt chooses and reserves a member for one exchange while none may be used
// (see Held): of those connects to which failed, and that are not in tried, the
// given one if it is among them. It returns -1 when there is none, when one may be
// used, or when another exchange tries. held is the right an exchange has from
// before, nil for none; it keeps it until it calls Done.
func (p *Picker) Attempt(prefer int, tried Tried, held *Attempt) (index int, right *Attempt) {
	a := &p.state.attempt
	if held != a && (a.busy.Load() || clock() < a.next.Load()) || !p.Attemptable() || held != a && !a.busy.CompareAndSwap(false, true) {
		return -1, held
	}
	if prefer >= 0 && p.attempt(prefer, tried) {
		return prefer, a
	}
	from := int(a.turn.Add(1) % uint32(len(p.order)))
	for k := range p.order {
		if i := int(p.order[(from+k)%len(p.order)]); p.attempt(i, tried) {
			return i, a
		}
	}
	if held != a {
		a.busy.Store(false)
	}
	return -1, held
}

// Attemptable reports whether no member may be used, and some because connects to
// them failed.
func (p *Picker) Attemptable() bool {
	some := false
	for i := range p.members {
		if p.members[i].usable() {
			return false
		}
		some = some || p.members[i].missed()
	}
	return some
}

// attempt reserves member i if it is one that may be tried.
func (p *Picker) attempt(i int, tried Tried) bool {
	m := &p.members[i]
	return !tried.Has(i) && m.missed() && (!m.counted || m.load.reserve(m.limit))
}

// missed reports whether all that speaks against the member is that connects to
// it failed.
func (m *member) missed() bool {
	return !m.out && m.slot.Missed() && (m.apart == nil || m.apart.Missed()) && !m.usable()
}
