package guardian_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/mgmt/guardian"
	"github.com/sluicelb/sluice/mgmt/probe"
)

// restart starts a guardian over an empty table, as the next run of the appliance does.
func restart(t *testing.T, before *house, edits ...func(*guardian.Options)) *house {
	t.Helper()
	table, err := health.OpenTable(make([]byte, health.TableSize))
	if err != nil {
		t.Fatal(err)
	}
	h := &house{town: before.town, table: table}
	o := guardian.Options{
		Table: table, Log: slog.New(slog.NewTextHandler(&h.log, nil)), Remembered: before.Verdicts(),
		Network: func(guardian.Route) probe.Network { return &probe.Machine{} },
		Parse:   func(command string) (probe.Probe, error) { return asking{h.town, command}, nil },
	}
	for _, edit := range edits {
		edit(&o)
	}
	h.Guardian = guardian.New(t.Context(), o)
	return h
}

func isKnown(g *guardian.Guardian) bool {
	select {
	case <-g.Known():
		return true
	default:
		return false
	}
}

func TestTheVerdictsBeforeARestartArePassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, 0)
		h.breaks(server(1), "refused")
		h.Set(config(alive(), web("shop", "alive", 1, 2)))
		time.Sleep(time.Minute)
		synctest.Wait()
		var seen [][2]health.State
		var next *house
		next = restart(t, h, func(o *guardian.Options) {
			o.Resumed = func(*farm.Config) {
				seen = append(seen, [2]health.State{next.state(1), next.state(2)})
			}
		})
		next.breaks(server(1), "")
		next.breaks(server(2), "refused")
		next.Set(config(alive(), web("shop", "alive", 1, 2)))
		time.Sleep(time.Minute)
		synctest.Wait()
		next.Set(config(alive(), web("shop", "alive", 1, 2, 3)))
		want := [][2]health.State{{health.Down, health.Up}}
		if !slices.Equal(seen, want) || next.state(1) != health.Up || next.state(2) != health.Down {
			t.Errorf("%v, then %v and %v", seen, next.state(1), next.state(2))
		}
	})
}

func TestVerdictsHoldOverARestartUntilTheFirstResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		check := alive()
		check.Rise, check.Fall = 3, 3
		h := start(t, 0)
		h.breaks(server(1), "refused")
		h.Set(config(check, web("shop", "alive", 1, 2, 4)))
		time.Sleep(time.Minute)
		synctest.Wait()
		next := restart(t, h)
		next.breaks(server(3), "refused")
		next.breaks(server(4), "refused") // was up
		next.Set(config(check, web("shop", "alive", 1, 2, 3, 4)))
		if next.state(1) != health.Down || next.state(2) != health.Up || next.state(3) != health.Undefined || next.state(4) != health.Up {
			t.Errorf("before the first result: %v %v %v %v", next.state(1), next.state(2), next.state(3), next.state(4))
		}
		if next.table.Slot(2).Latency() != h.table.Slot(2).Latency() || !strings.Contains(next.Why(1), "refused (before the restart)") {
			t.Errorf("latency %v, %q", next.table.Slot(2).Latency(), next.Why(1))
		}
		if isKnown(next.Guardian) {
			t.Error("all results are known before backend 3 was checked")
		}
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		if next.state(3) != health.Down || next.state(4) != health.Down || !isKnown(next.Guardian) {
			t.Errorf("one failure at the start does not decide: %v %v, known %t", next.state(3), next.state(4), isKnown(next.Guardian))
		}
		next.breaks(server(3), "") // it was busy for a moment, or the network was not up yet
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if next.state(3) != health.Up {
			t.Error("one failure at the start of a run asks for three successes")
		}
		next.breaks(server(1), "") // has failed twice in this run, and is probed a third time
		next.breaks(server(3), "refused")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if next.state(3) != health.Up {
			t.Error("one failure turns a verdict that is no longer provisional")
		}
	})
}

func TestAProvisionalDownTurnsFirmWithItsFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		check := alive()
		check.Rise, check.Fall = 3, 2
		h := start(t, 0)
		h.breaks(server(1), "refused")
		h.Set(config(check, web("shop", "alive", 1)))
		time.Sleep(12 * time.Second) // two failures
		synctest.Wait()
		h.breaks(server(1), "")
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if h.state(1) != health.Down {
			t.Errorf("two successes of three: %v", h.state(1))
		}
	})
}

func TestReconcileWritesAllTheGuardianKnows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, 0)
		h.breaks(server(1), "refused")
		h.loads = nil
		h.slow[server(2)] = time.Millisecond
		h.Set(config(alive(), web("shop", "alive", 1, 2), web("other", "", 3)))
		time.Sleep(time.Second)
		synctest.Wait()
		if n := h.Reconcile(); n != 0 {
			t.Errorf("%d wrong at first", n)
		}
		latency := h.table.Slot(2).Latency()
		for id := range uint32(4) {
			h.table.SetGuardian(id, health.Undefined, time.Now())
			h.table.Slot(id).SetLatency(0)
		}
		h.table.SetGuardian(3, health.Down, time.Now())
		if n := h.Reconcile(); n != 2 || h.state(1) != health.Down || h.state(2) != health.Up || h.state(3) != health.Undefined || h.table.Slot(2).Latency() != latency || latency == 0 {
			t.Errorf("%d wrong, then %v %v %v, %v", n, h.state(1), h.state(2), h.state(3), h.table.Slot(2).Latency())
		}
	})
}

func TestReconcileOfAnEndedGuardianWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, 0)
		ctx, end := context.WithCancel(t.Context())
		g := guardian.New(ctx, guardian.Options{Table: h.table, Network: func(guardian.Route) probe.Network { return &probe.Machine{} },
			Parse: func(command string) (probe.Probe, error) { return asking{h.town, command}, nil }})
		g.Set(config(alive(), web("shop", "alive", 1)))
		time.Sleep(time.Second)
		synctest.Wait()
		end()
		g.Wait()
		h.table.SetGuardian(1, health.Down, time.Now())
		if n := g.Reconcile(); n != 0 || h.state(1) != health.Down {
			t.Errorf("%d, %v", n, h.state(1))
		}
	})
}
