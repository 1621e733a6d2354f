package farmstate_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/farmstate"
)

// words makes a farm of one service from a word per backend, and a health function that
// returns up and down by these words.
func words(states ...string) (*farm.Farm, farmstate.Health) {
	f := &farm.Farm{Name: "shop", Profile: farm.ProfileHTTP, HTTP: farm.DefaultHTTP()}
	f.HTTP.Services = []farm.Service{{ID: 1, Name: "main"}}
	known := map[uint32]farm.Status{}
	for i, word := range states {
		id := uint32(i + 1)
		b := farm.Backend{ID: id, Host: "10.0.0.1", Port: uint16(8000 + i)}
		switch word {
		case "drain", "cut":
			b.Maintenance = farm.Maintenance(word)
			known[id] = farm.StatusDown // health must not matter
		default:
			known[id] = farm.Status(word)
		}
		f.HTTP.Services[0].Backends = append(f.HTTP.Services[0].Backends, b)
	}
	return f, func(id uint32) farm.Status { return known[id] }
}

var running = farmstate.Serving{Running: true}

func TestFarmStatusFollowsTheFirstMatchingRule(t *testing.T) {
	for _, c := range []struct {
		name     string
		backends []string
		serving  farmstate.Serving
		stopped  bool
		want     farm.Status
	}{
		{"stopped", []string{"up"}, running, true, farm.StatusDown},
		{"not served", []string{"up"}, farmstate.Serving{Problem: "address in use"}, false, farm.StatusDown},
		{"stopped before stale", []string{"up"}, farmstate.Serving{Running: true, Stale: true}, true, farm.StatusDown},
		{"stale before critical", nil, farmstate.Serving{Running: true, Stale: true}, false, farm.StatusNeededRestart},
		{"no backend", nil, running, false, farm.StatusCritical},
		{"all down", []string{"down", "down"}, running, false, farm.StatusCritical},
		{"all in maintenance", []string{"drain", "cut"}, running, false, farm.StatusCritical},
		{"down and maintenance", []string{"down", "drain"}, running, false, farm.StatusCritical},
		{"some down", []string{"up", "down"}, running, false, farm.StatusProblem},
		{"down wins over maintenance", []string{"up", "drain", "down"}, running, false, farm.StatusProblem},
		{"some in maintenance", []string{"up", "cut"}, running, false, farm.StatusMaintenance},
		{"all up", []string{"up", "up"}, running, false, farm.StatusUp},
		{"nothing known yet is used", []string{"undefined", ""}, running, false, farm.StatusUp},
		{"nothing known and one down", []string{"undefined", "down"}, running, false, farm.StatusProblem},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, health := words(c.backends...)
			f.Stopped = c.stopped
			if got := farmstate.Farm(f, health, nothing, c.serving); got != c.want {
				t.Errorf("status %q, want %q", got, c.want)
			}
		})
	}
}

func TestRedirectCountsAsOneBackendUp(t *testing.T) {
	f, health := words("down", "down")
	f.HTTP.Services[0].Redirect = "https://example.com"
	if got := farmstate.Farm(f, health, nothing, running); got != farm.StatusUp {
		t.Errorf("farm with only a redirect: %q, want up", got)
	}
	if got, want := farmstate.Count(f, health), (farmstate.Counts{Up: 1}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
}

func TestRedirectDoesNotHideAnotherService(t *testing.T) {
	f, health := words("down")
	f.HTTP.Services = append(f.HTTP.Services, farm.Service{ID: 2, Name: "move", Redirect: "https://example.com"})
	if got := farmstate.Farm(f, health, nothing, running); got != farm.StatusProblem {
		t.Errorf("status %q, want problem", got)
	}
}

func TestBackendStatus(t *testing.T) {
	for word, want := range map[string]farm.Status{
		"up": farm.StatusUp, "down": farm.StatusDown, "undefined": farm.StatusUndefined, "": farm.StatusUndefined,
		"odd": farm.StatusUndefined, "drain": farm.StatusMaintenance, "cut": farm.StatusMaintenance,
	} {
		f, health := words(word)
		if got := farmstate.Backend(&f.HTTP.Services[0].Backends[0], health); got != want {
			t.Errorf("backend %q: status %q, want %q", word, got, want)
		}
	}
}

// A name of several servers is as good as the best of its current servers.
func TestNamedBackendHasTheBestStatusOfItsParts(t *testing.T) {
	for _, c := range []struct {
		name, maintenance string
		resolve           farm.Resolve
		parts             []string // state of each; "left up" is one whose address is gone
		want              farm.Status
	}{
		{"one server", "", farm.ResolveFirst, []string{"up"}, farm.StatusDown},
		{"one up", "", farm.ResolveAll, []string{"down", "up"}, farm.StatusUp},
		{"one not asked yet", "", farm.ResolveAll, []string{"down", ""}, farm.StatusUndefined},
		{"all down", "", farm.ResolveAll, []string{"down", "down"}, farm.StatusDown},
		{"only those that left", "", farm.ResolveAll, []string{"left up", "down"}, farm.StatusDown},
		{"none", "", farm.ResolveAll, nil, farm.StatusDown},
		{"in maintenance", "drain", farm.ResolveAll, []string{"up"}, farm.StatusMaintenance},
	} {
		list := []farm.Backend{{ID: 1, Host: "db.example", Resolve: c.resolve, Maintenance: farm.Maintenance(c.maintenance)}}
		known := map[uint32]farm.Status{}
		for i, word := range c.parts {
			part := at(uint32(10+i), "10.0.0.1")
			part.Of = 1
			word, part.Left = strings.CutPrefix(word, "left ")
			known[part.ID] = farm.Status(word)
			list = append(list, part)
		}
		f := &farm.Farm{Name: "relay", Profile: farm.ProfileL4, L4: &farm.L4{Backends: list}}
		if got := farmstate.In(f.Own(), 0, func(id uint32) farm.Status { return known[id] }); got != c.want {
			t.Errorf("%s: status %q, want %q", c.name, got, c.want)
		}
	}
}

func TestStatisticsShowUncheckedBackendsAsUp(t *testing.T) {
	if got := farmstate.InStatistics(farm.StatusUndefined); got != farm.StatusUp {
		t.Errorf("undefined shows as %q, want up", got)
	}
	if got := farmstate.InStatistics(farm.StatusMaintenance); got != farm.StatusMaintenance {
		t.Errorf("maintenance shows as %q, want %q", got, farm.StatusMaintenance)
	}
}

func TestL4FarmsCountTheirBackends(t *testing.T) {
	for _, c := range []struct {
		backends []string
		want     farm.Status
	}{
		{nil, farm.StatusCritical}, {[]string{"up", "undefined"}, farm.StatusUp}, {[]string{"up", "down"}, farm.StatusProblem},
		{[]string{"up", "drain"}, farm.StatusMaintenance}, {[]string{"down", "cut"}, farm.StatusCritical},
	} {
		like, health := words(c.backends...)
		f := &farm.Farm{Name: "relay", Profile: farm.ProfileL4, L4: &farm.L4{Backends: like.HTTP.Services[0].Backends}}
		if got := farmstate.Farm(f, health, nothing, running); got != c.want {
			t.Errorf("%q: status %q, want %q", c.backends, got, c.want)
		}
	}
}

// A farm that only serves zones needs no service.
func TestAFarmOfZonesNeedsNoBackends(t *testing.T) {
	f := &farm.Farm{Name: "names", Profile: farm.ProfileGSLB, Global: &farm.GSLB{Zones: []farm.Zone{farm.NewZone("example.com")}}}
	if got := farmstate.Farm(f, nil, nothing, running); got != farm.StatusUp {
		t.Errorf("status %q, want up", got)
	}
	f.Global.Services = []farm.DNSService{{Name: "web", Backends: []farm.Backend{{ID: 1, Host: "10.0.0.1"}}}}
	if got := farmstate.Farm(f, func(uint32) farm.Status { return farm.StatusDown }, nothing, running); got != farm.StatusCritical {
		t.Errorf("status %q, want critical", got)
	}
}

func TestFarmWithoutAProfileHasNoBackends(t *testing.T) {
	f := &farm.Farm{Name: "odd"}
	if got := farmstate.Farm(f, func(uint32) farm.Status { return farm.StatusUp }, nothing, running); got != farm.StatusCritical {
		t.Errorf("status %q, want critical", got)
	}
}

func TestStoppedFarmShowsOnlyARefusedStart(t *testing.T) {
	if got := farmstate.Stopped(""); !reflect.DeepEqual(got, farmstate.Serving{}) {
		t.Errorf("a stopped farm: %+v", got)
	}
	got := farmstate.Stopped("address in use")
	if want := "the last start was refused: address in use; remove the cause, or change vip or vport, then start the farm again"; got.Problem != want {
		t.Errorf("problem %q, want %q", got.Problem, want)
	}
	f, health := words("up")
	f.Stopped = true
	if status := farmstate.Farm(f, health, nothing, got); status != farm.StatusDown {
		t.Errorf("status %q, want down", status)
	}
}

// nothing returns "" for every backend.
func nothing(uint32) string { return "" }
