package event_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/event"
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

func TestAChangeTellsWhichFarmsRun(t *testing.T) {
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

func TestBackendsAreToldWhenTheirHealthTurns(t *testing.T) {
	status := map[uint32]farm.Status{1: farm.StatusDown, 2: farm.StatusUp}
	asked := 0
	of := func(id uint32) farm.Status { asked++; return status[id] }
	cfg := &farm.Config{Farms: []farm.Farm{web(1, "a", false, backend(1, "10.0.0.1"), backend(2, "b.test")), web(2, "off", true, backend(9, "10.0.0.9"))}}
	var b event.Backends
	look := func(cfg *farm.Config, version uint64, want string) []event.Event {
		t.Helper()
		events := b.Look(cfg, version, of, at)
		if got := kindsOf(events); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		return events
	}
	look(cfg, 1, "") // what was found at the start happened before
	status[1], status[2], status[9] = farm.StatusUp, farm.StatusDown, farm.StatusDown
	events := look(cfg, 2, "backend-up a, backend-down a")
	if events[0].Severity != event.Info || events[1].Severity != event.Warning {
		t.Errorf("%+v", events)
	}
	if got := events[1].Facts[4:]; !slices.Equal(got, []string{"SLUICE_SERVICE=s", "SLUICE_BACKEND=b.test", "SLUICE_BACKEND_IP=", "SLUICE_BACKEND_PORT=8080", "SLUICE_STATUS=down"}) {
		t.Errorf("%q", got)
	}
	asked = 0
	look(cfg, 2, "")
	if asked != 0 {
		t.Error("it looked though nothing was written")
	}
	// New ones are told when they are down, and nobody is who is gone.
	next := &farm.Config{Farms: []farm.Farm{web(1, "a", false, backend(1, "10.0.0.1"), backend(3, "10.0.0.3"), backend(4, "10.0.0.4"))}}
	status[3] = farm.StatusDown
	look(next, 2, "backend-down a")
	status[3] = farm.StatusUndefined
	look(next, 3, "backend-up a")
}

func TestASeverityIsAtLeastThoseBelowIt(t *testing.T) {
	for i, s := range event.Severities() {
		for k, least := range event.Severities() {
			if s.AtLeast(least) != (i >= k) {
				t.Errorf("%s at least %s: %v", s, least, s.AtLeast(least))
			}
		}
		if !s.AtLeast("") {
			t.Errorf("%s is less than nothing", s)
		}
	}
}

func TestEveryKindHasWords(t *testing.T) {
	for _, k := range event.Kinds() {
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
