package apply_test

import (
	"context"
	"errors"
	"maps"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
)

// addStopped adds a stopped farm.
func addStopped(name string, port uint16) func(*farm.Config) error {
	f := shop(name, port)
	f.Stopped = true
	return add(f)
}

func started(names ...string) func(*farm.Config) error {
	return func(c *farm.Config) error {
		for _, name := range names {
			c.Farm(name).Stopped = false
		}
		return nil
	}
}

// rejections returns the reasons of refused starts by farm name.
func (h *house) rejections() map[string]string {
	byName := map[string]string{}
	cfg, _ := h.Current()
	for id, reason := range h.RefusedStarts() {
		for i := range cfg.Farms {
			if cfg.Farms[i].ID == id {
				byName[cfg.Farms[i].Name] = reason
			}
		}
	}
	return byName
}

func (h *house) wantRejections(when string, want map[string]string) {
	h.t.Helper()
	if got := h.rejections(); !maps.Equal(got, want) {
		h.t.Errorf("%s: refused starts %v, want %v", when, got, want)
	}
}

func TestARefusedStartIsRememberedUntilItNoLongerMatters(t *testing.T) {
	inUse := map[string]string{"a": "address in use"}
	for name, forget := range map[string]func(*farm.Config) error{
		"started":               started("a"),
		"moved":                 func(c *farm.Config) error { c.Farm("a").VPort = 8090; return nil },
		"deleted":               func(c *farm.Config) error { c.Farms = c.Farms[:1]; return nil },
		"deleted and new again": func(c *farm.Config) error { c.Farms = c.Farms[:1]; return addStopped("a", 8080)(c) },
	} {
		h := newHouse(t)
		h.must(addStopped("b", 8082))
		h.must(addStopped("a", 8080))
		h.pub.Answer(portInUse("a"))
		var refused *apply.Refused
		if _, err := h.Change(context.Background(), root, "", 0, started("a")); !errors.As(err, &refused) {
			t.Fatalf("the start: %v", err)
		}
		h.wantRejections("after the start", inUse)
		if len(h.Problems()) != 0 {
			t.Errorf("problems of farms that are to run: %v", h.Problems())
		}
		h.must(func(c *farm.Config) error { c.Farm("a").HTTP.ConnectTimeout = 3; return nil })
		h.must(started("b"))
		h.wantRejections("after other changes", inUse)
		if _, err := h.Republish(context.Background()); err != nil {
			t.Fatal(err)
		}
		h.wantRejections("after a publication", inUse)
		h.pub.Answer(nil)
		h.must(forget)
		h.wantRejections(name, nil)
	}
}

func TestOfSeveralStartsThoseThatFailedAreRemembered(t *testing.T) {
	h := newHouse(t)
	h.must(addStopped("a", 8080))
	h.must(addStopped("b", 8082))
	h.pub.Answer(portInUse("a"))
	if _, err := h.Change(context.Background(), root, "", 0, started("a", "b")); err == nil {
		t.Fatal("the start is not refused")
	}
	h.wantRejections("both started", map[string]string{"a": "address in use"})
}

func TestLoneStartFailsWithItsOwnReason(t *testing.T) {
	h := newHouse(t)
	h.must(addStopped("a", 8080))
	fault := errors.New("vip must be an address of this machine")
	_, err := h.Change(context.Background(), root, "", 0, func(c *farm.Config) error {
		_ = started("a")(c)
		c.Farm("a").HTTP.ConnectTimeout = 3
		return fault
	})
	if err != fault {
		t.Fatal(err)
	}
	h.wantRejections("a start among other things", nil)
	if _, err = h.Change(context.Background(), root, "", 0, func(c *farm.Config) error { _ = started("a")(c); return fault }); err != fault {
		t.Fatal(err)
	}
	h.wantRejections("a start alone", map[string]string{"a": fault.Error()})
	h.pub.Answer(func(*farm.Config) (apply.Outcome, error) { return apply.Outcome{}, apply.ErrUnavailable })
	if _, err = h.Restart(context.Background(), root, "a"); !errors.Is(err, apply.ErrUnavailable) {
		t.Fatal(err)
	}
	h.wantRejections("nobody to start it", map[string]string{"a": apply.ErrUnavailable.Error()})
}
