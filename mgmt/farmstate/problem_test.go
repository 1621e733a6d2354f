package farmstate_test

import (
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/farmstate"
)

func at(id uint32, host string) farm.Backend {
	b := farm.Backend{ID: id, Slot: id, Host: host, Port: 80}
	b.Addr, _ = netip.ParseAddr(host)
	return b
}

// spread is a backend whose name resolves to several servers, part one of these.
func spread(id uint32) farm.Backend {
	b := at(id, "db.example")
	b.Resolve = farm.ResolveAll
	return b
}

func part(id, of uint32, host string) farm.Backend {
	b := at(id, host)
	b.Of = of
	return b
}

func asLeft(b farm.Backend) farm.Backend {
	b.Left, b.Maintenance = true, farm.MaintenanceDrain
	return b
}

// For every status except up, the problem has a reason; for up there is none.
func TestStatusAndProblemAgree(t *testing.T) {
	running := farmstate.Serving{Running: true}
	drained := at(1, "10.0.0.1")
	drained.Maintenance = farm.MaintenanceDrain
	for name, c := range map[string]struct {
		backends []farm.Backend
		edit     func(f *farm.Farm)
		serving  farmstate.Serving
		down     []uint32
		told     string // of backend 1
		status   farm.Status
		problem  string
	}{
		"up":          {[]farm.Backend{at(1, "10.0.0.1")}, nil, running, nil, "", farm.StatusUp, ""},
		"stopped":     {nil, func(f *farm.Farm) { f.Stopped = true }, farmstate.Serving{}, nil, "", farm.StatusDown, ""},
		"refused":     {nil, nil, farmstate.Serving{Problem: "address in use"}, nil, "", farm.StatusDown, "address in use"},
		"stale":       {nil, nil, farmstate.Serving{Running: true, Stale: true}, nil, "", farm.StatusNeededRestart, "the engine still runs an older configuration"},
		"one down":    {[]farm.Backend{at(1, "10.0.0.1"), at(2, "10.0.0.2")}, nil, running, []uint32{2}, "", farm.StatusProblem, "backend 1 (10.0.0.2) of service web is down"},
		"all down":    {[]farm.Backend{at(1, "10.0.0.1")}, nil, running, []uint32{1}, "", farm.StatusCritical, "no backend is usable: backend 0 (10.0.0.1) of service web is down"},
		"ejected":     {[]farm.Backend{at(1, "10.0.0.1")}, nil, running, []uint32{1}, "is ejected", farm.StatusCritical, "no backend is usable: backend 0 (10.0.0.1) of service web is ejected"},
		"silent":      {[]farm.Backend{at(1, "10.0.0.1")}, nil, running, nil, "does not answer", farm.StatusProblem, "backend 0 (10.0.0.1) of service web does not answer"},
		"maintenance": {[]farm.Backend{drained, at(2, "10.0.0.2")}, nil, running, nil, "", farm.StatusMaintenance, "backend 0 (10.0.0.1) of service web is in maintenance"},
		"a name":      {[]farm.Backend{at(1, "db.example")}, nil, running, nil, "", farm.StatusCritical, "no backend is usable: backend 0 (db.example) of service web has no address"},
		"several of a name": {[]farm.Backend{spread(9), part(10, 9, "10.0.0.1"), part(11, 9, "10.0.0.2")}, nil, running, []uint32{11}, "", farm.StatusProblem,
			"backend 10 (10.0.0.2) of service web is down"},
		"one of a name":          {[]farm.Backend{spread(9), part(10, 9, "10.0.0.1")}, nil, running, nil, "", farm.StatusUp, ""},
		"one that left its name": {[]farm.Backend{spread(9), part(10, 9, "10.0.0.1"), asLeft(part(1, 9, "10.0.0.2"))}, nil, running, []uint32{1}, "", farm.StatusUp, ""},
		"a name of none":         {[]farm.Backend{spread(9), at(2, "10.0.0.2")}, nil, running, nil, "", farm.StatusProblem, "backend 8 (db.example) of service web has no address"},
		"a redirect": {[]farm.Backend{at(1, "10.0.0.1")}, func(f *farm.Farm) { f.HTTP.Services[0].Redirect = "https://example.com" }, running, []uint32{2}, "does not answer",
			farm.StatusUp, ""},
		"stopped beside a cause": {nil, func(f *farm.Farm) { f.Stopped = true }, farmstate.Serving{Problem: "refused"}, nil, "", farm.StatusDown, "refused"},
		"not served":             {nil, nil, farmstate.Serving{}, nil, "", farm.StatusDown, "not served"},
		"three are named": {[]farm.Backend{at(1, "10.0.0.1"), at(2, "10.0.0.2"), at(3, "10.0.0.3"), at(4, "10.0.0.4")}, nil, running, []uint32{1, 2, 3}, "", farm.StatusProblem,
			"backend 0 (10.0.0.1) of service web is down; backend 1 (10.0.0.2) of service web is down; backend 2 (10.0.0.3) of service web is down"},
		"no backends": {nil, nil, running, nil, "", farm.StatusCritical, "it has no backends"},
		"no services": {nil, func(f *farm.Farm) { f.HTTP.Services = nil }, running, nil, "", farm.StatusCritical, "it has no services: every request is answered 503"},
		"a firewall": {[]farm.Backend{at(1, "10.0.0.1"), at(2, "10.0.0.2")}, nil, farmstate.Serving{Running: true, Warnings: []string{"chain a drops", "chain b drops"}}, []uint32{2}, "", farm.StatusProblem,
			"chain a drops; chain b drops; backend 1 (10.0.0.2) of service web is down"},
		"a firewall alone": {[]farm.Backend{at(1, "10.0.0.1")}, nil, farmstate.Serving{Running: true, Warnings: []string{"chain a drops"}}, nil, "", farm.StatusProblem, "chain a drops"},
		"many": {[]farm.Backend{at(1, "10.0.0.1"), at(2, "10.0.0.2"), at(3, "10.0.0.3"), at(4, "10.0.0.4"), at(5, "10.0.0.5")}, nil, running, []uint32{1, 2, 3, 4}, "", farm.StatusProblem,
			"backend 0 (10.0.0.1) of service web is down; backend 1 (10.0.0.2) of service web is down; backend 2 (10.0.0.3) of service web is down; and 1 more"},
	} {
		f := farm.Farm{Name: "shop", HTTP: &farm.HTTP{Services: []farm.Service{{Name: "web", Backends: c.backends}}}}
		if c.edit != nil {
			c.edit(&f)
		}
		health := func(id uint32) farm.Status {
			for _, d := range c.down {
				if d == id {
					return farm.StatusDown
				}
			}
			return farm.StatusUp
		}
		told := func(id uint32) string {
			if id == 1 {
				return c.told
			}
			return ""
		}
		status, problem := farmstate.Farm(&f, health, told, c.serving), farmstate.Problem(&f, health, told, c.serving)
		if status != c.status || problem != c.problem {
			t.Errorf("%s: %s, %q; want %s, %q", name, status, problem, c.status, c.problem)
		}
	}
}

func TestBackendsThatNeverAnswerAreFound(t *testing.T) {
	var s farmstate.Silent
	look := func(responses, timeouts uint64, want, change bool) {
		t.Helper()
		if silent, changed := s.Look(7, responses, timeouts); silent != want || changed != change {
			t.Errorf("after %d answers and %d time-outs: %v %v", responses, timeouts, silent, changed)
		}
		if (s.Problem(7) != "") != want {
			t.Errorf("its problem is %q", s.Problem(7))
		}
	}
	look(10, 5, false, false) // the counts before are unknown
	look(10, 7, false, false)
	look(10, 8, true, true)
	look(10, 9, true, false)
	look(11, 12, false, true) // one answer is enough
	look(11, 15, true, true)
	look(0, 0, false, true) // the counter was reset
	look(0, 3, true, true)
	want := "accepts connections and does not answer: 3 requests or connections in a row got nothing in time"
	if got := s.Problem(7); got != want {
		t.Errorf("its problem is %q, want %q", got, want)
	}
	s.Retain(func(id uint32) bool { return id == 7 })
	if s.Problem(7) != want {
		t.Error("a farm that still exists was forgotten")
	}
	s.Retain(func(id uint32) bool { return id != 7 })
	if s.Problem(7) != "" {
		t.Error("it is remembered")
	}
	// The silence, answers and removal of other backends do not matter.
	s.Look(8, 0, 0)
	s.Look(9, 0, 0)
	s.Look(8, 0, 3)
	s.Look(9, 0, 3)
	s.Look(9, 0, 4)
	s.Retain(func(id uint32) bool { return id == 8 })
	s.Retain(func(id uint32) bool { return id == 8 })
	if s.Problem(8) == "" {
		t.Error("a silent farm is not found after another one was forgotten")
	}
}
