package state_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/l7/state"
)

// has checks that, among the objects of the test, the registry holds state for exactly the
// configured farms, services and backends.
func has(t *rapid.T, r *state.Registry, cfg *farm.Config) {
	farms, services, backends := map[uint32]bool{}, map[uint32]*farm.Service{}, map[uint32]bool{}
	for i := range cfg.Farms {
		farms[cfg.Farms[i].ID] = true
		for s := range cfg.Farms[i].HTTP.Services {
			one := &cfg.Farms[i].HTTP.Services[s]
			services[one.ID] = one
			for b := range one.Backends {
				backends[one.Backends[b].ID] = true
			}
		}
	}
	for id := range uint32(40) {
		kept, limited := false, false
		for _, by := range []farm.Persistence{farm.PersistIP, farm.PersistCookie} {
			s := &farm.Service{ID: id, Persistence: by, SessionID: "x"}
			kept = kept || r.Sessions.Has(state.SessionsFor(s)) != nil
		}
		s := services[id]
		limited = r.Rates.Has(state.RateFor(&farm.Service{ID: id, RateLimit: &farm.RateLimit{Requests: 5}})) != nil
		if (r.ClientLimits.Has(id) != nil) != farms[id] || (r.Loads.Has(id) != nil) != backends[id] || (r.OwnQueues.Has(id) != nil) != backends[id] || (r.States.Has(id) != nil) != (s != nil) ||
			(r.Spent.Has(id) != nil) != (s != nil) || (r.Queues.Has(id) != nil) != (s != nil) || kept != (s != nil && s.EffectivePersistence() != farm.PersistNone) || limited != (s != nil) {
			t.Fatalf("the state of number %d does not match the configuration: %+v", id, cfg)
		}
	}
}

// compile requests all state used by the tables of a configuration.
func compile(r *state.Registry, cfg *farm.Config) {
	r.Compiling()
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		r.ClientLimits.Of(f.ID)
		for s := range f.HTTP.Services {
			one := &f.HTTP.Services[s]
			r.States.Of(one.ID)
			r.Spent.Of(one.ID)
			r.Queues.Of(one.ID)
			r.Rates.Of(state.RateFor(one))
			if one.EffectivePersistence() != farm.PersistNone {
				r.Sessions.Of(state.SessionsFor(one))
			}
			for b := range one.Backends {
				r.Loads.Of(one.Backends[b].ID)
				r.OwnQueues.Of(one.Backends[b].ID)
			}
		}
	}
}

// anyFarm is a random farm of a number; its services and backends have derived numbers.
func anyFarm(t *rapid.T, id uint32) farm.Farm {
	f := farm.Farm{ID: id, Profile: farm.ProfileHTTP, Stopped: rapid.Bool().Draw(t, "stopped"), HTTP: &farm.HTTP{}}
	for i := range uint32(rapid.IntRange(0, 2).Draw(t, "services")) {
		s := farm.Service{ID: id*10 + i, Persistence: rapid.SampledFrom([]farm.Persistence{farm.PersistNone, farm.PersistIP, farm.PersistCookie}).Draw(t, "persistence"), SessionID: "x", RateLimit: &farm.RateLimit{Requests: 5}}
		for k := range uint32(rapid.IntRange(0, 3).Draw(t, "backends")) {
			s.Backends = append(s.Backends, farm.Backend{ID: id*10 + i*4 + k})
		}
		f.HTTP.Services = append(f.HTTP.Services, s)
	}
	return f
}

// For any sequence of changes, including compilations that were refused.
func TestOnlyUnusedStateIsDropped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, cfg := state.New(1), &farm.Config{}
		for range rapid.IntRange(1, 8).Draw(t, "changes") {
			next := &farm.Config{}
			for id := range uint32(3) {
				switch rapid.IntRange(0, 3).Draw(t, "what") {
				case 0: // removed
				case 1:
					next.Farms = append(next.Farms, anyFarm(t, id+1))
				default: // kept, if it exists
					for _, f := range cfg.Farms {
						if f.ID == id+1 {
							next.Farms = append(next.Farms, f)
						}
					}
				}
			}
			if rapid.IntRange(0, 3).Draw(t, "refused") == 0 {
				compile(r, &farm.Config{Farms: []farm.Farm{anyFarm(t, 1), anyFarm(t, 2), anyFarm(t, 3)}})
			}
			compile(r, next)
			r.Retain(next)
			has(t, r, next)
			cfg = next
		}
	})
}

// follow moves a registry to the next configuration by one table.
func follow(r *state.Registry, cfg *farm.Config) {
	r.Compiling()
	r.Retain(cfg)
}

func TestStoppedFarmDropsSessionsOfALaterCut(t *testing.T) {
	r, f := state.New(1), shop()
	f.Stopped = true
	follow(r, &farm.Config{Farms: []farm.Farm{f}})
	kept := r.Sessions.Of(state.SessionsFor(&f.HTTP.Services[0]))
	kept.Put([]byte("a"), 3, session.Now())
	kept.Put([]byte("b"), 4, session.Now())
	next := f.Clone()
	next.HTTP.Services[0].Backends[0].Maintenance = farm.MaintenanceCut
	follow(r, &farm.Config{Farms: []farm.Farm{next}})
	_, cut := kept.Peek([]byte("a"), session.Now(), time.Minute)
	_, other := kept.Peek([]byte("b"), session.Now(), time.Minute)
	if cut || !other {
		t.Errorf("sessions of the cut backend exist: %t, of the other: %t", cut, other)
	}
}

func TestEmptyQueuesOfRemovedOwnersAreDropped(t *testing.T) {
	r, f := state.New(1), shop()
	follow(r, &farm.Config{Farms: []farm.Farm{f}})
	q, own := r.Queues.Of(2), r.OwnQueues.Of(3)
	q.Join(&state.Waiting{Call: func() {}}, 1, false)
	own.Join(&state.Waiting{Call: func() {}}, 1, false)
	for range 2 {
		if follow(r, &farm.Config{}); r.Queues.Has(2) != q || r.OwnQueues.Has(3) != own {
			t.Fatal("a queue with waiters was removed")
		}
	}
	r.Stir()
	own.Done()
	if follow(r, &farm.Config{}); r.Queues.Has(2) != q || r.OwnQueues.Has(3) != nil {
		t.Error("an unused queue of a backend was kept, or the one of its service removed")
	}
	q.Done()
	if follow(r, &farm.Config{}); r.Queues.Has(2) != nil {
		t.Error("an unused queue was kept")
	}
}
