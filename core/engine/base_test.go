package engine_test

import (
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/marks/markstest"
)

func TestDrainEndsWhenEngineIsIdle(t *testing.T) {
	e, h := newEcho(t)
	if _, err := e.publish(t, h, 1, at(t, h, 3)); err != nil {
		t.Fatal(err)
	}
	e.Workers[1].busy.Store(1)
	reconciled := e.Workers[0].reconciled.Load()
	time.AfterFunc(50*time.Millisecond, func() { e.Workers[1].busy.Store(0) })
	e.within(t, func() { e.Drain(time.Minute) })
	if e.Workers[1].busy.Load() != 0 || len(e.Listeners()) != 0 || e.Generation() != 1 {
		t.Errorf("busy %d, listens on %v", e.Workers[1].busy.Load(), e.Listeners())
	}
	if len(e.used.farms) > 0 {
		t.Errorf("farms %v are served", e.used.farms)
	}
	if e.Workers[0].reconciled.Load() == reconciled {
		t.Error("work in progress was not reconciled")
	}
	e.Workers[0].busy.Store(1)
	e.within(t, func() { e.Drain(10 * time.Millisecond) })
	e.within(t, func() {
		if !e.Stop() || e.Stop() {
			t.Error("it stops once")
		}
	})
}

func TestForceCloseOfAStoppedEngineDoesNothing(t *testing.T) {
	e, h := newEcho(t)
	if _, err := e.publish(t, h, 1, at(t, h, 3)); err != nil {
		t.Fatal(err)
	}
	e.within(t, e.ForceClose)
	h.Turn()
	for i, w := range e.Workers {
		if w.reconciled.Load() != 2 {
			t.Errorf("loop %d reconciled %d times, and not when graces ended", i, w.reconciled.Load())
		}
	}
	e.Stop()
	e.within(t, e.ForceClose)
	h.Turn()
	if got := e.Workers[0].reconciled.Load(); got != 2 {
		t.Errorf("reconciled %d times, and when it was closed", got)
	}
}

func TestEachLoopHasOneSocketPerOpenAddress(t *testing.T) {
	e, h := newEcho(t)
	f := at(t, h, 3)
	if _, err := e.publish(t, h, 1, f); err != nil {
		t.Fatal(err)
	}
	key := f.Listeners()[0].Key()
	var files []*os.File
	e.within(t, func() { files = e.Sockets(key) })
	for _, file := range files {
		_ = file.Close()
	}
	if len(files) != 2 || e.Sockets("tcp 192.0.2.1:1") != nil {
		t.Errorf("%d sockets", len(files))
	}
	if _, err := e.publish(t, h, 2); err != nil || e.Sockets(key) != nil {
		t.Errorf("%v, sockets of an address without listeners: %v", err, e.Sockets(key))
	}
}

func TestCallsToWorkersRunOnTheirLoops(t *testing.T) {
	e, _ := newEcho(t)
	e.Workers[0].busy.Store(2)
	e.Workers[1].busy.Store(5)
	if got := e.Sum((*hand).Busy); got != 7 {
		t.Errorf("together they have %d under way, want 7", got)
	}
	e.OnLoops(func(w *hand) { w.busy.Store(0) })
	if got := e.Sum((*hand).Busy); got != 0 {
		t.Errorf("together they have %d under way, want 0", got)
	}
}

// Without privilege only the reserve has sockets with a mark.
func TestConnectionsWithAMarkUseTheSocketsOfTheReserve(t *testing.T) {
	e, _ := newEcho(t)
	e.MarkWith(markstest.New(t, slog.New(slog.DiscardHandler)).Reserve)
	e.OnLoops(func(w *hand) {
		_, err := w.loop.Dial(netip.MustParseAddrPort("127.0.0.1:9"), nil, int64(time.Second), loop.DialOptions{Mark: 50})
		if !errors.Is(err, marks.ErrNone) {
			t.Errorf("a mark the reserve has no sockets of: %v", err)
		}
	})
}
