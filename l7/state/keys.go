package state

import (
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/ratelimit"
	"github.com/sluicelb/sluice/core/session"
)

// SessionsOf is what a table of sessions belongs to: keys of another kind mean
// nothing, so a service that changes what it recognises clients by begins anew.
type SessionsOf struct {
	service uint32
	kind    farm.Persistence
	name    string
}

// SessionsFor is what the sessions of a service belong to.
func SessionsFor(s *farm.Service) SessionsOf {
	return SessionsOf{s.ID, s.EffectivePersistence(), s.SessionID}
}

// Owner is the table's number in shared memory.
func (k SessionsOf) Owner() uint64 { return session.Owner(k.service, string(k.kind), k.name) }

// RateID names what was used up of a limit: with other numbers all begin anew.
type RateID struct {
	service uint32
	limit   ratelimit.Limit
}

// RateFor names what was used up of the limit of a service.
func RateFor(s *farm.Service) RateID { return RateID{s.ID, LimitOf(s)} }

// LimitOf is the limit of a service; the zero value when it has none.
func LimitOf(s *farm.Service) ratelimit.Limit {
	l := s.RateLimit
	if l == nil || l.Requests == 0 {
		return ratelimit.Limit{}
	}
	return ratelimit.New(int(l.Requests), time.Duration(l.EffectivePeriod())*time.Second, int(l.EffectiveBurst()))
}

// epoch is what the clock of all loops begins near.
var epoch = time.Now()

// Clock is the time t on the clock that all loops share, in nanoseconds: positive,
// and not set back when the system's is. What is used up of limits goes by it.
func Clock(t time.Time) int64 { return int64(t.Sub(epoch) + time.Second) }
