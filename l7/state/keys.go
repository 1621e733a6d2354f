package state

import (
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/ratelimit"
	"github.com/sluicelb/sluice/core/session"
)

// SessionsOf identifies a session table. Keys of another kind are meaningless, so a service
// that changes its persistence gets a new table.
type SessionsOf struct {
	service uint32
	kind    farm.Persistence
	name    string
}

// SessionsFor returns the identity of a service's session table.
func SessionsFor(s *farm.Service) SessionsOf {
	return SessionsOf{s.ID, s.EffectivePersistence(), s.SessionID}
}

// Owner returns the table's number in shared memory.
func (k SessionsOf) Owner() uint64 { return session.Owner(k.service, string(k.kind), k.name) }

// RateID identifies the counts of a rate limit. A changed limit starts from zero.
type RateID struct {
	service uint32
	limit   ratelimit.Limit
}

// RateFor returns the identity of a service's rate limit counts.
func RateFor(s *farm.Service) RateID { return RateID{s.ID, LimitOf(s)} }

// LimitOf returns the rate limit of a service, or the zero value.
func LimitOf(s *farm.Service) ratelimit.Limit {
	l := s.RateLimit
	if l == nil || l.Requests == 0 {
		return ratelimit.Limit{}
	}
	return ratelimit.New(int(l.Requests), time.Duration(l.EffectivePeriod())*time.Second, int(l.EffectiveBurst()))
}

// epoch is close to the start of the loops' shared clock.
var epoch = time.Now()

// Clock converts t to the clock shared by all loops, in nanoseconds. It is positive and
// monotonic. Rate limits use it.
func Clock(t time.Time) int64 { return int64(t.Sub(epoch) + time.Second) }
