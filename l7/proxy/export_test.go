package proxy

import (
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/l7/state"
	"github.com/sluicelb/sluice/l7/table"
)

// SetGrace shortens the grace of the farms that run now.
func (e *Engine) SetGrace(d time.Duration) {
	for _, f := range e.table.Load().ByID {
		f.Grace = d
	}
}

// Differences returns the number of farms that the table keeps of the difference from the one
// before.
func (e *Engine) Differences() int {
	t := e.table.Load()
	return len(t.Fresh) + len(t.Left)
}

// CookieValue returns the value of a service's cookie for a backend.
func CookieValue(service, backend uint32) string { return table.CookieValue(service, backend) }

// LimitSessions sets the initial capacity of a service's sessions. The service must not be
// published yet.
func (e *Engine) LimitSessions(s *farm.Service, n int) {
	e.registry.Sessions.Of(state.SessionsFor(s)).Table = session.New(n)
}

// LimitChecks sets the number of passwords that may wait to be checked, for as long as tests
// with the race detector take.
func (e *Engine) LimitChecks(n int) { e.checker.Limit(n, time.Hour) }
