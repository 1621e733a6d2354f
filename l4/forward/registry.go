package forward

import (
	"sync/atomic"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/lasting"
	"github.com/sluicelb/sluice/core/session"
)

// registry holds state that outlives tables, by stable number.
type registry struct {
	loads  lasting.Map[uint32, balance.Load] // by backend
	states lasting.Map[stateOf, balance.State]
	tables lasting.Map[sessionsOf, session.Kept]
	conns  lasting.Map[uint32, connCount] // by farm
	ids    lasting.Map[uint32, connIDs]   // by service
	memory *session.Memory                // shared memory for sessions; nil: private memory
}

// stateOf identifies a rotation: the backends of a farm for one server name, or for none.
type stateOf struct {
	service uint32
	name    string
}

func newRegistry() *registry {
	r := &registry{}
	r.tables.Make = func(of sessionsOf) *session.Kept { return session.NewKept(r.memory, of.owner()) }
	r.tables.Gone = func(k *session.Kept) { k.Release() }
	r.ids.Make = func(service uint32) *connIDs { return newConnIDs(r.memory, sessionsOf{service, quicKind}.owner()) }
	r.ids.Gone = func(ids *connIDs) { ids.table.Release() }
	return r
}

// fix sets the static sessions of the configuration.
func (r *registry) fix(t *table) {
	for _, f := range t.byID {
		if f.sessions != nil {
			r.tables.Of(f.kept).Fix(f.view().Backends)
		}
	}
}

// retain removes the state of deleted backends and farms. Farms that are stopped or in the
// kernel keep theirs. Connections in progress keep the state they hold.
func (r *registry) retain(cfg *farm.Config) {
	farms, services, backends := map[uint32]bool{}, map[uint32]bool{}, map[uint32]bool{}
	keeping, quic := map[sessionsOf]bool{}, map[uint32]bool{}
	cutOff := map[sessionsOf][]uint32{} // of farms that are not served, whose cut backends appear in no table
	for i := range cfg.Farms {
		l := cfg.Farms[i].L4
		if l == nil {
			continue
		}
		farms[cfg.Farms[i].ID], services[l.ID] = true, true
		keeping[sessionsOf{l.ID, l.Persist}] = l.Persist != farm.L4PersistNone
		quic[l.ID] = l.QUIC
		for j := range l.Backends {
			b := &l.Backends[j]
			backends[b.ID] = true
			if cfg.Farms[i].Stopped && b.Maintenance == cut {
				of := sessionsOf{l.ID, l.Persist}
				cutOff[of] = append(cutOff[of], b.ID)
			}
		}
	}
	r.conns.RetainIn(farms)
	r.loads.RetainIn(backends)
	r.ids.RetainIn(quic)
	r.states.Retain(func(of stateOf, _ *balance.State) bool { return services[of.service] })
	r.tables.Retain(func(of sessionsOf, k *session.Kept) bool {
		for _, id := range cutOff[of] {
			k.DropBackend(id)
		}
		return keeping[of]
	})
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
