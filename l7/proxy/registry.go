package proxy

import (
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
)

// maxSessions bounds the sessions of one service.
const maxSessions = 1 << 20

// registry holds what outlives tables, by stable number. It is touched only
// when a table is compiled, never by an exchange.
type registry struct {
	mu     sync.Mutex
	loads  map[uint32]*balance.Load
	states map[uint32]*balance.State
	tables map[uint32]*session.Table
	doors  map[uint32]*places // by farm
}

func newRegistry() *registry {
	return &registry{
		loads:  map[uint32]*balance.Load{},
		states: map[uint32]*balance.State{},
		tables: map[uint32]*session.Table{},
		doors:  map[uint32]*places{},
	}
}

func (r *registry) load(backend uint32) *balance.Load {
	return entry(r, r.loads, backend, func() *balance.Load { return new(balance.Load) })
}

func (r *registry) state(service uint32) *balance.State {
	return entry(r, r.states, service, func() *balance.State { return new(balance.State) })
}

func (r *registry) sessions(service uint32) *session.Table {
	return entry(r, r.tables, service, func() *session.Table { return session.New(maxSessions) })
}

func (r *registry) places(farm uint32) *places {
	return entry(r, r.doors, farm, func() *places { return new(places) })
}

// open lets all who wait for a place try again: its bound may have changed.
func (r *registry) open() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.doors {
		p.wake(int(p.queue.Load()))
	}
}

func entry[T any](r *registry, m map[uint32]*T, id uint32, make func() *T) *T {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := m[id]
	if v == nil {
		v = make()
		m[id] = v
	}
	return v
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

// retain forgets the state of backends and services that are gone; those of a
// stopped farm are not. Exchanges under way keep what they hold.
func (r *registry) retain(cfg *farm.Config) {
	farms, services, backends := map[uint32]bool{}, map[uint32]bool{}, map[uint32]bool{}
	for i := range cfg.Farms {
		farms[cfg.Farms[i].ID] = true
		if cfg.Farms[i].HTTP == nil {
			continue
		}
		for _, s := range cfg.Farms[i].HTTP.Services {
			services[s.ID] = true
			for _, b := range s.Backends {
				backends[b.ID] = true
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.doors {
		if !farms[id] {
			delete(r.doors, id)
		}
	}
	for id := range r.loads {
		if !backends[id] {
			delete(r.loads, id)
		}
	}
	for id := range r.states {
		if !services[id] {
			delete(r.states, id)
			delete(r.tables, id)
		}
	}
}
