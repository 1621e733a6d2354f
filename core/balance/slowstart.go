package balance

import (
	"cmp"
	"slices"
	"time"
)

// A backend that becomes usable gets a part of its weight at first, and all of
// it after the slow start of its service: its caches are cold, its pools empty.
// Weights change when a table is derived, which happens once a second as long as
// somebody ramps up; nothing ticks. ConsistentHash ignores it, because moving
// flows to and fro would cost more than it spares.

// tenths is what a full weight is divided in.
const tenths = 10

// rampStep is how long a table of which somebody ramps up is used.
const rampStep = int64(time.Second)

// What a Picker saw of a backend last.
const (
	seenNever uint32 = iota
	seenUsable
	seenUnusable
)

// MarkOld says that a backend nobody has seen yet was there before: it does not
// ramp up for being new.
func (l *Load) MarkOld() { l.seen.CompareAndSwap(seenNever, seenUsable) }

// note remembers since when the member has been usable. The time is written
// first: whoever sees that it is usable sees since when.
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

// unseen returns when a member that was last seen usable came up again after it was
// down, or ejected, while no request looked; Unix ns, 0 if it did not. The first
// verdict of a check, or a first connect, is no such time.
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

// share is how many tenths of its weight a member has now.
func (m *member) share(now int64) int64 {
	since := m.load.since.Load()
	if m.slowStart <= 0 || since == 0 || now-since >= m.slowStart {
		return tenths
	}
	return 1 + (tenths-1)*max(0, now-since)/m.slowStart
}

// ramp gives the eligible members of a table the weights they have now, if one
// of them does not have its full one.
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

// expired tells that weights have changed since the table was derived.
func (t *table) expired() bool { return t.expires != 0 && clock() >= t.expires }

// weight is what member i counts in t: in tenths while somebody ramps up.
func (t *table) weight(p *Picker, i int) int64 {
	if t.weights != nil {
		return t.weights[i]
	}
	return p.members[i].weight
}
