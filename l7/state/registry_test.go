package state_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/ratelimit"
	"github.com/sluicelb/sluice/core/registry"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/l7/state"
)

// shop returns a farm with one service of two backends.
func shop() farm.Farm {
	return farm.Farm{ID: 1, Profile: farm.ProfileHTTP, HTTP: &farm.HTTP{Services: []farm.Service{{
		ID: 2, Persistence: farm.PersistIP, RateLimit: &farm.RateLimit{Requests: 5},
		Backends: []farm.Backend{{ID: 3}, {ID: 4}},
	}}}}
}

// use uses every kind of state of the farm and reports which state existed.
func use(r *state.Registry, f farm.Farm) (slots, load, spent, queue bool, sessions int, limited bool) {
	s := &f.HTTP.Services[0]
	p, l, q := r.ClientLimits.Of(f.ID), r.Loads.Of(3), r.Queues.Of(s.ID)
	sp := &(*r.Spent.Of(s.ID))[1]
	kept, rates := r.Sessions.Of(state.SessionsFor(s)), r.Rates.Of(state.RateFor(s))
	slots, load, queue, sessions = p.Taken() > 0, l.Active.Load() > 0, q.Len() > 0, kept.Len()
	spent = retries(sp, start, 10) < 10
	limited = rates.Take(rates.Address(netip.IPv4Unspecified()), start, state.LimitOf(s)) > 0
	p.Occupy()
	l.Active.Add(1)
	kept.Put([]byte("a"), 3, session.Now())
	kept.PutStatic([]byte("b"), 4, session.Now())
	for range 10 {
		rates.Take(rates.Address(netip.IPv4Unspecified()), start, state.LimitOf(s))
	}
	return slots, load, spent, queue, sessions, limited
}

func TestConfiguredStateOutlivesTables(t *testing.T) {
	r, f := state.New(2), shop()
	use(r, f)
	turns := r.States.Of(2)
	for range 2 { // running, then stopped
		r.Retain(&farm.Config{Farms: []farm.Farm{{ID: 9}, f}})
		f.Stopped = true
	}
	slots, load, spent, _, sessions, limited := use(r, f)
	if !slots || !load || !spent || sessions != 2 || !limited || turns != r.States.Of(2) {
		t.Errorf("slots %t, load %t, budget %t, %d sessions, limit %t, turns %t", slots, load, spent, sessions, limited, turns == r.States.Of(2))
	}
}

func TestRemovedStateIsDropped(t *testing.T) {
	r, f := state.New(2), shop()
	use(r, f)
	turns := r.States.Of(2)
	r.Retain(&farm.Config{})
	slots, load, spent, _, sessions, limited := use(r, f)
	if slots || load || spent || sessions != 0 || limited || turns == r.States.Of(2) {
		t.Errorf("slots %t, load %t, budget %t, %d sessions, limit %t, turns %t", slots, load, spent, sessions, limited, turns == r.States.Of(2))
	}
}

func TestChangedSettingsResetSessionsAndLimits(t *testing.T) {
	for name, edit := range map[string]func(*farm.Service){
		"another key":   func(s *farm.Service) { s.Persistence = farm.PersistCookie },
		"another name":  func(s *farm.Service) { s.Persistence, s.SessionID = farm.PersistCookie, "other" },
		"none any more": func(s *farm.Service) { s.Persistence = farm.PersistNone },
	} {
		r, f := state.New(1), shop()
		before := r.Sessions.Of(state.SessionsFor(&f.HTTP.Services[0]))
		before.Put([]byte("a"), 3, session.Now())
		s := &f.HTTP.Services[0]
		edit(s)
		r.Retain(&farm.Config{Farms: []farm.Farm{f}})
		if n := r.Sessions.Of(state.SessionsFor(s)).Len(); n != 0 {
			t.Errorf("%s: %d sessions", name, n)
		}
		f = shop()
		if n := r.Sessions.Of(state.SessionsFor(&f.HTTP.Services[0])).Len(); n != 0 {
			t.Errorf("%s: %d sessions exist", name, n)
		}
	}
	r, f := state.New(1), shop()
	s := &f.HTTP.Services[0]
	before := r.Rates.Of(state.RateFor(s))
	if s.RateLimit.Key = farm.RateKeyPath; r.Rates.Of(state.RateFor(s)) != before {
		t.Error("a limit with the same numbers was reset")
	}
	if s.RateLimit.Burst = 7; r.Rates.Of(state.RateFor(s)) == before {
		t.Error("a limit with other numbers was not reset")
	}
}

// While a farm is stopped, no table reports that a backend of it was cut.
func TestCutInAStoppedFarmDropsSessions(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		r, f := state.New(1), shop()
		kept := r.Sessions.Of(state.SessionsFor(&f.HTTP.Services[0]))
		kept.Put([]byte("a"), 3, session.Now())
		kept.Put([]byte("b"), 4, session.Now())
		f.Stopped, f.HTTP.Services[0].Backends[0].Maintenance = stopped, farm.MaintenanceCut
		f.HTTP.Services[0].Backends[1].Maintenance = farm.MaintenanceDrain
		r.Retain(&farm.Config{Farms: []farm.Farm{f}})
		_, cut := kept.Peek([]byte("a"), session.Now(), time.Minute)
		_, drained := kept.Peek([]byte("b"), session.Now(), time.Minute)
		if cut == stopped || !drained {
			t.Errorf("stopped %t: sessions of the cut backend are kept: %t, of the drained: %t", stopped, cut, drained)
		}
	}
}

func TestQueueIsKeptWhileItHasWaiters(t *testing.T) {
	for name, queues := range map[string]func(r *state.Registry) *registry.Map[uint32, state.Queue]{
		"service": func(r *state.Registry) *registry.Map[uint32, state.Queue] { return &r.Queues },
		"backend": func(r *state.Registry) *registry.Map[uint32, state.Queue] { return &r.OwnQueues },
	} {
		r := state.New(1)
		q, called := queues(r).Of(2), false
		q.Join(&state.Waiting{Call: func() { called = true }}, 1, false)
		r.Retain(&farm.Config{})
		if r.Stir(); !called {
			t.Errorf("a waiter of a deleted %s is not woken", name)
		}
		q.Done()
		if r.Retain(&farm.Config{}); queues(r).Of(2) == q {
			t.Errorf("an unused queue of a %s was kept", name)
		}
	}
}

func TestSessionsOutliveTheEngine(t *testing.T) {
	f, err := shm.Shared("sessions-test", session.MemorySize)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mapped, err := shm.MapShared(f, true)
	if err != nil {
		t.Fatal(err)
	}
	defer mapped.Close()
	service := &shop().HTTP.Services[0]
	engine := func() *state.Registry {
		m, err := session.OpenMemory(mapped.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		r := state.New(1)
		r.KeepIn(m)
		return r
	}
	for want, gone := range []bool{false, true, true} {
		r := engine()
		kept := r.Sessions.Of(state.SessionsFor(service))
		if n := kept.Len(); n != want%2 {
			t.Errorf("engine %d finds %d sessions, want %d", want, n, want%2)
		}
		kept.Put([]byte("a"), 3, session.Now())
		if gone {
			r.Retain(&farm.Config{}) // they are released
		}
	}
}

func TestOwnersOfSessionsDiffer(t *testing.T) {
	seen := map[uint64]bool{}
	for _, s := range []farm.Service{
		{ID: 1, Persistence: farm.PersistIP}, {ID: 2, Persistence: farm.PersistIP}, {ID: 1, Persistence: farm.PersistCookie, SessionID: "a"},
		{ID: 1, Persistence: farm.PersistCookie, SessionID: "b"}, {ID: 1, Persistence: farm.PersistHeader, SessionID: "a"},
	} {
		if o := state.SessionsFor(&s).Owner(); seen[o] {
			t.Errorf("%+v has the sessions of another", s)
		} else {
			seen[o] = true
		}
	}
}

func TestALimitHasItsPeriodAndBurst(t *testing.T) {
	for _, c := range []struct {
		limit *farm.RateLimit
		want  ratelimit.Limit
	}{
		{nil, ratelimit.Limit{}}, {&farm.RateLimit{Period: 60, Burst: 9}, ratelimit.Limit{}},
		{&farm.RateLimit{Requests: 6, Period: 60, Burst: 9}, ratelimit.New(6, time.Minute, 9)},
		{&farm.RateLimit{Requests: 6}, ratelimit.New(6, time.Second, 6)},
	} {
		if got := state.LimitOf(&farm.Service{RateLimit: c.limit}); got != c.want {
			t.Errorf("%+v is %+v, want %+v", c.limit, got, c.want)
		}
	}
}

func TestTheClockOfAllLoopsIsPositiveAndRuns(t *testing.T) {
	now := time.Now()
	first, second := state.Clock(now), state.Clock(now.Add(time.Minute))
	if first <= 0 || second-first != int64(time.Minute) {
		t.Errorf("%d, a minute later %d", first, second)
	}
}
