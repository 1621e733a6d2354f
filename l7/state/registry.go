package state

import (
	"maps"
	"slices"
	"sync/atomic"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/ratelimit"
	"github.com/sluicelb/sluice/core/registry"
	"github.com/sluicelb/sluice/core/session"
)

// Registry holds state that outlives tables, by stable number.
type Registry struct {
	Loads        registry.Map[uint32, balance.Load]  // by backend
	States       registry.Map[uint32, balance.State] // rotations by service
	Sessions     registry.Map[SessionsOf, session.Kept]
	ClientLimits registry.Map[uint32, ClientLimit] // by farm
	Rates        registry.Map[RateID, ratelimit.Table]
	Queues       registry.Map[uint32, Queue]   // by service
	OwnQueues    registry.Map[uint32, Queue]   // by backend, for clients that belong there
	Spent        registry.Map[uint32, []Spent] // by service, one per loop
	memory       *session.Memory               // shared memory for sessions; nil: private memory

	waiting  atomic.Int64 // exchanges in all Queues and OwnQueues
	known    []farm.Farm  // farms of the current configuration, never modified
	compiled int          // tables compiled since then
	waited   []uint32     // deleted services with waiting exchanges
	waitedAt []uint32     // deleted backends with waiting exchanges
}

// New returns a registry for engines with that many loops.
func New(loops int) *Registry {
	r := &Registry{}
	r.Queues.Make = func(uint32) *Queue { return &Queue{waiting: &r.waiting} }
	r.OwnQueues.Make = r.Queues.Make
	r.Sessions.Make = func(of SessionsOf) *session.Kept { return session.NewKept(r.memory, of.Owner()) }
	r.Sessions.Gone = func(k *session.Kept) { k.Release() }
	r.Rates.Make = func(RateID) *ratelimit.Table { return ratelimit.NewTable() }
	r.Spent.Make = func(uint32) *[]Spent { s := make([]Spent, loops); return &s }
	return r
}

// KeepIn places sessions in m, together with the sessions of an earlier engine. It must be
// called before the first table.
func (r *Registry) KeepIn(m *session.Memory) { r.memory = m }

// Open wakes all doors that wait for a slot, because their limit may have changed.
func (r *Registry) Open() {
	r.ClientLimits.Each(func(p *ClientLimit) { p.wake(int(p.queue.Load())) })
}

// Stir wakes the first waiter of every queue, because room may appear or become impossible
// without the end of an exchange.
func (r *Registry) Stir() {
	if r.waiting.Load() != 0 {
		r.Queues.Each((*Queue).Released)
		r.OwnQueues.Each((*Queue).Released)
	}
}

// Compiling announces the compilation of a table, which may request state that no
// configuration will keep.
func (r *Registry) Compiling() { r.compiled++ }

// Retain removes the state of deleted farms, services and backends. Stopped farms keep
// theirs. Exchanges in progress keep the state they hold.
func (r *Registry) Retain(cfg *farm.Config) {
	// If exactly one table was compiled and is in use, only state of removed or changed
	// farms can be obsolete.
	followed := r.compiled == 1 && r.known != nil
	r.compiled = 0
	before := r.known
	if r.known = cfg.Farms; r.known == nil {
		r.known = []farm.Farm{}
	}
	wanted, left := numbers{}, numbers{}
	at := cfg.AlignedWith(before)
	for i := range cfg.Farms {
		if !followed || at[i] < 0 {
			wanted.add(&cfg.Farms[i])
		}
	}
	if !followed {
		r.retain(&wanted)
		return
	}
	for _, k := range farm.Gone(before, at) {
		left.add(&before[k])
	}
	r.forget(&left, &wanted)
}

// numbers holds the stable numbers of farms and their parts.
type numbers struct {
	farms, services, backends map[uint32]bool
	keeping                   map[SessionsOf]bool
	rates                     map[RateID]bool
	cutOff                    map[SessionsOf][]uint32 // of stopped farms, whose cut backends appear in no table
}

func (n *numbers) add(f *farm.Farm) {
	if n.farms == nil {
		*n = numbers{map[uint32]bool{}, map[uint32]bool{}, map[uint32]bool{}, map[SessionsOf]bool{}, map[RateID]bool{}, map[SessionsOf][]uint32{}}
	}
	n.farms[f.ID] = true
	if f.HTTP == nil {
		return
	}
	for i := range f.HTTP.Services {
		s := &f.HTTP.Services[i]
		of := SessionsFor(s)
		n.services[s.ID], n.rates[RateFor(s)] = true, true
		if s.EffectivePersistence() != farm.PersistNone {
			n.keeping[of] = true
		}
		for k := range s.Backends {
			b := &s.Backends[k]
			n.backends[b.ID] = true
			if f.Stopped && b.Maintenance == farm.MaintenanceCut {
				n.cutOff[of] = append(n.cutOff[of], b.ID)
			}
		}
	}
}

// retain removes everything that is not wanted.
func (r *Registry) retain(wanted *numbers) {
	r.ClientLimits.RetainIn(wanted.farms)
	r.Loads.RetainIn(wanted.backends)
	r.States.RetainIn(wanted.services)
	r.Spent.RetainIn(wanted.services)
	r.Rates.RetainIn(wanted.rates)
	r.Sessions.Retain(func(of SessionsOf, k *session.Kept) bool {
		for _, id := range wanted.cutOff[of] {
			k.DropBackend(id)
		}
		return wanted.keeping[of]
	})
	r.waited = retainQueues(&r.Queues, wanted.services)
	r.waitedAt = retainQueues(&r.OwnQueues, wanted.backends)
}

// retainQueues removes the queues that are not wanted, except those with waiters, which still
// need to be woken. It returns the exceptions.
func retainQueues(all *registry.Map[uint32, Queue], wanted map[uint32]bool) (waited []uint32) {
	all.Retain(func(id uint32, q *Queue) bool {
		if !wanted[id] && q.count.Load() != 0 {
			waited = append(waited, id)
			return true
		}
		return wanted[id]
	})
	return waited
}

// forget removes everything in left that is not wanted.
func (r *Registry) forget(left, wanted *numbers) {
	r.ClientLimits.Forget(left.farms, wanted.farms)
	r.Loads.Forget(left.backends, wanted.backends)
	r.States.Forget(left.services, wanted.services)
	r.Spent.Forget(left.services, wanted.services)
	r.Rates.Forget(left.rates, wanted.rates)
	r.Sessions.Forget(left.keeping, wanted.keeping)
	for of, backends := range wanted.cutOff {
		if k := r.Sessions.Has(of); k != nil {
			for _, id := range backends {
				k.DropBackend(id)
			}
		}
	}
	r.waited = forgetQueues(&r.Queues, r.waited, left.services, wanted.services)
	r.waitedAt = forgetQueues(&r.OwnQueues, r.waitedAt, left.backends, wanted.backends)
}

// forgetQueues is retainQueues for the queues in left and those kept for their waiters before.
func forgetQueues(all *registry.Map[uint32, Queue], before []uint32, left, wanted map[uint32]bool) (waited []uint32) {
	for _, id := range slices.AppendSeq(before, maps.Keys(left)) {
		switch q := all.Has(id); {
		case q == nil || wanted[id]:
		case q.count.Load() != 0:
			waited = append(waited, id)
		default:
			all.Drop(id)
		}
	}
	return waited
}
