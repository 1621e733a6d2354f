package proxy

import (
	"sync"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/ratelimit"
	"github.com/sluicelb/sluice/core/session"
)

// registry holds what outlives tables, by stable number. It is touched only
// when a table is compiled, never by an exchange.
type registry struct {
	mu     sync.Mutex
	loads  map[uint32]*balance.Load
	states map[uint32]*balance.State
	tables map[sessionsOf]*session.Kept
	memory *session.Memory    // where the sessions lie; nil: in the process's own
	doors  map[uint32]*places // by farm
	rates  map[rateID]*ratelimit.Table
	queues map[uint32]*queue   // by service
	spent  map[uint32]*[]spent // by service
}

func newRegistry() *registry {
	return &registry{
		loads:  map[uint32]*balance.Load{},
		states: map[uint32]*balance.State{},
		tables: map[sessionsOf]*session.Kept{},
		doors:  map[uint32]*places{},
		rates:  map[rateID]*ratelimit.Table{},
		queues: map[uint32]*queue{},
		spent:  map[uint32]*[]spent{},
	}
}

func (r *registry) load(backend uint32) *balance.Load {
	return entry(r, r.loads, backend, func() *balance.Load { return new(balance.Load) })
}

func (r *registry) state(service uint32) *balance.State {
	return entry(r, r.states, service, func() *balance.State { return new(balance.State) })
}

func (r *registry) places(farm uint32) *places {
	return entry(r, r.doors, farm, func() *places { return new(places) })
}

func (r *registry) sessions(of sessionsOf) *session.Table {
	return entry(r, r.tables, of, func() *session.Kept { return session.NewKept(r.memory, of.owner()) }).Table
}

func (r *registry) queue(service uint32) *queue {
	return entry(r, r.queues, service, func() *queue { return new(queue) })
}

func (r *registry) retries(service uint32, loops int) []spent {
	return *entry(r, r.spent, service, func() *[]spent { s := make([]spent, loops); return &s })
}

// open lets all who wait for a place try again: its bound may have changed.
func (r *registry) open() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.doors {
		p.wake(int(p.queue.Load()))
	}
}

// stir lets the first of every queue look again: there may be room, or none to
// wait for, though no exchange ended.
func (r *registry) stir() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.queues {
		q.released()
	}
}

func entry[K comparable, T any](r *registry, m map[K]*T, id K, make func() *T) *T {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := m[id]
	if v == nil {
		v = make()
		m[id] = v
	}
	return v
}

// retain forgets the state of backends and services that are gone; those of a
// stopped farm are not. Exchanges under way keep what they hold.
func (r *registry) retain(cfg *farm.Config) {
	farms, services, backends := map[uint32]bool{}, map[uint32]bool{}, map[uint32]bool{}
	keeping := map[sessionsOf]bool{}
	for i := range cfg.Farms {
		farms[cfg.Farms[i].ID] = true
		if cfg.Farms[i].HTTP == nil {
			continue
		}
		for _, s := range cfg.Farms[i].HTTP.Services {
			services[s.ID] = true
			keeping[keptFor(&s)] = s.Persistence != farm.PersistNone
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
	for id, q := range r.queues {
		if !services[id] && q.count.Load() == 0 { // those who wait are still to be stirred
			delete(r.queues, id)
		}
	}
	for id := range r.spent {
		if !services[id] {
			delete(r.spent, id)
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
		}
	}
	for id, t := range r.tables {
		if !keeping[id] {
			t.Release()
			delete(r.tables, id)
		}
	}
}
