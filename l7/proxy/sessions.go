package proxy

import (
	"errors"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/l7/state"
)

// What a change of sessions may be refused for.
var (
	errNoService = errors.New("the service does not run")
	errNoTable   = errors.New("the service keeps no sessions: set persistence first")
)

// SessionsOf is the sessions of a service by which it would choose a backend
// now; one of a farm that is stopped has none. Any goroutine may call it.
func (e *Engine) SessionsOf(id uint32) session.View {
	sv := e.table.Load().Service(id)
	switch {
	case sv == nil:
		return session.View{Err: errNoService}
	case sv.Sessions == nil:
		return session.View{Err: errNoTable}
	}
	return sv.View()
}

// RunsService implements engine.Engine.
func (e *Engine) RunsService(service uint32) bool { return e.table.Load().Service(service) != nil }

// SessionOwners are the numbers of the tables of sessions that cfg has, those
// of stopped farms included.
func (e *Engine) SessionOwners(cfg *farm.Config) (owners []uint64) {
	for i := range cfg.Farms {
		if h := cfg.Farms[i].HTTP; h != nil {
			for s := range h.Services {
				owners = append(owners, state.SessionsFor(&h.Services[s]).Owner())
			}
		}
	}
	return owners
}

// KeepSessions lets sessions lie in m, with those of an earlier engine. It is to
// be called before the first Publish.
func (e *Engine) KeepSessions(m *session.Memory) { e.registry.KeepIn(m) }

// KeepTickets has the keys of TLS session tickets in mem, and begins with those
// an earlier engine left there: see tlsconf.Tickets.Keep. Call it before the first
// Publish.
func (e *Engine) KeepTickets(mem []byte) error { return e.tls.Tickets().Keep(mem) }
