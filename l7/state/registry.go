package state

import (
	"maps"
	"slices"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/lasting"
	"github.com/sluicelb/sluice/core/ratelimit"
	"github.com/sluicelb/sluice/core/session"
)

// Registry holds what outlives tables, by stable number.
type Registry struct {
	Loads        lasting.Map[uint32, balance.Load]  // by backend
	States       lasting.Map[uint32, balance.State] // turns, by service
	Sessions     lasting.Map[SessionsOf, session.Kept]
	ClientLimits lasting.Map[uint32, ClientLimit] // by farm
	Rates        lasting.Map[RateID, ratelimit.Table]
	Queues       lasting.Map[uint32, Queue]   // by service
	Spent        lasting.Map[uint32, []Spent] // by service, one of each loop
	memory       *session.Memory              // where the sessions lie; nil: in the process's own

	known    []farm.Farm // those of the configuration in use, which nobody changes
	compiled int         // tables since it is
	waited   []uint32    // services that are gone, in whose queues somebody was
}

// New returns a registry for engines with that many loops.
func New(loops int) *Registry {
	r := &Registry{}
	r.Sessions.Make = func(of SessionsOf) *session.Kept { return session.NewKept(r.memory, of.Owner()) }
	r.Sessions.Gone = func(k *session.Kept) { k.Release() }
	r.Rates.Make = func(RateID) *ratelimit.Table { return ratelimit.NewTable() }
	r.Spent.Make = func(uint32) *[]Spent { s := make([]Spent, loops); return &s }
	return r
}

// KeepIn lets sessions lie in m, with those of an earlier engine. It comes before
// the first table.
func (r *Registry) KeepIn(m *session.Memory) { r.memory = m }

// Open lets all who wait for a slot try again: its bound may have changed.
func (r *Registry) Open() {
	r.ClientLimits.Each(func(p *ClientLimit) { p.wake(int(p.queue.Load())) })
}

// Stir lets the first of every queue look again: there may be room, or none to
// wait for, though no exchange ended.
func (r *Registry) Stir() { r.Queues.Each((*Queue).Released) }

// Compiling tells that values may be asked for that no configuration comes to keep: a
// table is being made.
func (r *Registry) Compiling() { r.compiled++ }

// Retain forgets the state of backends and services that are gone; those of a
// stopped farm are not. Exchanges under way keep what they hold.
func (r *Registry) Retain(cfg *farm.Config) {
	// After one table was made, and is in use, only what farms had that went or changed
	// can be gone.
	followed := r.compiled == 1 && r.known != nil
	r.compiled = 0
	before := r.known
	if r.known = cfg.Farms; r.known == nil {
		r.known = []farm.Farm{}
	}
	wanted, left := numbers{}, numbers{}
	at := farm.Align(before, cfg.Farms)
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

// numbers are those of farms, and of what they have.
type numbers struct {
	farms, services, backends map[uint32]bool
	keeping                   map[SessionsOf]bool
	rates                     map[RateID]bool
	cutOff                    map[SessionsOf][]uint32 // of farms that are not served: no table tells what was cut since
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

// retain forgets all but what is wanted.
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
	r.waited = nil
	r.Queues.Retain(func(service uint32, q *Queue) bool {
		if !wanted.services[service] && q.count.Load() != 0 { // those who wait are still to be stirred
			r.waited = append(r.waited, service)
			return true
		}
		return wanted.services[service]
	})
}

// forget forgets what is left and not wanted.
func (r *Registry) forget(left, wanted *numbers) {
	drop(&r.ClientLimits, left.farms, wanted.farms)
	drop(&r.Loads, left.backends, wanted.backends)
	drop(&r.States, left.services, wanted.services)
	drop(&r.Spent, left.services, wanted.services)
	drop(&r.Rates, left.rates, wanted.rates)
	drop(&r.Sessions, left.keeping, wanted.keeping)
	for of, backends := range wanted.cutOff {
		if k := r.Sessions.Has(of); k != nil {
			for _, id := range backends {
				k.DropBackend(id)
			}
		}
	}
	services := slices.AppendSeq(r.waited, maps.Keys(left.services))
	r.waited = nil
	for _, id := range services {
		switch q := r.Queues.Has(id); {
		case q == nil || wanted.services[id]:
		case q.count.Load() != 0:
			r.waited = append(r.waited, id)
		default:
			r.Queues.Drop(id)
		}
	}
}

func drop[K comparable, V any](from *lasting.Map[K, V], left, wanted map[K]bool) {
	for id := range left {
		if !wanted[id] {
			from.Drop(id)
		}
	}
}
