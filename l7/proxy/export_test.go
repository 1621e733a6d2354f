package proxy

import "github.com/sluicelb/sluice/core/session"

import "time"

// SetGrace shortens what the exchanges of the farms that run now are given
// when they are stopped.
func (e *Engine) SetGrace(d time.Duration) {
	for _, f := range e.table.Load().byID {
		f.grace = d
	}
}

// Expel is what happens when a grace is over.
func (e *Engine) Expel() { e.expel() }

// CookieValue is the value by which a service's cookie names a backend.
func CookieValue(service, backend uint32) string { return cookieValue(service, backend) }

// LimitSessions makes all services begin anew with room for n sessions. No client
// may have come yet.
func (e *Engine) LimitSessions(n int) {
	for _, f := range e.table.Load().byID {
		for i := range f.services {
			f.services[i].sessions = session.New(n)
		}
	}
}
