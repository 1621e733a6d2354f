package eventlog_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/eventlog"
	"github.com/sluicelb/sluice/mgmt/farmstate"
	"github.com/sluicelb/sluice/mgmt/store"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// shop is a farm with a service of two backends.
func shop() *farm.Config {
	backend := func(id uint32) farm.Backend {
		host := fmt.Sprint("10.0.0.", id)
		return farm.Backend{ID: id, Slot: id, Host: host, Addr: netip.MustParseAddr(host), Port: 80}
	}
	return &farm.Config{Farms: []farm.Farm{{ID: 7, Name: "shop", Profile: farm.ProfileHTTP,
		HTTP: &farm.HTTP{Services: []farm.Service{{ID: 3, Name: "web", Backends: []farm.Backend{backend(1), backend(2)}}}}}}}
}

// house holds the states for a test.
type house struct {
	cfg    *farm.Config
	states eventlog.States
	health map[uint32]farm.Status
	since  map[uint32]time.Time
	awaits map[uint32]bool
	status farm.Status
	mark   int
	now    time.Time
}

func newHouse() *house {
	return &house{
		cfg: shop(), health: map[uint32]farm.Status{}, since: map[uint32]time.Time{}, awaits: map[uint32]bool{},
		status: farm.StatusUp, now: t0,
	}
}

// look calls Look two seconds later, with a change.
func (h *house) look() []eventlog.Event {
	h.mark++
	return h.again()
}

func (h *house) again() []eventlog.Event {
	h.now = h.now.Add(2 * time.Second)
	return h.states.Look(h.cfg, h.mark, h.now, eventlog.Known{
		Backend: func(g farm.Group, k int) farm.Status {
			return farmstate.In(g, k, func(id uint32) farm.Status { return h.health[id] })
		},
		Awaits: func(g farm.Group, k int) bool {
			return farmstate.Awaits(func(id uint32) bool { return h.awaits[id] }).Of(g, k,
				func(id uint32) farm.Status { return h.health[id] })
		},
		Why:   func(uint32) string { return "fails check alive: refused" },
		Since: func(id uint32) time.Time { return h.since[id] },
		Farm:  func(*farm.Farm) (farm.Status, string) { return h.status, "no backend is up" },
	})
}

func eventLines(list []eventlog.Event) string {
	var out []string
	for _, e := range list {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %v %s %s %s", e.Kind, e.Severity, e.Farms, e.Service, e.Backend, e.Text)))
	}
	return strings.Join(out, "\n")
}

func want(t *testing.T, what string, list []eventlog.Event, want string) {
	t.Helper()
	if got := eventLines(list); got != want {
		t.Errorf("%s:\n%s\nwant\n%s", what, got, want)
	}
}

func TestChangesDuringARestartAreEvents(t *testing.T) {
	h := newHouse()
	backends := &h.cfg.Farms[0].HTTP.Services[0].Backends
	*backends = append(*backends, farm.Backend{ID: 3, Host: "10.0.0.3", Addr: netip.MustParseAddr("10.0.0.3"), Port: 80},
		farm.Backend{ID: 4, Host: "10.0.0.4", Addr: netip.MustParseAddr("10.0.0.4"), Port: 80})
	h.health[3] = farm.StatusDown // nobody knows for how long
	h.health[4] = farm.StatusDown // it was added after the restart
	h.states.Resume(farmstate.Earlier{1: farm.StatusUp, 2: farm.StatusDown, 3: farm.StatusUndefined},
		map[uint32]farm.Status{7: farm.StatusCritical})
	h.health[1], h.health[2], h.status = farm.StatusDown, farm.StatusUp, farm.StatusCritical
	list := h.look()
	want(t, "the first look", list, "health warning [7] web 0 (10.0.0.1:80) is down: it fails check alive: refused\nhealth info [7] web 1 (10.0.0.2:80) is up again\nhealth warning [7] web 3 (10.0.0.4:80) is down: it fails check alive: refused")
	want(t, "the second look", h.look(), "")
	h.health[3] = farm.StatusUp
	want(t, "the third look", h.look(), "health info [7] web 2 (10.0.0.3:80) is up again")
}

func TestChangesOfHealthAreEvents(t *testing.T) {
	h := newHouse()
	h.health[2] = farm.StatusDown
	want(t, "the first look", h.look(), "")
	h.health[1], h.status = farm.StatusDown, farm.StatusCritical
	h.since[1] = h.now.Add(time.Second)
	list := h.look()
	want(t, "down", list, "health warning [7] web 0 (10.0.0.1:80) is down: it fails check alive: refused\nhealth error [7]   the farm is critical: no backend is up")
	if !list[0].Time.Equal(h.since[1]) || !list[1].Time.Equal(h.now) || list[0].Farm != "shop" {
		t.Errorf("%+v", list)
	}
	h.health[1], h.status = farm.StatusUp, farm.StatusProblem
	want(t, "up", h.look(), "health info [7] web 0 (10.0.0.1:80) is up again\nhealth warning [7]   the farm has a problem: no backend is up")
	h.health[1], h.health[2] = farm.StatusUndefined, farm.StatusUp
	want(t, "undefined is no change", h.look(), "health info [7] web 1 (10.0.0.2:80) is up again")
}

// A status that is a noun or a verb is no adjective: the text is a sentence.
func TestTheStatusOfAFarmIsASentence(t *testing.T) {
	h := newHouse()
	h.look()
	for _, c := range []struct {
		status farm.Status
		want   string
	}{
		{farm.StatusProblem, "warning [7]   the farm has a problem"},
		{farm.StatusNeededRestart, "warning [7]   the farm needs a restart"},
		{farm.StatusMaintenance, "info [7]   the farm is in maintenance"},
		{farm.StatusDown, "error [7]   the farm is down"},
		{farm.StatusUp, "info [7]   the farm is up"},
	} {
		h.status = c.status
		if got := eventLines(h.look()); !strings.HasPrefix(got, "health "+c.want) {
			t.Errorf("%s: %s", c.status, got)
		}
	}
}

func TestAnOlderChangeHasTheTimeOfTheLook(t *testing.T) {
	h := newHouse()
	h.look()
	h.health[1], h.since[1] = farm.StatusDown, t0 // an older time, of another state
	if list := h.look(); !list[0].Time.Equal(h.now) {
		t.Errorf("%+v", list)
	}
}

func TestUnchangedStateIsNotQueried(t *testing.T) {
	h := newHouse()
	h.look()
	h.health[1] = farm.StatusDown
	want(t, "the same mark", h.again(), "")
	if n := testing.AllocsPerRun(10, func() { h.states.Look(h.cfg, 1, h.now, eventlog.Known{}) }); n > 1 {
		t.Errorf("%v allocations", n)
	}
}

func TestMaintenanceIsNotAHealthChange(t *testing.T) {
	h := newHouse()
	h.look()
	h.cfg = h.cfg.Clone()
	h.cfg.Farms[0].HTTP.Services[0].Backends[0].Maintenance = farm.MaintenanceDrain
	h.health[1] = farm.StatusDown
	want(t, "taken out", h.look(), "")
	h.cfg = shop()
	h.health[1] = farm.StatusUp
	want(t, "back", h.look(), "")
	h.cfg = shop()
	h.cfg.Farms[0].Stopped, h.health[1] = true, farm.StatusDown
	want(t, "stopped", h.look(), "")
}

func TestFlappingBackendEvictsNoOtherEvent(t *testing.T) {
	h := newHouse()
	h.look()
	n := 0
	for i := range 100 {
		h.health[1] = []farm.Status{farm.StatusDown, farm.StatusUp}[i%2]
		list := h.look()
		if n += len(list); len(list) > 0 && n == 30 && !strings.Contains(list[0].Text, "changed 30 times") {
			t.Errorf("%+v", list)
		}
	}
	if n != 30 {
		t.Errorf("%d events", n)
	}
	h.now = h.now.Add(time.Hour)
	h.health[1] = farm.StatusDown
	if list := h.look(); len(list) != 1 {
		t.Errorf("an hour later: %+v", list)
	}
}

func TestFlappingFarmEvictsNoOtherEvent(t *testing.T) {
	h := newHouse()
	h.look()
	n := 0
	for i := range 100 {
		h.status = []farm.Status{farm.StatusCritical, farm.StatusUp}[i%2]
		list := h.look()
		if n += len(list); len(list) > 0 && (n == 30) != strings.Contains(list[0].Text, "changed 30 times") {
			t.Errorf("event %d: %+v", n, list)
		}
	}
	h.health[1] = farm.StatusDown
	if list := h.look(); n != 30 || len(list) != 1 {
		t.Errorf("%d events, and of its backend %+v", n, list)
	}
	h.now = h.now.Add(time.Hour)
	h.status = farm.StatusCritical
	if list := h.look(); len(list) != 1 {
		t.Errorf("an hour later: %+v", list)
	}
}

func TestRecoveryIsRecordedWithTheFirstResult(t *testing.T) {
	h := newHouse()
	h.look()
	h.health[1], h.status = farm.StatusDown, farm.StatusCritical
	const down = "health warning [7] web 0 (10.0.0.1:80) is down: it fails check alive: refused\n" +
		"health error [7]   the farm is critical: no backend is up"
	want(t, "down", h.look(), down)
	h.health[1], h.awaits[1], h.status = farm.StatusUndefined, true, farm.StatusUp
	want(t, "awaited", h.look(), "")
	h.health[1], h.awaits[1], h.status = farm.StatusDown, false, farm.StatusCritical
	want(t, "down as before", h.look(), "")
	h.health[1], h.awaits[1], h.status = farm.StatusUndefined, true, farm.StatusUp
	want(t, "awaited again", h.look(), "")
	h.health[1], h.awaits[1] = farm.StatusUp, false
	const up = "health info [7] web 0 (10.0.0.1:80) is up again\nhealth info [7]   the farm is up: no backend is up"
	want(t, "up", h.look(), up)
}

func TestUnknownEarlierHealthWaitsForAResult(t *testing.T) {
	h := newHouse()
	h.states.Resume(farmstate.Earlier{1: farm.StatusUndefined, 2: farm.StatusUndefined}, nil)
	h.awaits[1] = true
	want(t, "first", h.look(), "")
	h.awaits[1], h.health[1], h.health[2] = false, farm.StatusDown, farm.StatusDown
	want(t, "down", h.look(), "health warning [7] web 1 (10.0.0.2:80) is down: it fails check alive: refused")
	h.health[1] = farm.StatusUp
	want(t, "up", h.look(), "health info [7] web 0 (10.0.0.1:80) is up again")
}

func TestFarmsThatChangedDuringARestartAreEvents(t *testing.T) {
	const is = "health error [7]   the farm is down: no backend is up"
	for name, c := range map[string]struct {
		before  map[uint32]farm.Status
		status  farm.Status
		stopped bool
		want    string
	}{
		"fell":            {map[uint32]farm.Status{7: farm.StatusUp}, farm.StatusDown, false, is},
		"down before":     {map[uint32]farm.Status{7: farm.StatusDown}, farm.StatusDown, false, ""},
		"unknown":         {nil, farm.StatusDown, false, is},
		"unknown problem": {nil, farm.StatusProblem, false, ""},
		"stopped":         {map[uint32]farm.Status{7: farm.StatusUp}, farm.StatusDown, true, ""},
		"restarts":        {map[uint32]farm.Status{7: farm.StatusUp}, farm.StatusNeededRestart, false, ""},
		"well":            {map[uint32]farm.Status{7: farm.StatusUp}, farm.StatusUp, false, ""},
	} {
		h := newHouse()
		h.states.Resume(farmstate.Earlier{1: farm.StatusUp, 2: farm.StatusUp}, c.before)
		h.status, h.cfg.Farms[0].Stopped = c.status, c.stopped
		want(t, name, h.look(), c.want)
		if h.status = farm.StatusUp; c.status == farm.StatusNeededRestart {
			want(t, name+", then up", h.look(), "")
		}
	}
}

// A farm without backends is down all the time. Its status is in no record of before the
// restart, or in an old one of the time when it had backends.
func TestRestartRecordsNoFarmWithoutBackends(t *testing.T) {
	for name, before := range map[string]map[uint32]farm.Status{"unknown": nil, "old": {7: farm.StatusUp}} {
		for _, status := range []farm.Status{farm.StatusCritical, farm.StatusDown} {
			h := newHouse()
			list := h.cfg.Farms[0].HTTP.Services[0].Backends
			h.cfg.Farms[0].HTTP.Services[0].Backends = nil
			h.states.Resume(farmstate.Earlier{}, before)
			h.status = status
			want(t, name, h.look(), "")
			want(t, name+", again", h.look(), "")
			h.cfg = shop()
			h.cfg.Farms[0].HTTP.Services[0].Backends = list
			want(t, name+", with backends", h.look(), "")
			h.status = farm.StatusUp
			want(t, name+", up", h.look(), "health info [7]   the farm is up: no backend is up")
		}
	}
}

func TestRevisionEventNamesChangedFarms(t *testing.T) {
	old, now := shop(), shop()
	old.Farms = append(old.Farms, farm.Farm{ID: 9, Name: "gone"}, farm.Farm{ID: 8, Name: "same"})
	now.Farms = append(now.Farms, farm.Farm{ID: 8, Name: "same"}, farm.Farm{ID: 10, Name: "new"})
	now.Farms[0].HTTP.Services[0].Backends[0].Maintenance = farm.MaintenanceCut
	rev := store.Revision{Number: 12, Time: t0, Author: "ann"}
	list := eventlog.Changed(old, now, rev)
	want(t, "events", list, "revision  [7 10 9]\nmaintenance warning [7] web 0 (10.0.0.1:80) was taken out for maintenance (cut)\ndeleted  [9]")
	if list[0].Revision != 12 || list[1].Detail != "by ann" || !list[1].Time.Equal(t0) || list[2].Farm != "gone" {
		t.Errorf("%+v", list)
	}
	want(t, "back", eventlog.Changed(now, old, rev)[1:2], "maintenance info [7] web 0 (10.0.0.1:80) is used again after maintenance")
	renamed := shop()
	renamed.Farms[0].Name = "store"
	if list := eventlog.Changed(shop(), renamed, rev); eventLines(list) != "revision  [7]" || list[0].Farm != "store" {
		t.Errorf("%+v", list)
	}
	want(t, "settings of the machine", eventlog.Changed(shop(), shop(), rev), "revision  []")
}
