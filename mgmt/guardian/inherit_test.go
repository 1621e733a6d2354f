package guardian_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
)

// first returns the first backend of the only farm.
func first(cfg *farm.Config) *farm.Backend { return &cfg.Farms[0].HTTP.Services[0].Backends[0] }

// A backend that was down when its task ended stays down until the first result. Otherwise
// clients are sent to it, and it is reported as up again.
func TestDownBackendStaysDownAcrossAChange(t *testing.T) {
	shop := func() *farm.Config { return config(alive(), web("shop", "alive", 1, 2)) }
	away := func(edit func(*farm.Config)) []*farm.Config {
		cfg := shop()
		edit(cfg)
		return []*farm.Config{cfg, shop()}
	}
	other := web("other", "alive", 7) // with the same server
	other.HTTP.Services[0].Backends[0].Addr = server(1)
	for name, change := range map[string][]*farm.Config{
		"stop":        away(func(c *farm.Config) { c.Farms[0].Stopped = true }),
		"maintenance": away(func(c *farm.Config) { first(c).Maintenance = farm.MaintenanceDrain }),
		"two changes": {
			away(func(c *farm.Config) { c.Farms[0].Stopped = true })[0],
			away(func(c *farm.Config) { c.Farms[0].Stopped, first(c).Weight = true, 3 })[0],
			shop(),
		},
		"command": away(func(c *farm.Config) { c.Checks[0].Command = "ask more" })[:1],
		"mark":    away(func(c *farm.Config) { first(c).Mark = 5 })[:1],
		"source":  away(func(c *farm.Config) { first(c).Source = server(9) })[:1],
		"port":    away(func(c *farm.Config) { first(c).Port = 81 })[:1],
		"shared": {
			away(func(c *farm.Config) { c.Farms[0].Stopped = true })[0],
			config(alive(), other, web("shop", "alive", 1, 2)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := start(t, 0)
				h.breaks(server(1), "refused")
				h.Set(shop())
				time.Sleep(time.Minute)
				synctest.Wait()
				for _, cfg := range change {
					h.Set(cfg)
				}
				const why = "fails check alive: refused (before a change of the configuration)"
				if h.state(1) != health.Down || h.Why(1) != why || h.Awaits(1) {
					t.Errorf("after it: %v, %q", h.state(1), h.Why(1))
				}
				time.Sleep(time.Second)
				synctest.Wait()
				if h.state(1) != health.Down || strings.Contains(h.Why(1), "before") {
					t.Errorf("after a failure: %v, %q", h.state(1), h.Why(1))
				}
				h.breaks(server(1), "")
				for _, cfg := range change {
					h.Set(cfg)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if h.state(1) != health.Up {
					t.Errorf("after a success: %v", h.state(1))
				}
			})
		})
	}
}

// Otherwise the backend would be down forever, without a single result of its check.
func TestInheritedVerdictEndsWithAnUnableCheck(t *testing.T) {
	const why = "cannot be asked by check alive: no route"
	checks := []farm.Check{alive(), {Name: "content", Command: "ask content", Interval: 10, Timeout: 5}}
	both := func(farms ...farm.Farm) *farm.Config { return &farm.Config{Checks: checks, Farms: farms} }
	synctest.Test(t, func(t *testing.T) {
		h := start(t, 0)
		h.breaks(server(1), "refused")
		h.Set(both(web("shop", "content", 1)))
		time.Sleep(time.Minute)
		synctest.Wait()
		h.breaks(server(1), "local: not asked: no route")
		h.Set(both(web("shop", "alive", 1)))
		if h.state(1) != health.Down || h.unable(1) {
			t.Fatalf("after the change: %v, %q", h.state(1), h.Why(1))
		}
		turns := h.Turns()
		time.Sleep(time.Second)
		synctest.Wait()
		if !h.table.Slot(1).Usable() || !h.unable(1) || h.Why(1) != why || h.Awaits(1) || h.Turns() == turns {
			t.Errorf("after a check that could not be asked: %v, %q", h.state(1), h.Why(1))
		}
		if text := h.log.String(); !strings.Contains(text, "it counts as usable") {
			t.Errorf("log:\n%s", text)
		}
		h.breaks(server(1), "refused")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if h.state(1) != health.Down || strings.Contains(h.Why(1), "before") {
			t.Errorf("after a failure: %v, %q", h.state(1), h.Why(1))
		}
		h.breaks(server(1), "local: not asked: no route")
		time.Sleep(time.Minute)
		synctest.Wait()
		if h.state(1) != health.Down {
			t.Errorf("the check itself found it down: %v, %q", h.state(1), h.Why(1))
		}
		h.breaks(server(1), "refused")
		h.Set(both(web("shop", "content", 1)))
		time.Sleep(time.Second)
		synctest.Wait()
		h.breaks(server(1), "local: not asked: no route")
		time.Sleep(time.Minute)
		synctest.Wait()
		if h.state(1) != health.Down || strings.Contains(h.Why(1), "before") {
			t.Errorf("one failure confirmed the inherited verdict: %v, %q", h.state(1), h.Why(1))
		}
	})
}

// A verdict applies to all users of a task: that of one must not end the service of others.
func TestInheritedVerdictAffectsNoOtherFarm(t *testing.T) {
	checks := []farm.Check{alive(), {Name: "content", Command: "ask content", Interval: 10, Timeout: 5}}
	both := func(farms ...farm.Farm) *farm.Config { return &farm.Config{Checks: checks, Farms: farms} }
	other := func(check string, weight uint8) farm.Farm { // with the same server
		f := web("other", check, 7)
		f.ID, f.HTTP.Services[0].Backends[0].Addr, f.HTTP.Services[0].Backends[0].Weight = 7, server(1), weight
		return f
	}
	same := other("alive", 1)
	for name, c := range map[string]struct {
		alive         string // answer to check alive, "" for success
		before, after farm.Farm
	}{
		"unable":             {"local: not asked: no route", same, same},
		"unable and changed": {"local: not asked: no route", other("alive", 1), other("alive", 2)},
		"without a result":   {"", same, same},
		"with another check": {"", other("", 1), other("alive", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := start(t, 0)
				h.breaks(server(1), "refused")
				h.Set(both(web("shop", "content", 1)))
				time.Sleep(time.Minute)
				synctest.Wait()
				h.breaks(server(1), c.alive)
				h.Set(both(web("shop", "content", 1), c.before))
				if c.alive != "" {
					time.Sleep(10 * time.Second)
					synctest.Wait()
				}
				if h.state(1) != health.Down || !h.table.Slot(7).Usable() {
					t.Fatalf("before it: %v, %v", h.state(1), h.state(7))
				}
				h.Set(both(web("shop", "alive", 1), c.after))
				h.Reconcile()
				if !h.table.Slot(7).Usable() || h.state(7) == health.Down {
					t.Errorf("after it: %v, %q", h.state(7), h.Why(7))
				}
			})
		})
	}
}

// A task that cannot ask passes from one farm to another: the state of the new one stays open.
func TestUnableTaskInheritsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, 0)
		checks := []farm.Check{alive(), {Name: "content", Command: "ask content", Interval: 10, Timeout: 5}}
		other := web("other", "alive", 7)
		other.ID, other.HTTP.Services[0].Backends[0].Addr = 7, server(1)
		h.breaks(server(1), "refused")
		h.Set(&farm.Config{Checks: checks, Farms: []farm.Farm{web("shop", "content", 1)}})
		time.Sleep(time.Minute)
		synctest.Wait()
		h.breaks(server(1), "local: not asked: no route")
		h.Set(&farm.Config{Checks: checks, Farms: []farm.Farm{web("shop", "content", 1), other}})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if h.state(1) != health.Down {
			t.Fatalf("before it: %v", h.state(1))
		}
		h.Set(&farm.Config{Checks: checks, Farms: []farm.Farm{web("shop", "alive", 1)}})
		h.Reconcile()
		if !h.table.Slot(1).Usable() {
			t.Errorf("after it: %v, %q", h.state(1), h.Why(1))
		}
	})
}

// Without a check nothing is known about a backend, so it is used.
func TestABackendWithoutACheckInheritsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, 0)
		h.breaks(server(1), "refused")
		shop, none := config(alive(), web("shop", "alive", 1)), config(alive(), web("shop", "", 1))
		stopped := config(alive(), web("shop", "", 1))
		stopped.Farms[0].Stopped = true
		for _, between := range [][]*farm.Config{{none}, {stopped}, {config(alive(), web("shop", "alive", 2))}} {
			h.Set(shop)
			time.Sleep(time.Minute)
			synctest.Wait()
			if h.state(1) != health.Down {
				t.Fatalf("before: %v", h.state(1))
			}
			for _, cfg := range append(slices.Clone(between), config(alive(), web("shop", "alive", 1))) {
				h.Set(cfg)
				if h.state(1) != health.Undefined {
					t.Errorf("after it: %v, %q", h.state(1), h.Why(1))
				}
			}
			if !h.Awaits(1) {
				t.Error("no result is awaited")
			}
		}
	})
}

// The first verdict is a change of Awaits, even if the version of the table stays.
func TestTheFirstVerdictIsAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, 0)
		h.Set(config(alive(), web("shop", "alive", 1)))
		before, waits := h.Moved(), h.Awaits(1)
		time.Sleep(time.Second)
		synctest.Wait()
		if !waits || h.Awaits(1) || h.Moved() == before || h.state(1) != health.Up {
			t.Errorf("awaited %t, then %t, %v", waits, h.Awaits(1), h.state(1))
		}
		h.breaks(server(2), "local: no route")
		h.Set(config(alive(), web("shop", "alive", 2)))
		time.Sleep(time.Second)
		synctest.Wait()
		if h.Awaits(2) {
			t.Error("the result of a check that cannot be asked is awaited")
		}
	})
}
