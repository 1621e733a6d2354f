package balance

import (
	"sync/atomic"
	"time"
)

// When connects to all members of a service failed, background tries notice their recovery
// late. So one exchange at a time may try a failed member, which is used if it accepts.

// attemptPace is the minimum time between two attempts of a service, so that failed members
// are not tried for every client request.
const attemptPace = 10 * int64(time.Millisecond)

// Attempt is the right of one exchange to try a member that is down. Done returns it.
type Attempt struct {
	busy atomic.Bool
	next atomic.Int64 // earliest next attempt, on clock
	turn atomic.Uint32
}

// Done lets the next exchange try. It does nothing on nil.
func (a *Attempt) Done() {
	if a != nil {
		a.next.Store(clock() + attemptPace)
		a.busy.Store(false)
	}
}

// Attempt chooses and reserves a member for one exchange while none is usable (see Held).
// The candidates are those that failed to connect and are not in tried; prefer is chosen if
// it is a candidate. It returns -1 if there is no candidate, if a member is usable, or if
// another exchange has the right. held is the right the exchange already has, or nil. The
// exchange keeps it until it calls Done.
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

// Attemptable reports whether no member is usable, and some only because connects failed.
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

// attempt reserves member i if it may be tried.
func (p *Picker) attempt(i int, tried Tried) bool {
	m := &p.members[i]
	return !tried.Has(i) && m.missed() && (!m.counted || m.load.reserve(m.limit))
}

// missed reports whether failed connects are the only reason that the member is not usable.
func (m *member) missed() bool {
	return !m.out && m.slot.Missed() && (m.apart == nil || m.apart.Missed()) && !m.usable()
}
