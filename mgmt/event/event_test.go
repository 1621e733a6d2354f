package event_test

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/mgmt/farmstate"
	"github.com/sluicelb/sluice/mgmt/store"
)

var at = time.Unix(1, 0)

func web(id uint32, name string, stopped bool, backends ...farm.Backend) farm.Farm {
	return farm.Farm{ID: id, Name: name, Stopped: stopped, VIP: netip.MustParseAddr("192.0.2.1"), VPort: 80,
		HTTP: &farm.HTTP{Services: []farm.Service{{ID: id, Name: "s", Backends: backends}}}}
}

func backend(id uint32, host string) farm.Backend {
	b := farm.Backend{ID: id, Host: host, Port: 8080}
	b.Addr, _ = netip.ParseAddr(host)
	return b
}

func kindsOf(events []event.Event) string {
	var out []string
	for _, e := range events {
		name := ""
		for _, f := range e.Facts {
			if v, ok := strings.CutPrefix(f, "SLUICE_FARM="); ok {
				name = " " + v
			}
		}
		out = append(out, string(e.Kind)+name)
	}
	return strings.Join(out, ", ")
}

func TestChangeReportsStartedAndStoppedFarms(t *testing.T) {
	old := &farm.Config{Farms: []farm.Farm{web(1, "stays", false), web(2, "stopped", false), web(3, "started", true), web(4, "gone", false), web(5, "never", true), web(6, "old-name", false)}}
	now := &farm.Config{Farms: []farm.Farm{web(1, "stays", false), web(2, "stopped", true), web(3, "started", false), web(6, "new-name", false), web(7, "new", false), web(8, "off", true)}}
	events := event.Changed(old, now, store.Revision{Number: 7, Author: "root", Source: "cli", Comment: "a\x00b"}, at)
	if got := kindsOf(events); got != "revision-applied, farm-stop stopped, farm-stop gone, farm-start started, farm-start new" {
		t.Error(got)
	}
	if got := events[0].Facts; !slices.Equal(got, []string{"SLUICE_REVISION=7", "SLUICE_AUTHOR=root", "SLUICE_SOURCE=cli", "SLUICE_COMMENT=a b"}) {
		t.Errorf("%q", got)
	}
	if got := events[1].Facts; !slices.Equal(got, []string{"SLUICE_FARM=stopped", "SLUICE_PROFILE=http", "SLUICE_VIP=192.0.2.1", "SLUICE_VPORT=80"}) {
		t.Errorf("%q", got)
	}
}

func TestBackendsThatChangedDuringARestartAreReported(t *testing.T) {
	const up, down = farm.StatusUp, farm.StatusDown
	status := map[uint32]farm.Status{1: down, 2: up, 3: down, 4: up, 5: down}
	cfg := &farm.Config{Farms: []farm.Farm{web(1, "fell", false, backend(1, "10.0.0.1")), web(2, "rose", false, backend(2, "10.0.0.2")),
		web(3, "lies", false, backend(3, "10.0.0.3")), web(4, "stands", false, backend(4, "10.0.0.4")), web(5, "unknown", false, backend(5, "10.0.0.5"))}}
	cfg.Farms = append(cfg.Farms, web(7, "added", false, backend(7, "10.0.0.7")))
	status[7] = farm.StatusDown
	var b event.Backends
	b.Resume(farmstate.Earlier{1: farm.StatusUp, 2: farm.StatusDown, 3: farm.StatusDown,
		4: farm.StatusUp, 5: farm.StatusUndefined})
	known := event.Known{Health: func(id uint32) farm.Status { return status[id] }}
	if got := kindsOf(b.Look(cfg, 1, known, at)); got != "backend-down fell, backend-up rose, backend-down added" {
		t.Error(got)
	}
	if got := kindsOf(b.Look(cfg, 2, known, at)); got != "" {
		t.Error(got)
	}
	status[5] = farm.StatusUp
	cfg.Farms = append(cfg.Farms, web(6, "new", false, backend(6, "10.0.0.6")))
	status[6] = farm.StatusDown
	if got := kindsOf(b.Look(cfg, 3, known, at)); got != "backend-up unknown, backend-down new" {
		t.Error(got)
	}
}

func TestBackendHealthChangesAreEvents(t *testing.T) {
	status := map[uint32]farm.Status{1: farm.StatusDown, 2: farm.StatusUp}
	asked := 0
	of := func(id uint32) farm.Status { asked++; return status[id] }
	cfg := &farm.Config{Farms: []farm.Farm{web(1, "a", false, backend(1, "10.0.0.1"), backend(2, "b.test")), web(2, "off", true, backend(9, "10.0.0.9"))}}
	cfg.Farms[0].HTTP.Services[0].Backends[1].Addr = netip.MustParseAddr("10.0.0.2")
	var b event.Backends
	look := func(cfg *farm.Config, version uint64, want string) []event.Event {
		t.Helper()
		events := b.Look(cfg, version, event.Known{Health: of, Why: func(id uint32) string { return map[uint32]string{2: "refused"}[id] }}, at)
		if got := kindsOf(events); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		return events
	}
	look(cfg, 1, "") // the state at the start is not new
	status[1], status[2], status[9] = farm.StatusUp, farm.StatusDown, farm.StatusDown
	events := look(cfg, 2, "backend-up a, backend-down a")
	if events[0].Severity != event.Info || events[1].Severity != event.Warning {
		t.Errorf("%+v", events)
	}
	if got := events[1].Facts[4:]; !slices.Equal(got, []string{"SLUICE_SERVICE=s", "SLUICE_BACKEND=b.test", "SLUICE_BACKEND_IP=10.0.0.2", "SLUICE_BACKEND_PORT=8080", "SLUICE_NUMBER=1", "SLUICE_STATUS=down", "SLUICE_REASON=it refused"}) {
		t.Errorf("%q", got)
	}
	asked = 0
	look(cfg, 2, "")
	if asked != 0 {
		t.Error("a lookup although no event was written")
	}
	// A new backend that is down has an event, and a removed one has none.
	next := &farm.Config{Farms: []farm.Farm{web(1, "a", false, backend(1, "10.0.0.1"), backend(3, "10.0.0.3"), backend(4, "10.0.0.4"))}}
	status[3] = farm.StatusDown
	look(next, 2, "backend-down a")
	next.Farms[0].HTTP.Services[0].Backends[1].Maintenance = farm.MaintenanceDrain
	look(next, 3, "") // a backend in maintenance keeps its state
	next.Farms[0].HTTP.Services[0].Backends[1].Maintenance = farm.MaintenanceOff
	look(next, 4, "")
	status[3] = farm.StatusUndefined
	look(next, 5, "backend-up a")
}

func TestFarmStatusChangesAreEvents(t *testing.T) {
	status := map[string]farm.Status{"a": farm.StatusUp, "off": farm.StatusDown, "bare": farm.StatusCritical}
	known := event.Known{Farm: func(f *farm.Farm) (farm.Status, string) {
		if status[f.Name] == farm.StatusUp {
			return farm.StatusUp, ""
		}
		return status[f.Name], "no backend is usable"
	}}
	cfg := &farm.Config{Farms: []farm.Farm{web(1, "a", false, backend(1, "10.0.0.1")), web(2, "off", true, backend(2, "10.0.0.2")), web(3, "bare", false)}}
	var farms event.Farms
	version := uint64(0)
	look := func(want string) (out []event.Event) {
		t.Helper()
		version++
		out = farms.Look(cfg, version, known, at)
		var got []string
		for i := range out {
			got = append(got, string(out[i].Severity)+" "+out[i].Text())
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("got %q, want %q", got, want)
		}
		return out
	}
	look("")
	status["a"] = farm.StatusProblem
	look("warning farm a has a problem: no backend is usable")
	status["a"] = farm.StatusNeededRestart // is skipped
	look("")
	status["a"] = farm.StatusCritical
	if e := look("error farm a is critical: no backend is usable")[0]; e.Fact("WAS") != "problem" || e.Fact("STATUS") != "critical" {
		t.Errorf("%q", e.Facts)
	}
	status["a"] = farm.StatusUp
	look("info farm a is up again")
	cfg.Farms[1].Stopped = false // it is down since its start
	look("error farm off is down: no backend is usable")
	status["a"], cfg.Farms[0].Stopped = farm.StatusDown, true
	look("") // an operator stopped it
	asked := known.Farm
	known.Farm = func(f *farm.Farm) (farm.Status, string) { t.Error("it looked though nothing changed"); return asked(f) }
	farms.Look(cfg, version, known, at)
}

func TestLimitEventIsSentOnce(t *testing.T) {
	var l event.Limits
	about := event.Facts("FARM", "shop")
	now := at
	look := func(after time.Duration, used, refused uint64, want string) {
		t.Helper()
		now = now.Add(after)
		var got []string
		for _, e := range l.Look([]event.Gauge{
			{Limit: event.FarmConnections, Key: 1, About: about, Used: used, Most: 10, Full: used >= 10, Refused: refused},
			{Limit: event.FarmConnections, Key: 2, About: event.Facts("FARM", "calm"), Refused: 5},
		}, now) {
			got = append(got, string(e.Kind)+" "+string(e.Severity)+" "+e.Text())
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("got %q\nwant %q", got, want)
		}
	}
	const reached = "limit-reached warning the limit of connections (maxconnections) of farm shop is reached: "
	look(0, 0, 100, "") // refusals before the start are not new
	look(time.Second, 10, 107, reached+"10 of 10, 7 turned away or left waiting")
	for range 90 { // refuses all the time
		look(time.Second, 9, 107, "")
		look(time.Second, 10, 107, "")
	}
	look(5*time.Minute-time.Second, 3, 107, "")
	look(time.Second, 3, 107, "limit-over info the limit of connections (maxconnections) of farm shop is no longer reached; that lasted 3m0s, 7 turned away or left waiting")
	look(time.Hour, 3, 107, "")
	look(time.Second, 3, 109, reached+"3 of 10, 2 turned away or left waiting")
	look(6*time.Minute, 3, 0, "limit-over info the limit of connections (maxconnections) of farm shop is no longer reached; that lasted 0s") // the counter was reset
	l.Look(nil, now)                                                                                                                         // the farm is gone
	look(0, 3, 1, reached+"3 of 10, 1 turned away or left waiting; limit-reached warning the limit of connections (maxconnections) of farm calm is reached, 5 turned away or left waiting")
}

// One client that sends too much is normal on any day: it is no warning, and one event for
// hours.
func TestRateLimitEventIsInformational(t *testing.T) {
	for _, limit := range []event.Limit{event.FarmConnections, event.BackendConnections, event.RateLimit, event.Descriptors, event.Tracked} {
		calm, severity := 5*time.Minute, event.Warning
		if limit == event.RateLimit {
			calm, severity = time.Hour, event.Info
		}
		var l event.Limits
		now, refused := at, uint64(0)
		look := func(after time.Duration) []event.Event {
			now = now.Add(after)
			return l.Look([]event.Gauge{{Limit: limit, Refused: refused}}, now)
		}
		look(0)
		refused++
		if list := look(time.Second); len(list) != 1 || list[0].Kind != event.LimitReached || list[0].Severity != severity {
			t.Errorf("%s is reached: %+v", limit, list)
		}
		look(calm - time.Second)
		refused++ // again, just in time
		if list := append(look(time.Second), look(calm-time.Second)...); len(list) != 0 {
			t.Errorf("%s refuses now and then: %+v", limit, list)
		}
		if list := look(time.Second); len(list) != 1 || list[0].Kind != event.LimitOver || list[0].Severity != event.Info {
			t.Errorf("%s is over: %+v", limit, list)
		}
	}
}

func TestLimitsOfAllSortsHaveWords(t *testing.T) {
	f := web(1, "shop", false, backend(1, "10.0.0.1"))
	backend := event.OfBackend(f.Groups()[0], 0, true, "", at)
	for _, limit := range []event.Limit{event.FarmConnections, event.BackendConnections, event.RateLimit, event.Descriptors, event.Tracked} {
		about := map[event.Limit][]string{event.Descriptors: nil, event.Tracked: nil, event.BackendConnections: backend.Facts}
		facts, of := about[limit]
		if !of {
			facts = event.Facts("FARM", "shop")
		}
		var l event.Limits
		list := l.Look([]event.Gauge{{Limit: limit, About: facts, Full: true}}, at)
		if len(list) != 1 || strings.Contains(list[0].Text(), "  ") || !strings.HasSuffix(list[0].Text(), " is reached") {
			t.Errorf("%s: %+v", limit, list)
		}
	}
}

func TestAnEventAsOthersGetIt(t *testing.T) {
	f := web(1, "shop", false, backend(1, "10.0.0.1"))
	e := event.OfBackend(f.Groups()[0], 0, true, "refused three connects", at)
	b, err := json.Marshal(&e)
	want := `{"kind":"backend-down","severity":"warning","time":"1970-01-01T00:00:01Z","farm":"shop","service":"s","backend":"10.0.0.1:8080","text":"backend 0 (10.0.0.1:8080) of service s of farm shop is down: it refused three connects",` +
		`"facts":{"backend":"10.0.0.1","backend_ip":"10.0.0.1","backend_port":"8080","farm":"shop","number":"0","profile":"http","reason":"it refused three connects","service":"s","status":"down","vip":"192.0.2.1","vport":"80"}}`
	if err != nil || string(b) != want {
		t.Errorf("%v\n%s\n%s", err, b, want)
	}
	if up := event.OfBackend(f.Groups()[0], 0, false, "whatever", at); up.Text() != "backend 0 (10.0.0.1:8080) of service s of farm shop is up again" || up.Severity != event.Info {
		t.Error(up.Text())
	}
}

func TestASeverityIsAtLeastThoseBelowIt(t *testing.T) {
	for i, s := range event.Severities() {
		for k, least := range event.Severities() {
			if s.AtLeast(least) != (i >= k) {
				t.Errorf("%s at least %s: %v", s, least, s.AtLeast(least))
			}
		}
		if !s.AtLeast("") {
			t.Errorf("%s is below the empty level", s)
		}
	}
}

func TestEveryKindHasWords(t *testing.T) {
	for _, info := range event.Catalogue() {
		if info.Description == "" || len(info.Severities) == 0 {
			t.Errorf("%+v", info)
		}
	}
	for _, k := range event.Kinds() {
		if e := (event.Event{Kind: k}); e.Text() == string(k) {
			t.Errorf("%s has no words", k)
		}
		if one, many := k.Count(1), k.Count(3); one == "" || !strings.Contains(many, "3") || strings.Contains(one+many, "%") {
			t.Errorf("%s: %q, %q", k, one, many)
		}
	}
	for want, e := range map[string]event.Event{
		"farm shop is stopped":                          {Kind: event.FarmStop, Facts: event.Facts("FARM", "shop")},
		"revision 7 is in force, made by ann: new shop": {Kind: event.RevisionApplied, Facts: event.Facts("REVISION", "7", "AUTHOR", "ann", "COMMENT", "new shop")},
		"revision 7 of ann is undone":                   {Kind: event.RevisionUndone, Facts: event.Facts("REVISION", "7", "AUTHOR", "ann")},
	} {
		if got := e.Text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A status that is better but not yet up reads as a recovery.
func TestStatusTextNamesTheDirection(t *testing.T) {
	f := &farm.Farm{Name: "a"}
	for _, c := range []struct {
		is, was farm.Status
		want    string
	}{
		{farm.StatusProblem, farm.StatusUp, "farm a has a problem"},
		{farm.StatusDown, farm.StatusProblem, "farm a is down"},
		{farm.StatusDown, farm.StatusCritical, "farm a is down"},
		{farm.StatusProblem, farm.StatusCritical, "farm a is no longer critical, but has a problem"},
		{farm.StatusCritical, farm.StatusDown, "farm a is no longer down, but is critical"},
		{farm.StatusProblem, farm.StatusMaintenance, "farm a has a problem"},
		{farm.StatusUp, farm.StatusDown, "farm a is up again"},
	} {
		e := event.OfFarm(f, c.is, c.was, "", time.Time{})
		if got := e.Headline(); got != c.want {
			t.Errorf("from %s to %s: %q, want %q", c.was, c.is, got, c.want)
		}
	}
}
