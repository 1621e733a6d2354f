package proxy

import (
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
)

// maxSessions bounds the sessions of one service: a million, and the room it
// takes for all of its shards to hold their part of them.
const maxSessions = 5 << 18

// sessionsOf is what a table of sessions belongs to: keys of another kind mean
// nothing, so a service that changes what it recognises clients by begins anew.
type sessionsOf struct {
	service uint32
	kind    farm.Persistence
	name    string
}

// sessionTable is the sessions of one service.
type sessionTable struct {
	*session.Table
	// static holds the static sessions that were put into the table, with the
	// stable numbers of their backends.
	static map[string]uint32
}

func (r *registry) sessions(s *farm.Service) *session.Table {
	return entry(r, r.tables, keptFor(s), func() *sessionTable {
		return &sessionTable{Table: session.NewIn(r.memory, keptFor(s).owner(), maxSessions)}
	}).Table
}

// owner is the table's number in shared memory.
func (k sessionsOf) owner() uint64 { return session.Owner(k.service, string(k.kind), k.name) }

// SessionOwners are the numbers of the tables of sessions that cfg has, those
// of stopped farms included.
func SessionOwners(cfg *farm.Config) (owners []uint64) {
	for i := range cfg.Farms {
		if h := cfg.Farms[i].HTTP; h != nil {
			for s := range h.Services {
				owners = append(owners, keptFor(&h.Services[s]).owner())
			}
		}
	}
	return owners
}

func keptFor(s *farm.Service) sessionsOf { return sessionsOf{s.ID, s.Persistence, s.SessionID} }

// fix makes the static sessions those of the configuration.
func (r *registry) fix(t *table) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now().UnixNano()
	for _, f := range t.byID {
		for i := range f.services {
			if s := &f.services[i]; s.sessions != nil {
				r.tables[s.kept].fix(s, now)
			}
		}
	}
}

func (t *sessionTable) fix(s *service, now int64) {
	want := map[string]uint32{}
	for i := range s.backends {
		for _, key := range s.backends[i].statics {
			want[key] = s.backends[i].id
		}
	}
	for key := range t.static {
		if _, stays := want[key]; !stays {
			t.Delete([]byte(key))
		}
	}
	for key, id := range want {
		if t.static[key] != id {
			t.PutStatic([]byte(key), id, now)
		}
	}
	t.static = want
}

// sweepBudget is how many sessions of a service one sweep looks at.
const sweepBudget = 512

// sweep forgets some of the sessions that expired, a few of each service.
func (r *registry) sweep(t *table) {
	now := time.Now().UnixNano()
	for _, f := range t.byID {
		for i := range f.services {
			if s := &f.services[i]; s.sessions != nil {
				s.sessions.Sweep(now, s.persist.ttl, sweepBudget)
			}
		}
	}
}
