package forward

import (
	"sync/atomic"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/registry"
	"github.com/sluicelb/sluice/core/session"
)

// registries holds state that outlives tables, by stable number.
type registries struct {
	loads  registry.Map[uint32, balance.Load] // by backend
	states registry.Map[stateOf, balance.State]
	tables registry.Map[sessionsOf, session.Kept]
	conns  registry.Map[uint32, connCount] // by farm
	ids    registry.Map[uint32, connIDs]   // by service
	memory *session.Memory                 // shared memory for sessions; nil: private memory
	known  []farm.Farm                     // of the configuration in use, never modified
}

// stateOf identifies a rotation: the backends of a farm for one server name, or for none.
type stateOf struct {
	service uint32
	name    string
}

func newRegistries() *registries {
	r := &registries{}
	r.tables.Make = func(of sessionsOf) *session.Kept { return session.NewKept(r.memory, of.owner()) }
	r.tables.Gone = func(k *session.Kept) { k.Release() }
	r.ids.Make = func(service uint32) *connIDs { return newConnIDs(r.memory, sessionsOf{service, quicKind}.owner()) }
	r.ids.Gone = func(ids *connIDs) { ids.table.Release() }
	return r
}

// fix sets the static sessions of farms.
func (r *registries) fix(farms []*farmTable) {
	for _, f := range farms {
		if f.sessions != nil {
			r.tables.Of(f.kept).Fix(f.view().Backends)
		}
	}
}

// retain removes the state of deleted backends and farms. Farms that are stopped or in the
// kernel keep their state, and so do connections in progress. If followed is true, cfg
// differs from the last call's only by changed farms, and no other table was compiled since.
// Then only the state of changed and removed farms can be obsolete.
func (r *registries) retain(cfg *farm.Config, followed bool) {
	before := r.known
	r.known = cfg.Farms
	at := cfg.AlignedWith(before)
	wanted, left := newNumbers(), newNumbers()
	for i := range cfg.Farms {
		if !followed || at[i] < 0 {
			wanted.add(&cfg.Farms[i])
		}
	}
	for of, backends := range wanted.cutOff {
		if k := r.tables.Has(of); k != nil {
			for _, id := range backends {
				k.DropBackend(id)
			}
		}
	}
	if !followed {
		r.retainOnly(wanted)
		return
	}
	for _, k := range farm.Gone(before, at) {
		left.add(&before[k])
	}
	r.forget(left, wanted)
}

// numbers holds the stable numbers of farms and their parts.
type numbers struct {
	farms, services, backends, quic map[uint32]bool
	keeping                         map[sessionsOf]bool
	cutOff                          map[sessionsOf][]uint32 // of stopped farms, whose cut backends appear in no table
}

func newNumbers() *numbers {
	return &numbers{map[uint32]bool{}, map[uint32]bool{}, map[uint32]bool{}, map[uint32]bool{}, map[sessionsOf]bool{}, map[sessionsOf][]uint32{}}
}

func (n *numbers) add(f *farm.Farm) {
	l := f.L4
	if l == nil {
		return
	}
	of := sessionsOf{l.ID, l.Persist}
	n.farms[f.ID], n.services[l.ID] = true, true
	if l.Persist != farm.L4PersistNone {
		n.keeping[of] = true
	}
	if l.QUIC {
		n.quic[l.ID] = true
	}
	for i := range l.Backends {
		b := &l.Backends[i]
		n.backends[b.ID] = true
		if f.Stopped && b.Maintenance == cut {
			n.cutOff[of] = append(n.cutOff[of], b.ID)
		}
	}
}

// retainOnly removes everything that is not wanted.
func (r *registries) retainOnly(wanted *numbers) {
	r.conns.RetainIn(wanted.farms)
	r.loads.RetainIn(wanted.backends)
	r.ids.RetainIn(wanted.quic)
	r.states.Retain(func(of stateOf, _ *balance.State) bool { return wanted.services[of.service] })
	r.tables.RetainIn(wanted.keeping)
}

// forget removes everything in left that is not wanted.
func (r *registries) forget(left, wanted *numbers) {
	r.conns.Forget(left.farms, wanted.farms)
	r.loads.Forget(left.backends, wanted.backends)
	r.ids.Forget(left.quic, wanted.quic)
	r.tables.Forget(left.keeping, wanted.keeping)
	gone := map[uint32]bool{}
	for id := range left.services {
		if !wanted.services[id] {
			gone[id] = true
		}
	}
	if len(gone) > 0 {
		r.states.Retain(func(of stateOf, _ *balance.State) bool { return !gone[of.service] })
	}
}

// connCount counts the connections and flows of a farm with max_conns, across all loops and
// tables.
type connCount struct{ open atomic.Int64 }

// take counts one more if fewer than limit are open, and reports whether it did.
func (c *connCount) take(limit int64) bool {
	for {
		n := c.open.Load()
		if n >= limit {
			return false
		}
		if c.open.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// release counts one less; a nil connCount does nothing.
func (c *connCount) release() {
	if c != nil {
		c.open.Add(-1)
	}
}

// countLate counts a connection accepted before its farm had max_conns.
func countLate(f *farmTable, counted **connCount) {
	if f != nil && f.conns != nil && *counted == nil {
		f.conns.open.Add(1)
		*counted = f.conns
	}
}
