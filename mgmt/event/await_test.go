package event_test

import (
	"maps"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/mgmt/farmstate"
)

// looking looks at farms and backends whose states a test sets.
type looking struct {
	cfg      *farm.Config
	health   map[uint32]farm.Status
	awaited  map[uint32]bool
	status   map[string]farm.Status
	version  uint64
	backends event.Backends
	farms    event.Farms
}

func newLooking(farms ...farm.Farm) *looking {
	return &looking{
		cfg: &farm.Config{Farms: farms}, health: map[uint32]farm.Status{}, awaited: map[uint32]bool{},
		status: map[string]farm.Status{},
	}
}

func (l *looking) is(id uint32, s farm.Status, awaited bool) {
	l.health[id], l.awaited[id] = s, awaited
}

func (l *looking) look(t *testing.T, when, want string) {
	t.Helper()
	l.version++
	known := event.Known{
		Health: func(id uint32) farm.Status { return l.health[id] },
		Awaits: func(id uint32) bool { return l.awaited[id] },
		Farm:   func(f *farm.Farm) (farm.Status, string) { return l.status[f.Name], "" },
	}
	got := kindsOf(append(l.farms.Look(l.cfg, l.version, known, at), l.backends.Look(l.cfg, l.version, known, at)...))
	if got != want {
		t.Errorf("%s: got %q, want %q", when, got, want)
	}
}

// A new check has no result at first. That is no recovery.
func TestRecoveryIsReportedWithTheFirstResult(t *testing.T) {
	l := newLooking(web(1, "a", false, backend(1, "10.0.0.1")))
	l.is(1, farm.StatusUp, false)
	l.status["a"] = farm.StatusUp
	l.look(t, "first", "")
	down := func(when, want string) {
		t.Helper()
		l.is(1, farm.StatusDown, false)
		l.status["a"] = farm.StatusCritical
		l.look(t, when, want)
	}
	await := func() {
		l.is(1, farm.StatusUndefined, true)
		l.status["a"] = farm.StatusUp
		l.look(t, "awaited", "")
	}
	down("down", "farm-status a, backend-down a")
	await()
	down("down as before", "")
	await()
	l.is(1, farm.StatusUp, false)
	l.look(t, "up", "farm-status a, backend-up a")
	await()
	down("down after it was up", "farm-status a, backend-down a")
	l.is(1, farm.StatusUndefined, false)
	l.status["a"] = farm.StatusUp
	l.look(t, "its check is gone: it is usable", "farm-status a, backend-up a")
}

func TestUnknownEarlierHealthWaitsForAResult(t *testing.T) {
	l := newLooking(web(1, "slow", false, backend(1, "10.0.0.1")), web(2, "unchecked", false, backend(2, "10.0.0.2")),
		web(3, "off", true, backend(3, "10.0.0.3")))
	l.status = map[string]farm.Status{"slow": farm.StatusUp, "unchecked": farm.StatusUp, "off": farm.StatusDown}
	earlier := farmstate.Earlier{1: farm.StatusUndefined, 2: farm.StatusUndefined, 3: farm.StatusUndefined}
	before := maps.Clone(earlier)
	l.backends.Resume(earlier)
	l.is(1, farm.StatusUndefined, true)
	l.is(2, farm.StatusUndefined, false)
	l.look(t, "first", "")
	l.look(t, "second", "")
	for id := range uint32(3) {
		l.is(id+1, farm.StatusDown, false)
	}
	l.look(t, "down", "backend-down unchecked")
	l.cfg = &farm.Config{Farms: []farm.Farm{l.cfg.Farms[0], l.cfg.Farms[1], web(3, "off", false, backend(3, "10.0.0.3"))}}
	l.look(t, "started", "farm-status off, backend-down off")
	l.is(1, farm.StatusUp, false)
	l.look(t, "up", "backend-up slow")
	l.is(1, farm.StatusDown, false)
	l.look(t, "down again", "backend-down slow")
	if !maps.Equal(earlier, before) {
		t.Errorf("others have %v now", earlier)
	}
}

func TestFarmsThatChangedDuringARestartAreReported(t *testing.T) {
	one := func(id uint32, name string, stopped bool) farm.Farm {
		return web(id, name, stopped, backend(id, "10.0.0.1"))
	}
	l := newLooking(one(1, "fell", false), one(2, "down", false), one(3, "rose", false), one(4, "new-down", false),
		one(5, "new-problem", false), one(6, "stopped", true), one(7, "awaits", false))
	l.status = map[string]farm.Status{"fell": farm.StatusDown, "down": farm.StatusDown, "rose": farm.StatusUp,
		"new-down":    farm.StatusDown,
		"new-problem": farm.StatusProblem, "stopped": farm.StatusDown, "awaits": farm.StatusUp}
	l.is(7, farm.StatusUndefined, true)
	l.farms.Resume(map[uint32]farm.Status{1: farm.StatusUp, 2: farm.StatusDown, 3: farm.StatusCritical, 6: farm.StatusUp,
		7: farm.StatusCritical, 99: farm.StatusUp})
	_, before := l.farms.Reported()
	l.look(t, "first", "farm-status fell, farm-status rose, farm-status new-down")
	list, changes := l.farms.Reported()
	want := map[uint32]farm.Status{1: farm.StatusDown, 2: farm.StatusDown, 3: farm.StatusUp, 4: farm.StatusDown,
		5: farm.StatusProblem, 6: farm.StatusUp, 7: farm.StatusCritical}
	if !maps.Equal(list, want) || changes == before {
		t.Errorf("%v, %d changes", list, changes)
	}
	l.look(t, "second", "")
	if _, again := l.farms.Reported(); again != changes {
		t.Error("a look without a change is a change")
	}
	l.is(7, farm.StatusUp, false)
	l.look(t, "the check has a result", "farm-status awaits")
	l.status["new-problem"] = farm.StatusUp
	l.look(t, "later", "farm-status new-problem")
	if _, again := l.farms.Reported(); again == changes {
		t.Error("changes were not counted")
	}
}

// The addresses of a name are backends of their own. The name was down without any.
func TestANameIsUpAgainWithAUsableAddress(t *testing.T) {
	name := farm.Backend{ID: 1, Host: "all.test", Port: 80, Resolve: farm.ResolveAll}
	part := backend(2, "10.0.0.2")
	part.Of, part.Resolve = 1, farm.ResolveAll
	l := newLooking(web(1, "a", false))
	l.status["a"] = farm.StatusUp
	l.look(t, "first", "")
	for _, awaited := range []bool{false, true} {
		l.cfg = &farm.Config{Farms: []farm.Farm{web(1, "a", false, name)}}
		l.look(t, "no address", "backend-down a")
		l.cfg = &farm.Config{Farms: []farm.Farm{web(1, "a", false, name, part)}}
		if l.is(2, farm.StatusUndefined, awaited); awaited {
			l.look(t, "an address", "")
			l.is(2, farm.StatusUp, false)
		}
		l.look(t, "a usable address", "backend-up a")
		l.look(t, "later", "")
	}
}
