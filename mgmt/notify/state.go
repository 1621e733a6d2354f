package notify

import (
	"time"

	"github.com/sluicelb/sluice/mgmt/event"
)

// state is what was told of a backend or farm, and what it is since when if that differs.
type state[S comparable] struct {
	told    S
	differs bool
	since   time.Time // it differs, or became what was told
	flaps   flaps[S]
}

func stateOf[S comparable](list map[uint32]*state[S], id uint32, before S) *state[S] {
	if one := list[id]; one != nil {
		return one
	}
	return &state[S]{told: before}
}

// verdict is what is to be told of a state, and since when it is so.
type verdict struct {
	tell, flaps bool
	since       time.Time
}

// happening is an event as it is told. Of one that flaps it is the last one until it has
// settled, and says so.
func (v verdict) happening(e event.Event) Happening {
	h := happening(e)
	if v.flaps {
		h = flapping(h)
	}
	return h
}

// due is when a state that stays as it is will be told of; zero: it was.
func (s *state[S]) due(lasts time.Duration) time.Time {
	switch {
	case s.flaps.muted:
		return s.flaps.since.Add(settleTime)
	case s.differs:
		return s.since.Add(lasts)
	}
	return time.Time{}
}

// lookAgain has everything looked at by a time though nothing changes.
func (s *states) lookAgain(at time.Time) {
	if !at.IsZero() && (s.again.IsZero() || at.Before(s.again)) {
		s.again = at
	}
}

// look says what is to be told of a state, which means nothing while it is nobody's
// business: what was told of it stays then. Another one has to last before it is told,
// whichever others it was meanwhile.
func (s *state[S]) look(is S, bad int, means bool, since time.Time, l *look) (v verdict) {
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
	case l.first:
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
