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
	sv := e.table.Load().service(id)
	switch {
	case sv == nil:
		return session.View{Err: errNoService}
	case sv.sessions == nil:
		return session.View{Err: errNoTable}
	}
	return sv.view()
}

// view is what the service makes of its sessions.
func (sv *service) view() session.View {
	v := session.View{Table: sv.sessions, TTL: sv.persist.ttl, Backends: make([]session.Member, len(sv.backends))}
	for i := range sv.backends {
		b := &sv.backends[i]
		v.Backends[i] = session.Member{ID: b.id, Cut: b.mode == modeCut, Static: b.statics}
	}
	return v
}

// service is the service with that number, nil when no farm that runs has it.
func (t *table) service(id uint32) *service {
	for _, f := range t.byID {
		for i := range f.services {
			if f.services[i].id == id {
				return &f.services[i]
			}
		}
	}
	return nil
}

// SessionOwners are the numbers of the tables of sessions that cfg has, those
// of stopped farms included.
func SessionOwners(cfg *farm.Config) (owners []uint64) {
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

// dropCut removes the sessions of backends that were cut since the table
// before: unlike drain, cut keeps none but the static ones.
func (t *table) dropCut(before *table) {
	for _, f := range t.byID {
		for i := range f.services {
			s := &f.services[i]
			for j := range s.backends {
				b := &s.backends[j]
				old := before.backends[b.id]
				if b.mode == modeCut && s.sessions != nil && (old == nil || old.mode != modeCut) {
					s.sessions.DropBackend(b.id)
				}
			}
		}
	}
}

// fix makes the static sessions those of the configuration.
func (t *table) fix(r *state.Registry) {
	for _, f := range t.byID {
		for i := range f.services {
			if s := &f.services[i]; s.sessions != nil {
				r.Tables.Of(s.kept).Fix(s.view().Backends)
			}
		}
	}
}

// sweepBudget is how many sessions of a service one sweep looks at.
const sweepBudget = 512

// sweep forgets some of the sessions that expired, a few of each service.
func (t *table) sweep() {
	now := session.Now()
	for _, f := range t.byID {
		for i := range f.services {
			if s := &f.services[i]; s.sessions != nil {
				s.sessions.Sweep(now, s.persist.ttl, sweepBudget)
			}
		}
	}
}
