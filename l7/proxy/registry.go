package proxy

import (
	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/lasting"
	"github.com/sluicelb/sluice/core/ratelimit"
	"github.com/sluicelb/sluice/core/session"
)

// registry holds what outlives tables, by stable number.
type registry struct {
	loads  lasting.Map[uint32, balance.Load]  // by backend
	states lasting.Map[uint32, balance.State] // by service
	tables lasting.Map[sessionsOf, session.Kept]
	doors  lasting.Map[uint32, places] // by farm
	rates  lasting.Map[rateID, ratelimit.Table]
	queues lasting.Map[uint32, queue]   // by service
	spent  lasting.Map[uint32, []spent] // by service, one of each loop
	memory *session.Memory              // where the sessions lie; nil: in the process's own
}

func newRegistry(loops int) *registry {
	r := &registry{}
	r.tables.Make = func(of sessionsOf) *session.Kept { return session.NewKept(r.memory, of.owner()) }
	r.tables.Gone = func(k *session.Kept) { k.Release() }
	r.rates.Make = func(rateID) *ratelimit.Table { return ratelimit.NewTable() }
	r.spent.Make = func(uint32) *[]spent { s := make([]spent, loops); return &s }
	return r
}

// open lets all who wait for a place try again: its bound may have changed.
func (r *registry) open() {
	r.doors.Each(func(p *places) { p.wake(int(p.queue.Load())) })
}

// stir lets the first of every queue look again: there may be room, or none to
// wait for, though no exchange ended.
func (r *registry) stir() { r.queues.Each((*queue).released) }

// retain forgets the state of backends and services that are gone; those of a
// stopped farm are not. Exchanges under way keep what they hold.
func (r *registry) retain(cfg *farm.Config) {
	farms, services, backends := map[uint32]bool{}, map[uint32]bool{}, map[uint32]bool{}
	keeping, rates := map[sessionsOf]bool{}, map[rateID]bool{}
	cutOff := map[sessionsOf][]uint32{} // of farms that are not served: no table tells what was cut since
	for i := range cfg.Farms {
		farms[cfg.Farms[i].ID] = true
		if cfg.Farms[i].HTTP == nil {
			continue
		}
		for _, s := range cfg.Farms[i].HTTP.Services {
			services[s.ID] = true
			keeping[keptFor(&s)] = s.EffectivePersistence() != farm.PersistNone
			rates[rateID{s.ID, limitOf(&s)}] = true
			for _, b := range s.Backends {
				backends[b.ID] = true
				if cfg.Farms[i].Stopped && b.Maintenance == modeCut {
					cutOff[keptFor(&s)] = append(cutOff[keptFor(&s)], b.ID)
				}
			}
		}
	}
	r.doors.RetainIn(farms)
	r.loads.RetainIn(backends)
	r.states.RetainIn(services)
	r.spent.RetainIn(services)
	r.tables.Retain(func(of sessionsOf, k *session.Kept) bool {
		for _, id := range cutOff[of] {
			k.DropBackend(id)
		}
		return keeping[of]
	})
	r.rates.RetainIn(rates)
	r.queues.Retain(func(service uint32, q *queue) bool {
		return services[service] || q.count.Load() != 0 // those who wait are still to be stirred
	})
}
