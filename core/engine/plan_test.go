package engine_test

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/engine"
	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/marks/markstest"
	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/core/stats"
)

func TestAConfigurationComesIntoUseOnAllLoops(t *testing.T) {
	e, h := newEcho(t)
	f := at(t, h, 3)
	problems, err := e.publish(t, h, 1, f)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	if len(e.reconciled) != 2 || e.reconciled[0] != 1 || e.reconciled[1] != 1 || len(e.Listeners()) != 1 {
		t.Errorf("reconciled %v, listens on %v", e.reconciled, e.Listeners())
	}
	c, err := net.Dial("tcp", netip.AddrPortFrom(f.VIP, f.VPort).String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("an accepted client should be closed: %v", err)
	}
	_ = c.Close()
	if problems, err := e.Publish(2, &farm.Config{Farms: []farm.Farm{f, at(t, h, 4)}}, nil); err != nil || len(problems) != 1 || problems[4] == "" {
		t.Errorf("a farm without sockets: %v, %v", err, problems)
	}
}

// A plan changes nothing, and blocks every other change until it ends.
func TestDiscardedPlanChangesNothing(t *testing.T) {
	e, h := newEcho(t)
	f, other := at(t, h, 3), at(t, h, 4)
	if _, err := e.publish(t, h, 1, f); err != nil {
		t.Fatal(err)
	}
	var plan engine.Plan
	within(t, func() {
		var err error
		if plan, err = e.Prepare(2, &farm.Config{Farms: []farm.Farm{f, other}}); err != nil {
			t.Error(err)
		}
	})
	if needs := plan.Needs(); len(needs) != 1 || needs[0] != other.Listeners()[0].Key() {
		t.Errorf("it needs %v", needs)
	}
	next := make(chan error, 1)
	go func() {
		_, err := e.Publish(3, &farm.Config{Farms: []farm.Farm{f}}, nil)
		next <- err
	}()
	time.Sleep(20 * time.Millisecond)
	if e.Generation() != 1 {
		t.Errorf("generation %d while a plan is made", e.Generation())
	}
	plan.Discard()
	within(t, func() {
		if err := <-next; err != nil || e.Generation() != 3 {
			t.Errorf("the next change: got %v, generation %d, want 3", err, e.Generation())
		}
	})
}

func TestABadFarmRefusesAChangeButNotTheFirst(t *testing.T) {
	e, h := newEcho(t)
	good, bad := at(t, h, 3), farm.Farm{ID: 5, Name: "bad"}
	problems, err := e.publish(t, h, 1, good, bad)
	if err != nil || problems[5] != "it is bad" || len(e.Listeners()) != 1 {
		t.Errorf("at first: %v, %v", err, problems)
	}
	if _, err := e.publish(t, h, 2, good, bad); err == nil || e.Generation() != 1 {
		t.Errorf("later: %v, generation %d", err, e.Generation())
	}
	if _, err := e.publish(t, h, 3, good); err != nil {
		t.Errorf("the next change: %v", err) // the refused plan holds no lock
	}
}

func TestConnectionsOfRemovedFarmsEndAfterGrace(t *testing.T) {
	for _, grace := range []time.Duration{0, 50 * time.Millisecond, time.Hour} {
		e, h := newEcho(t)
		e.grace = grace
		if _, err := e.publish(t, h, 1, at(t, h, 3)); err != nil {
			t.Fatal(err)
		}
		stopped := time.Now()
		if _, err := e.publish(t, h, 2); err != nil || len(e.Listeners()) != 0 {
			t.Fatalf("%v, listens on %v", err, e.Listeners())
		}
		// On a busy machine a short grace may be over by now. One of an hour is not.
		if over := e.Workers[0].over.Load() > 0; over && time.Since(stopped) < grace || !over && grace == 0 {
			t.Errorf("grace %v: ended at once %t", grace, over)
		}
		if grace == time.Hour {
			continue
		}
		enginetest.Eventually(t, "it ends", func() bool { return e.Workers[0].over.Load() > 0 && e.Workers[1].over.Load() > 0 })
		if took := time.Since(stopped); took < grace {
			t.Errorf("grace %v: it ended after %v", grace, took)
		}
	}
}

// A slot of shared memory may have had another owner.
func TestNewOwnersOfSlotsStartWithZeroCounters(t *testing.T) {
	e, h := newEcho(t)
	h.Segment.AdoptFarm(3, 99)
	h.Segment.AdoptBackend(7, 99)
	h.Health.Adopt(7, 99)
	h.Segment.Shard(0).Farm(3).Requests, h.Segment.Shard(0).Backend(7).Requests = 5, 5
	h.Health.SetPassive(7, health.Down, time.Now())
	f := at(t, h, 3, farm.Backend{ID: 7, Addr: netip.MustParseAddr("127.0.0.1"), Port: 9})
	for generation := range uint64(2) {
		if _, err := e.publish(t, h, 1+generation, f); err != nil {
			t.Fatal(err)
		}
		if a, b := h.Segment.SumFarm(3), h.Segment.SumBackend(7); generation == 0 && (a != (stats.Farm{}) || b != (stats.Backend{})) || !h.Health.Slot(7).Usable() {
			t.Errorf("they begin with %+v, %+v, usable %t", a, b, h.Health.Slot(7).Usable())
		} else if generation == 1 && (a.Requests != 2 || b.Requests != 2) {
			t.Errorf("a change reset the counters: %+v, %+v", a, b)
		}
		h.Segment.Shard(0).Farm(3).Requests, h.Segment.Shard(0).Backend(7).Requests = 2, 2
	}
}

func TestBackendsFoundDownEarlierAreProbed(t *testing.T) {
	e, h := newEcho(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	h.Health.Adopt(7, 7)
	h.Health.SetPassive(7, health.Down, time.Now())
	to := ln.Addr().(*net.TCPAddr).AddrPort()
	if _, err := e.publish(t, h, 1, at(t, h, 3, farm.Backend{ID: 7, Addr: to.Addr(), Port: to.Port()})); err != nil {
		t.Fatal(err)
	}
	enginetest.Eventually(t, "it is up", func() bool { return h.Health.Slot(7).Passive() == health.Up })
}

func TestMissingMarkRefusesTheChange(t *testing.T) {
	e, h := newEcho(t)
	five, six := marked(t, h, 5, 50), marked(t, h, 6, 60)
	if _, err := e.publish(t, h, 1, five); err != nil {
		t.Fatal(err)
	}
	e.unable = errors.New("no capability")
	if _, err := e.publish(t, h, 2, five, six); !errors.Is(err, e.unable) {
		t.Errorf("a mark that cannot be had: %v", err)
	}
	if _, err := e.publish(t, h, 2, five); err != nil {
		t.Errorf("with a socket in use: %v", err)
	}
	six.Name = "other"
	asked := e.asked
	if _, err := e.publish(t, h, 3, five, six); err != nil || e.asked > asked {
		t.Errorf("sockets for the farm of another engine: %v, requested: %t", err, e.asked > asked)
	}
}

// Reserves keep unused sockets for ten seconds.
func TestMarkedSocketsAreReleasedWithTheirPlan(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, e *echo, h *enginetest.House, used, other farm.Farm){
		"discarded": func(t *testing.T, e *echo, h *enginetest.House, used, other farm.Farm) {
			plan, err := e.Prepare(2, &farm.Config{Farms: []farm.Farm{used, other}})
			if err != nil {
				t.Fatal(err)
			}
			plan.Discard()
		},
		"refused": func(t *testing.T, e *echo, h *enginetest.House, used, other farm.Farm) {
			if _, err := e.publish(t, h, 2, used, other, farm.Farm{ID: 9, Name: "bad"}); err == nil {
				t.Error("a bad farm was accepted")
			}
		},
		"replaced": func(t *testing.T, e *echo, h *enginetest.House, used, other farm.Farm) {
			for i, farms := range [][]farm.Farm{{used, other}, {used}} {
				if _, err := e.publish(t, h, uint64(2+i), farms...); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, h := newEcho(t)
			netd := markstest.New(t, slog.New(slog.DiscardHandler))
			e.MarkWith(netd.Reserve)
			used := marked(t, h, 5, 50)
			if _, err := e.publish(t, h, 1, used); err != nil {
				t.Fatal(err)
			}
			change(t, e, h, used, marked(t, h, 6, 60))
			if made := netd.Made(); len(made) != 2 {
				t.Errorf("made %v", made)
			}
			has := func(mark uint32) bool {
				fd, err := netd.Reserve.Socket(false, mark)
				shm.CloseDescriptors([]int{fd})
				return !errors.Is(err, marks.ErrNone)
			}
			for end := time.Now().Add(time.Minute); has(60); time.Sleep(100 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("they are kept")
				}
			}
			if !has(50) {
				t.Error("sockets in use were released")
			}
		})
	}
}
