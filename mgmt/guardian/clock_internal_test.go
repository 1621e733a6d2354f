package guardian

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/mgmt/probe"
)

// never is a probe of a server that is down.
type never struct{}

func (never) Run(context.Context, probe.Network, probe.Target, probe.Say) error {
	return errors.New("refused")
}

// The clock of the machine may be set forward or back by a day. Therefore the times that
// the scheduler compares have a monotonic reading. A time loses it when it is rounded,
// written or read. Without it, probes would run too often, or not at all, for a day.
func TestNoTimeOfTheSchedulerFollowsTheClockOfTheMachine(t *testing.T) {
	table, err := health.OpenTable(make([]byte, health.TableSize))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	g := New(ctx, Options{Table: table, Network: func(Route) probe.Network { return &probe.Machine{} }, Parse: func(string) (probe.Probe, error) { return never{}, nil }})
	defer g.Wait()
	defer cancel()
	check := farm.Check{Name: "alive", Command: "ask", Interval: 10, Timeout: 5}
	backend := farm.Backend{ID: 1, Addr: netip.MustParseAddr("10.0.0.1"), Port: 80}
	cfg := func() *farm.Config {
		return &farm.Config{Checks: []farm.Check{check}, Farms: []farm.Farm{{Name: "shop", Profile: farm.ProfileHTTP, HTTP: &farm.HTTP{Services: []farm.Service{{Name: "web", Check: "alive", Backends: []farm.Backend{backend}}}}}}}
	}
	look := func(when string) {
		t.Helper()
		g.mu.Lock()
		defer g.mu.Unlock()
		task := g.of[1]
		if task == nil {
			t.Fatal("no check is scheduled")
		}
		times := map[string]time.Time{"due": task.due}
		if !task.since.IsZero() {
			times["since"] = task.since
		}
		if last, is := task.results.last(); is {
			times["at"] = last.At
		}
		for name, at := range times {
			if at == at.Round(0) { // without monotonic reading
				t.Errorf("%s: %s is %v, which follows the clock of the machine", when, name, at)
			}
		}
	}
	g.Set(cfg())
	look("at first")
	found := func(what string, is func(task *task) bool) {
		t.Helper()
		enginetest.Eventually(t, what, func() bool {
			g.mu.Lock()
			defer g.mu.Unlock()
			return is(g.of[1])
		})
	}
	found("a verdict", func(task *task) bool { return task.verdict == health.Down && !task.running })
	look("after a probe")
	check.Interval = 1
	g.Set(cfg())
	look("with another interval")
	found("another probe", func(task *task) bool { return len(task.results.list) > 1 && !task.running })
	look("after that")
}
