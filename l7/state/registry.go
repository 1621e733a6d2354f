package state

import (
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

// size is how many farms, and services and backends of http farms, there are.
func size(cfg *farm.Config) (farms, services, backends int) {
	for i := range cfg.Farms {
		if h := cfg.Farms[i].HTTP; h != nil {
			services += len(h.Services)
			for k := range h.Services {
				backends += len(h.Services[k].Backends)
			}
		}
	}
	return len(cfg.Farms), services, backends
}

// Retain forgets the state of backends and services that are gone; those of a
// stopped farm are not. Exchanges under way keep what they hold.
func (r *Registry) Retain(cfg *farm.Config) {
	// As large as they get: growing them would take as long as filling them.
	nFarms, nServices, nBackends := size(cfg)
	farms, services, backends := make(map[uint32]bool, nFarms), make(map[uint32]bool, nServices), make(map[uint32]bool, nBackends)
	keeping, rates := make(map[SessionsOf]bool, nServices), make(map[RateID]bool, nServices)
	cutOff := map[SessionsOf][]uint32{} // of farms that are not served: no table tells what was cut since
	for i := range cfg.Farms {
		farms[cfg.Farms[i].ID] = true
		if cfg.Farms[i].HTTP == nil {
			continue
		}
		list := cfg.Farms[i].HTTP.Services
		for n := range list {
			s := &list[n]
			services[s.ID] = true
			keeping[SessionsFor(s)] = s.EffectivePersistence() != farm.PersistNone
			rates[RateFor(s)] = true
			for k := range s.Backends {
				b := &s.Backends[k]
				backends[b.ID] = true
				if cfg.Farms[i].Stopped && b.Maintenance == farm.MaintenanceCut {
					cutOff[SessionsFor(s)] = append(cutOff[SessionsFor(s)], b.ID)
				}
			}
		}
	}
	r.ClientLimits.RetainIn(farms)
	r.Loads.RetainIn(backends)
	r.States.RetainIn(services)
	r.Spent.RetainIn(services)
	r.Sessions.Retain(func(of SessionsOf, k *session.Kept) bool {
		for _, id := range cutOff[of] {
			k.DropBackend(id)
		}
		return keeping[of]
	})
	r.Rates.RetainIn(rates)
	r.Queues.Retain(func(service uint32, q *Queue) bool {
		return services[service] || q.count.Load() != 0 // those who wait are still to be stirred
	})
}
