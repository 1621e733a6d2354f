package farmstate_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/farmstate"
)

func TestConfiguredMaintenanceAndActualAreSeparate(t *testing.T) {
	const none, some, all = farmstate.None, farmstate.Some, farmstate.All
	for _, c := range []struct {
		name          string
		backends      []string
		serving       farmstate.Serving
		stopped       bool
		farm, service farmstate.State
	}{
		{"all well", []string{"up", "undefined"}, running, false, farmstate.State{"up", none, "up"}, farmstate.State{"up", none, "up"}},
		{"stopped", []string{"up", "drain"}, farmstate.Serving{}, true, farmstate.State{"down", some, "down"}, farmstate.State{"down", some, "down"}},
		{"stopped, but not yet", []string{"up"}, running, true, farmstate.State{"down", none, "down"}, farmstate.State{"down", none, "down"}},
		{"meant to run", []string{"up"}, farmstate.Serving{Problem: "address in use"}, false, farmstate.State{"up", none, "down"}, farmstate.State{"up", none, "down"}},
		{"problem though it runs", []string{"up"}, farmstate.Serving{Running: true, Problem: "unreachable"}, false, farmstate.State{"up", none, "down"}, farmstate.State{"up", none, "down"}},
		{"older configuration", []string{"up"}, farmstate.Serving{Running: true, Stale: true}, false, farmstate.State{"up", none, "outdated"}, farmstate.State{"up", none, "up"}},
		{"all taken out", []string{"drain", "cut"}, running, false, farmstate.State{"up", all, "up"}, farmstate.State{"up", all, "down"}},
		{"one taken out, the other down", []string{"cut", "down"}, running, false, farmstate.State{"up", some, "up"}, farmstate.State{"up", some, "down"}},
		{"no backends", nil, running, false, farmstate.State{"up", none, "up"}, farmstate.State{"up", none, "down"}},
	} {
		f, health := words(c.backends...)
		f.Stopped = c.stopped
		if got := farmstate.OfFarm(f, c.serving); got != c.farm {
			t.Errorf("%s: the farm is %v, want %v", c.name, got, c.farm)
		}
		if got := farmstate.OfGroup(f.Groups()[0], health, c.serving); got != c.service {
			t.Errorf("%s: the service is %v, want %v", c.name, got, c.service)
		}
	}
}

func TestRedirectServiceIsAlwaysUp(t *testing.T) {
	f, health := words("down", "drain")
	f.HTTP.Services[0].Redirect = "https://example.com"
	if got := farmstate.OfGroup(f.Groups()[0], health, running); got.Actual != "up" {
		t.Errorf("the service is %v", got)
	}
	if got := farmstate.OfFarm(f, running); got.Maintenance != farmstate.None {
		t.Errorf("backends without requests count: %v", got)
	}
}

// Maintenance does not hide the actual state of a backend, up or down.
func TestMaintenanceKeepsTheActualState(t *testing.T) {
	for _, c := range []struct {
		known, maintenance string
		ejected            bool
		want               farmstate.State
	}{
		{"up", "", false, farmstate.State{"up", "none", "up"}},
		{"down", "", false, farmstate.State{"up", "none", "down"}},
		{"", "", false, farmstate.State{"up", "none", "undefined"}},
		{"up", "drain", false, farmstate.State{"up", "drain", "up"}},
		{"down", "cut", false, farmstate.State{"up", "cut", "down"}},
		{"up", "", true, farmstate.State{"up", "none", "ejected"}},
		{"down", "", true, farmstate.State{"up", "none", "down"}},
	} {
		f, _ := words("up")
		f.HTTP.Services[0].Backends[0].Maintenance = farm.Maintenance(c.maintenance)
		health := func(uint32) farm.Status { return farm.Status(c.known) }
		if got := farmstate.OfBackend(f.Groups()[0], 0, health, c.ejected); got != c.want {
			t.Errorf("%+v: got %v, want %v", c, got, c.want)
		}
	}
}

func TestNamedBackendInMaintenanceShowsItsParts(t *testing.T) {
	parts := farm.Backend{ID: 1, Host: "db.example", Resolve: farm.ResolveAll, Maintenance: farm.MaintenanceDrain}
	one, left := at(10, "10.0.0.1"), at(11, "10.0.0.2")
	one.Of, left.Of, left.Left = 1, 1, true
	f := &farm.Farm{Name: "relay", Profile: farm.ProfileL4, L4: &farm.L4{Backends: []farm.Backend{parts, one, left}}}
	known := map[uint32]farm.Status{10: farm.StatusDown, 11: farm.StatusUp}
	health := func(id uint32) farm.Status { return known[id] }
	if got := farmstate.OfBackend(f.Own(), 0, health, false); got != (farmstate.State{"up", "drain", "down"}) {
		t.Errorf("%v", got)
	}
	known[10] = farm.StatusUp
	if got := farmstate.OfBackend(f.Own(), 0, health, false); got.Actual != "up" {
		t.Errorf("%v", got)
	}
}
