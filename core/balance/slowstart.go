package balance

import (
	"cmp"
	"slices"
	"time"
)

// A backend that becomes usable starts with a part of its weight, because its caches are cold
// and its pools empty. It has its full weight after the slow start of its service. Weights
// change when a table is derived, once per second while a member ramps up, without a timer.
// ConsistentHash ignores slow start, because moving flows twice would cost more than it saves.

// tenths is the number of parts of a full weight.
const tenths = 10

// rampStep is how long a table is used while a member ramps up.
const rampStep = int64(time.Second)

// The last state of a backend seen by a Picker.
const (
	seenNever uint32 = iota
	seenUsable
	seenUnusable
)

// MarkOld records that a backend not seen yet existed before, so that it does not ramp up as
// new.
func (l *Load) MarkOld() { l.seen.CompareAndSwap(seenNever, seenUsable) }

// note records when the member became usable. The time is stored before the state, so a
// reader of the new state sees the new time.
func (m *member) note(usable bool, now int64) {
	l := m.load
	switch seen := l.seen.Load(); {
	case usable && seen != seenUsable:
		l.since.Store(max(1, now))
		l.seen.Store(seenUsable)
	case !usable && seen != seenUnusable:
		l.seen.Store(seenUnusable)
	case usable:
		if at := m.unseen(); at != 0 {
			l.since.Store(cmp.Or(now-max(0, time.Now().UnixNano()-at), -1))
		}
	}
	l.reached.Store(m.reached())
	l.confirmed.Store(m.slot.Confirmed())
	l.readmitted.Store(m.slot.Readmitted())
}

// unseen returns when a member, last seen usable, came up again after it was down or ejected
// between two requests; Unix ns, or 0. The first verdict of a check and a first connect do
// not count.
func (m *member) unseen() (at int64) {
	l := m.load
	if m.slowStart <= 0 || l.seen.Load() != seenUsable {
		return 0
	}
	if before, now := l.reached.Load(), m.reached(); before != 0 && now > before {
		at = now
	}
	if before, now := l.confirmed.Load(), m.slot.Confirmed(); before != 0 && now > before {
		at = max(at, now)
	}
	if now := m.slot.Readmitted(); now > l.readmitted.Load() {
		at = max(at, now)
	}
	return at
}

func (m *member) reached() int64 {
	if m.apart != nil {
		return max(m.slot.Reached(), m.apart.Reached())
	}
	return m.slot.Reached()
}

// share returns the member's current weight in tenths.
func (m *member) share(now int64) int64 {
	since := m.load.since.Load()
	if m.slowStart <= 0 || since == 0 || now-since >= m.slowStart {
		return tenths
	}
	return 1 + (tenths-1)*max(0, now-since)/m.slowStart
}

// ramp sets the current weights of the table's members if one of them is not at its full
// weight.
func (t *table) ramp(p *Picker, now int64) {
	if p.algorithm == ConsistentHash {
		return
	}
	if !slices.ContainsFunc(t.eligible, func(i uint16) bool { return p.members[i].share(now) < tenths }) {
		return
	}
	t.expires = now + rampStep
	t.weights = make([]int64, len(p.members))
	for i := range p.members {
		t.weights[i] = p.members[i].weight * p.members[i].share(now)
	}
}

// expired reports whether weights have changed since the table was derived.
func (t *table) expired() bool { return t.expires != 0 && clock() >= t.expires }

// weight returns the weight of member i in t, in tenths during a ramp.
func (t *table) weight(p *Picker, i int) int64 {
	if t.weights != nil {
		return t.weights[i]
	}
	return p.members[i].weight
}
