package forward

import (
	"sync"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
)

// registry holds what outlives tables, by stable number. It is touched only
// when a table is compiled, never by a connection.
type registry struct {
	mu     sync.Mutex
	loads  map[uint32]*balance.Load
	states map[stateOf]*balance.State
	tables map[sessionsOf]*session.Kept
	memory *session.Memory    // where the sessions lie; nil: in the process's own
	doors  map[uint32]*places // by farm
	ids    map[uint32]*connIDs
}

func newRegistry() *registry {
	return &registry{
		loads: map[uint32]*balance.Load{}, states: map[stateOf]*balance.State{},
		tables: map[sessionsOf]*session.Kept{}, doors: map[uint32]*places{}, ids: map[uint32]*connIDs{},
	}
}

func (r *registry) load(backend uint32) *balance.Load {
	return entry(r, r.loads, backend, func() *balance.Load { return new(balance.Load) })
}

// stateOf is what a rotation belongs to: the backends of a farm that are for one
// server name, or for none.
type stateOf struct {
	service uint32
	name    string
}

func (r *registry) state(service uint32, name string) *balance.State {
	return entry(r, r.states, stateOf{service, name}, func() *balance.State { return new(balance.State) })
}

func (r *registry) places(farm uint32) *places {
	return entry(r, r.doors, farm, func() *places { return new(places) })
}

func (r *registry) sessions(of sessionsOf) *session.Table {
	return entry(r, r.tables, of, func() *session.Kept { return session.NewKept(r.memory, of.owner()) }).Table
}

func (r *registry) connIDs(service uint32) *connIDs {
	return entry(r, r.ids, service, func() *connIDs {
		return newConnIDs(r.memory, sessionsOf{service, quicKind}.owner())
	})
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

// retain forgets the state of backends and farms that are gone; those of a farm
// that is stopped, or that the kernel carries for a while, are not.
// Connections under way keep what they hold.
func (r *registry) retain(cfg *farm.Config) {
	farms, services, backends := map[uint32]bool{}, map[uint32]bool{}, map[uint32]bool{}
	keeping, quic := map[sessionsOf]bool{}, map[uint32]bool{}
	for i := range cfg.Farms {
		l := cfg.Farms[i].L4
		if l == nil {
			continue
		}
		farms[cfg.Farms[i].ID], services[l.ID] = true, true
		keeping[sessionsOf{l.ID, l.Persist}] = l.Persist != farm.L4PersistNone
		quic[l.ID] = l.QUIC
		for j := range l.Backends {
			backends[l.Backends[j].ID] = true
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	keep(r.doors, farms)
	keep(r.loads, backends)
	for id, ids := range r.ids {
		if !quic[id] {
			ids.table.Release()
			delete(r.ids, id)
		}
	}
	for of := range r.states {
		if !services[of.service] {
			delete(r.states, of)
		}
	}
	for id, t := range r.tables {
		if !keeping[id] {
			t.Release()
			delete(r.tables, id)
		}
	}
}

func keep[K comparable, T any](m map[K]*T, wanted map[K]bool) {
	for id := range m {
		if !wanted[id] {
			delete(m, id)
		}
	}
}
