// Package enginetest provides the environment of an engine within a test's own process:
// loops, the health table, counters, and the sockets that netd would open.
package enginetest

import (
	"log/slog"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/core/stats"
)

// House is the environment of one engine.
type House struct {
	Health  *health.Table
	Segment *stats.Segment
	Loops   []*loop.Loop
	Files   map[string][]*os.File // listening sockets, one per loop, by key
	Log     logtest.Log           // log output of the engine

	memory []*shm.Mapping
}

// New starts the given number of loops. The caller must call End.
func New(t testing.TB, loops int) *House {
	t.Helper()
	h := &House{Files: map[string][]*os.File{}}
	var err error
	if h.Health, err = health.OpenTable(make([]byte, health.TableSize)); err != nil {
		t.Fatal(err)
	}
	if h.Segment, err = stats.CreateSegment(h.Memory(t, stats.SegmentSize), loops); err != nil {
		t.Fatal(err)
	}
	for i := range loops {
		c := h.Segment.Shard(i).Loop()
		l, err := loop.New(&loop.Counters{Events: &c.Events, Accepted: &c.Accepted, AcceptErrors: &c.AcceptErrors, Panics: &c.Panics})
		if err != nil {
			t.Fatal(err)
		}
		h.Loops = append(h.Loops, l)
		go func() {
			if err := l.Run(); err != nil {
				t.Error(err)
			}
		}()
	}
	return h
}

// Logger returns a logger that writes to Log.
func (h *House) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(&h.Log, nil)) }

// Turn waits until every loop has finished its current event. Counters and logs of that
// event are complete then.
func (h *House) Turn() {
	for _, l := range h.Loops {
		done := make(chan struct{})
		l.Post(func() { close(done) })
		<-done
	}
}

// End registers the cleanup of the test: the engine first, by close, then the loops,
// then their resources. The cleanup fails the test if a panic was contained.
func (h *House) End(t testing.TB, close func()) {
	t.Cleanup(func() {
		close()
		h.end(t)
	})
}

func (h *House) end(t testing.TB) {
	for _, l := range h.Loops {
		l.Stop()
	}
	var panics uint64
	for _, c := range h.Segment.SumLoops() {
		panics += c.Panics
	}
	if panics > 0 {
		t.Errorf("%d panics were contained: %s", panics, h.Log.String())
	}
	for _, files := range h.Files {
		for _, f := range files {
			_ = f.Close()
		}
	}
	for _, m := range h.memory {
		_ = m.Close()
	}
}

// Memory returns shared memory of the given size, which is unmapped after the loops
// have stopped.
func (h *House) Memory(t testing.TB, size int) []byte {
	t.Helper()
	f, err := shm.Shared("test", size)
	if err != nil {
		t.Fatal(err)
	}
	m, err := shm.MapShared(f, true)
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	h.memory = append(h.memory, m)
	return m.Bytes()
}

// Eventually waits for ok to return true, for at most five seconds.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("not within five seconds: %s", what)
}

// Advance moves a loop's clock forward by d and waits until everything due by then has
// expired. Tests therefore need not wait for timeouts or assume a speed of the machine.
func Advance(l *loop.Loop, d time.Duration) {
	passed := make(chan struct{})
	l.Post(func() {
		// The loop has no method to set its clock, because only tests need one.
		all := reflect.ValueOf(l).Elem()
		base := (*time.Time)(all.FieldByName("base").Addr().UnsafePointer())
		*base = base.Add(-d)
		// A value of 1 ends a wait after a stall: the loop must not take the jump for a
		// time in which the process could not run.
		*(*int64)(all.FieldByName("wheel").FieldByName("spared").Addr().UnsafePointer()) = 1
	})
	l.Post(func() { l.StartTimer(l.NewTimer(func() { close(passed) }), 1) }) // after everything that is due
	<-passed
}
