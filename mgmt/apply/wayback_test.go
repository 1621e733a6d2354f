package apply_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
)

func backend(c *farm.Config, name string, at int) *farm.Backend {
	return &c.Farm(name).HTTP.Services[0].Backends[at]
}

// twoBackends returns a farm with two backends.
func twoBackends(name string, vport uint16) farm.Farm {
	f := shop(name, vport)
	f.HTTP.Services[0].Backends = append(f.HTTP.Services[0].Backends, farm.Backend{Host: "127.0.0.1", Port: 8082})
	return f
}

// A pending change blocks only the parts that it changed. Other changes are possible and
// survive its revert, also after a restart.
func TestPendingChangeIsRevertedAlone(t *testing.T) {
	clock := newWatch()
	for _, restart := range []bool{false, true} {
		h := newHouse(t, apply.WithClock(clock.now))
		h.must(add(twoBackends("a", 8080)))
		h.must(add(shop("gone", 8070)))
		h.must(add(shop("other", 8060)))
		h.must(func(c *farm.Config) error {
			c.Checks = append(c.Checks, farm.Check{Name: "one", Command: "check_tcp -H HOST -p PORT", Interval: 5}, farm.Check{Name: "two", Command: "check_tcp -H HOST -p PORT", Interval: 5})
			return nil
		})
		_, err := h.Change(wait(time.Hour), root, "", 0, func(c *farm.Config) error {
			c.Farms = []farm.Farm{*c.Farm("a"), *c.Farm("other"), shop("made", 8050)}
			c.Farm("a").VPort = 8181
			c.Farm("a").HTTP.Services[0].Backends[1].Weight = 7
			c.Checks[0].Interval = 9
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		// Changes of others meanwhile.
		h.must(port("other", 8061))
		h.must(add(shop("new", 8040)))
		h.must(func(c *farm.Config) error { c.Checks[1].Interval = 7; return nil })
		// Starts, stops and maintenance are possible for all farms.
		h.must(func(c *farm.Config) error { backend(c, "a", 1).Maintenance = farm.MaintenanceDrain; return nil })
		h.must(func(c *farm.Config) error { backend(c, "a", 0).Maintenance = farm.MaintenanceCut; return nil })
		h.must(func(c *farm.Config) error { backend(c, "a", 0).Maintenance = ""; return nil })
		h.must(func(c *farm.Config) error { c.Farm("a").Stopped = true; return nil })
		h.must(func(c *farm.Config) error { c.Farm("made").Stopped = true; return nil })
		for what, edit := range map[string]func(*farm.Config) error{
			"a touched farm":         port("a", 8282),
			"a deletion":             func(c *farm.Config) error { c.Farms = c.Farms[1:]; return nil },
			"a farm that was made":   port("made", 8051),
			"the name of a gone one": add(shop("gone", 8090)),
			"the address of one":     add(shop("b", 8070)),
			"a rename to it":         func(c *farm.Config) error { c.Farm("new").Name = "gone"; return nil },
			"a touched check":        func(c *farm.Config) error { c.Checks[0].Interval = 8; return nil },
			"more than operation": func(c *farm.Config) error {
				backend(c, "a", 0).Maintenance = farm.MaintenanceDrain
				backend(c, "a", 0).Weight = 3
				return nil
			},
		} {
			var pending *apply.PendingError
			if _, err := h.Change(context.Background(), root, "", 0, edit); !errors.As(err, &pending) || h.Pending() == nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		p := h.Pending()
		if restart {
			h = h.again(apply.WithClock(clock.now))
			if h.Pending() == nil {
				t.Fatal("it is forgotten")
			}
		}
		if restart {
			clock.pass(time.Hour)
			h = h.again(apply.WithClock(clock.now))
		} else if err := h.GoBack(context.Background(), p.Revision, apply.TimerSource, apply.NotConfirmed); err != nil {
			t.Fatal(err)
		}
		cfg, _ := h.Current()
		if h.Pending() != nil || cfg.Farm("made") != nil || cfg.Farm("gone") == nil || cfg.Farm("a").VPort != 8080 || !cfg.Farm("a").Stopped || backend(cfg, "a", 1).Weight == 7 ||
			backend(cfg, "a", 1).Maintenance != farm.MaintenanceDrain || backend(cfg, "a", 0).Maintenance != "" {
			t.Errorf("restart %v: its farms are\n%s", restart, text(t, cfg))
		}
		if cfg.Farm("other").VPort != 8061 || cfg.Farm("new") == nil || cfg.Checks[0].Interval != 5 || cfg.Checks[1].Interval != 7 {
			t.Errorf("restart %v: the other objects are\n%s", restart, text(t, cfg))
		}
	}
}

// Undoing its edits by hand ends a pending change, even after changes of others.
func TestManualUndoEndsThePendingChange(t *testing.T) {
	h := newHouse(t)
	h.must(add(shop("a", 8080)))
	if _, err := h.Change(wait(time.Hour), root, "", 0, port("a", 8181)); err != nil {
		t.Fatal(err)
	}
	h.must(add(shop("b", 8090)))
	if h.Pending() == nil {
		t.Fatal("a change of another farm ended it")
	}
	h.must(port("a", 8080))
	if h.Pending() != nil || h.LastEnded().Outcome != apply.TakenBack {
		t.Errorf("pending %+v", h.Pending())
	}
	if cfg, _ := h.Current(); cfg.Farm("b") == nil {
		t.Error("the other farm is gone")
	}
}

// A change that would prevent the revert is refused with that reason.
func TestChangesBlockingARevertAreRefused(t *testing.T) {
	h := newHouse(t)
	h.must(add(shop("a", 8080)))
	if _, err := h.Change(wait(time.Hour), root, "", 0, port("a", 8181)); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Change(context.Background(), root, "", 0, add(shop("b", 8080))); err == nil || !strings.Contains(err.Error(), "it could not go back") {
		t.Errorf("the port of the farm that returns was given to another: %v", err)
	}
}
