package proxy

import (
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/l7/state"
	"github.com/sluicelb/sluice/l7/table"
)

// SetGrace shortens what the exchanges of the farms that run now are given
// when they are stopped.
func (e *Engine) SetGrace(d time.Duration) {
	for _, f := range e.table.Load().Farms {
		f.Grace = d
	}
}

// CookieValue is the value by which a service's cookie names a backend.
func CookieValue(service, backend uint32) string { return table.CookieValue(service, backend) }

// LimitSessions makes a service begin with room for n sessions. It must not be
// published yet.
func (e *Engine) LimitSessions(s *farm.Service, n int) {
	e.registry.Sessions.Of(state.SessionsFor(s)).Table = session.New(n)
}
