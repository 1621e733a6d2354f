package state

import (
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/ratelimit"
)

// LimitOf is the limit of a service; the zero value when it has none.
func LimitOf(s *farm.Service) ratelimit.Limit {
	l := s.RateLimit
	if l == nil || l.Requests == 0 {
		return ratelimit.Limit{}
	}
	return ratelimit.New(int(l.Requests), time.Duration(l.EffectivePeriod())*time.Second, int(l.EffectiveBurst()))
}

// RateID names what was used up of a limit: with other numbers all begin anew.
type RateID struct {
	service uint32
	limit   ratelimit.Limit
}

// RateFor names what was used up of the limit of a service.
func RateFor(s *farm.Service) RateID { return RateID{s.ID, LimitOf(s)} }
