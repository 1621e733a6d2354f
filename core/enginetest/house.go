// Package enginetest is what engines stand on, in a test's own process: loops,
// the health table, counters, and the sockets netd would open.
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

// House is one of each.
type House struct {
	Health  *health.Table
	Segment *stats.Segment
	Loops   []*loop.Loop
	Files   map[string][]*os.File // listening sockets, one per loop, by key
	Log     logtest.Log           // what the engine says

	memory []*shm.Mapping
}

// New starts that many loops. End ends them.
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

// Logger writes to the log.
func (h *House) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(&h.Log, nil)) }

// Turn waits until every loop is between two events: what is sent is counted
// after it was, and what is refused after it was noted.
func (h *House) Turn() {
	for _, l := range h.Loops {
		done := make(chan struct{})
		l.Post(func() { close(done) })
		<-done
	}
}

// End lets the house end with the test, which fails if a panic was contained:
// the engine first, by close, then the loops, and then what they used.
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

// Memory is shared memory of that size, which is there as long as the loops are.
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

// Eventually waits until ok holds, at most five seconds.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("not within five seconds: %s", what)
}

// Advance lets time pass on a loop: its clock goes on by d. What was due until then
// has expired when Advance returns, so a test neither waits for a time-out nor needs
// to know how long the machine takes.
func Advance(l *loop.Loop, d time.Duration) {
	passed := make(chan struct{})
	l.Post(func() {
		// Nothing but tests sets a clock, so the loop has no method for it.
		all := reflect.ValueOf(l).Elem()
		base := (*time.Time)(all.FieldByName("base").Addr().UnsafePointer())
		*base = base.Add(-d)
		// One tick left to wait is none: the loop does not take the step for a time in
		// which the process could not run.
		*(*int64)(all.FieldByName("wheel").FieldByName("spared").Addr().UnsafePointer()) = 1
	})
	l.Post(func() { l.StartTimer(l.NewTimer(func() { close(passed) }), 1) }) // behind all that is due
	<-passed
}
