package notify

import (
	"time"

	"github.com/sluicelb/sluice/mgmt/event"
)

// state is the reported state of a backend or farm, and when the current one began if it
// differs.
type state[S comparable] struct {
	told    S
	differs bool
	since   time.Time // when it began to differ, or last equalled the reported one
	flaps   flaps[S]
}

func stateOf[S comparable](list map[uint32]*state[S], id uint32, before S) *state[S] {
	if one := list[id]; one != nil {
		return one
	}
	return &state[S]{told: before}
}

// verdict states whether to report a state, and its start.
type verdict struct {
	tell, flaps bool
	since       time.Time
}

// happening returns the event to report. If the state is flapping, the text says that no more
// events follow until it settles.
func (v verdict) happening(e event.Event) Happening {
	h := happening(e)
	if v.flaps {
		h = flapping(h)
	}
	return h
}

// due returns when an unchanged state will be reported; zero if it has been.
func (s *state[S]) due(lasts time.Duration) time.Time {
	switch {
	case s.flaps.muted:
		return s.flaps.since.Add(settleTime)
	case s.differs:
		return s.since.Add(lasts)
	}
	return time.Time{}
}

// lookAgain schedules a look even if nothing changes.
func (s *states) lookAgain(at time.Time) {
	if !at.IsZero() && (s.again.IsZero() || at.Before(s.again)) {
		s.again = at
	}
}

// look decides whether to report a state. If means is false the state is irrelevant, e.g.
// during maintenance; the reported state then stays. A new state must last before it is
// reported, regardless of the states in between.
func (s *state[S]) look(is S, bad int, means bool, since time.Time, l *look, first bool) (v verdict) {
	if means && s.flaps.escalates(bad) {
		s.flaps = flaps[S]{}
	}
	switch {
	case means && s.flaps.muted:
		s.differs = false
		if !s.flaps.settled(is, l.now) {
			return v
		}
		s.told = is
		return verdict{tell: true, since: s.flaps.since}
	case !means, is == s.told:
		s.differs = false
		return v
	case first:
		s.told = is
		return v
	case !s.differs || l.now.Before(s.since): // the clock may have been set back
		s.differs, s.since = true, since
	}
	if l.now.Sub(s.since) < l.lasts {
		return v
	}
	s.told, s.differs = is, false
	return verdict{tell: true, flaps: s.flaps.turned(is, bad, l.now), since: s.since}
}
