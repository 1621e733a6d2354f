package rejection_test

import (
	"context"
	"log/slog"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/core/rejection"
)

const (
	bad rejection.Class = iota
	slow
)

// start returns a Log of two classes without timestamps.
func start(loops int) (*rejection.Log, *logtest.Log) {
	out := new(logtest.Log)
	h := slog.NewTextHandler(out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	return rejection.New(slog.New(h).With("role", "engine"), loops, "bad", "slow"), out
}

func event(class rejection.Class) rejection.Event {
	return rejection.Event{Class: class, Status: 400, Farm: "shop", Reason: "no good", Client: netip.MustParseAddrPort("192.0.2.1:567")}
}

var suppressed = regexp.MustCompile(` suppressed=(\d+)`)

// total returns the number of events that the lines of a class represent.
func total(lines []string, class string) (n int) {
	for _, line := range lines {
		if !strings.Contains(line, " class="+class+" ") {
			continue
		}
		if strings.Contains(line, "msg=refused ") {
			n++
		}
		if m := suppressed.FindStringSubmatch(line); m != nil {
			left, _ := strconv.Atoi(m[1])
			n += left
		}
	}
	return n
}

func TestEventBecomesALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, out := start(1)
		defer l.Close()
		l.Recorder(0).Add(0, event(bad))
		l.Recorder(0).Add(0, rejection.Event{Class: slow, Reason: "it took too long", Backend: netip.MustParseAddrPort("[2001:db8::1]:80")})
		time.Sleep(time.Second)
		want := []string{
			`level=WARN msg=refused role=engine farm=shop class=bad reason="no good" client=192.0.2.1:567 status=400`,
			`level=WARN msg=refused role=engine farm="" class=slow reason="it took too long" backend=[2001:db8::1]:80`,
		}
		for i, got := range out.Lines("") {
			if i >= len(want) || got != want[i] {
				t.Errorf("line %d is %s", i, got)
			}
		}
		if n := len(out.Lines("")); n != len(want) {
			t.Errorf("%d lines, want %d", n, len(want))
		}
	})
}

func TestFloodLeavesFewLinesAndTheRightTotal(t *testing.T) {
	const loops, each, seconds = 3, 10000, 5
	synctest.Test(t, func(t *testing.T) {
		l, out := start(loops)
		defer l.Close()
		for i := range loops * each {
			l.Recorder(i%loops).Add(int64(i)*int64(seconds*time.Second)/(loops*each), event(bad))
			if i%(each/100) == 0 {
				time.Sleep(seconds * time.Second / (loops * 100))
			}
		}
		time.Sleep(3 * time.Second) // the flood is over
		lines := out.Lines("")
		if got := total(lines, "bad"); got != loops*each {
			t.Errorf("the lines cover %d events, want %d", got, loops*each)
		}
		if most := loops*(rejection.Burst+seconds) + 1; len(lines) > most {
			t.Errorf("%d lines, want at most %d", len(lines), most)
		}
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, `level=WARN msg="refused, not shown one by one" role=engine class=bad suppressed=`) {
			t.Errorf("the last line is %s", last)
		}
	})
}

func TestSuppressedEventsOfAnIdleLoopAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, out := start(2)
		defer l.Close()
		for range 100 {
			l.Recorder(0).Add(0, event(bad))
		}
		for second := range 5 {
			l.Recorder(1).Add(int64(second)*int64(time.Second), event(bad))
			time.Sleep(time.Second)
		}
		if got := total(out.Lines(""), "bad"); got != 105 {
			t.Errorf("the lines cover %d events, want 105", got)
		}
	})
}

func TestFloodOfOneClassHidesNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, out := start(1)
		defer l.Close()
		for range 10000 {
			l.Recorder(0).Add(0, event(bad))
		}
		l.Recorder(0).Add(0, event(slow))
		time.Sleep(time.Second)
		if got := total(out.Lines(""), "slow"); got != 1 {
			t.Errorf("%d lines of the other class, want 1", got)
		}
	})
}

func TestQuietClassGetsItsBurstAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, out := start(1)
		defer l.Close()
		var now int64
		for range 3 {
			for range rejection.Burst {
				l.Recorder(0).Add(now, event(bad))
			}
			now += int64(rejection.Burst * rejection.Every)
			time.Sleep(time.Second)
		}
		if got := len(out.Lines("")); got != 3*rejection.Burst {
			t.Errorf("%d lines, want %d", got, 3*rejection.Burst)
		}
	})
}

func TestCloseWritesPendingEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, out := start(2)
		for range 2 { // the first time some events have lines, the second time all are suppressed
			for i := range 50 {
				l.Recorder(i%2).Add(0, event(bad))
			}
			time.Sleep(rejection.Every * 3 / 8)
		}
		l.Recorder(0).Add(0, event(bad))
		l.Close()
		l.Close()
		if got := total(out.Lines(""), "bad"); got != 101 {
			t.Errorf("the lines cover %d events, want 101", got)
		}
	})
}

// stuck is a log that blocks until free is closed.
type stuck struct {
	slog.Handler
	free chan struct{}
}

func (s stuck) Handle(ctx context.Context, r slog.Record) error {
	<-s.free
	return s.Handler.Handle(ctx, r)
}

func TestStuckLogBlocksNoLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, free := new(logtest.Log), make(chan struct{})
		l := rejection.New(slog.New(stuck{slog.NewTextHandler(out, nil), free}), 1, "bad", "slow")
		began, events := time.Now(), 0
		for second := range 1000 { // one token each: more lines than the ring holds
			l.Recorder(0).Add(int64(second)*int64(time.Second), event(bad))
			events++
			if second < 10 {
				time.Sleep(time.Second) // the Log blocks on the first line
			}
		}
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("Add waited: %s", took-10*time.Second)
		}
		l.Close() // times out
		close(free)
		time.Sleep(time.Second)
		if got := total(out.Lines(""), "bad"); got != events {
			t.Errorf("the lines cover %d events, want %d", got, events)
		}
	})
}

// TestLoopsAndTheLogAgree is for the race detector: every loop has its own goroutine
// while the Log reads.
func TestLoopsAndTheLogAgree(t *testing.T) {
	const loops, each = 4, 5000
	l, out := start(loops)
	var wg sync.WaitGroup
	for i := range loops {
		wg.Go(func() {
			for n := range each {
				l.Recorder(i).Add(int64(n)*int64(rejection.Every)/2, event(bad))
			}
		})
	}
	wg.Wait()
	l.Close()
	if got := total(out.Lines(""), "bad"); got != loops*each {
		t.Errorf("the lines cover %d events, want %d", got, loops*each)
	}
}

func TestLevelAboveWarnLogsNothing(t *testing.T) {
	out := new(logtest.Log)
	l := rejection.New(slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelError})), 1, "bad")
	l.Recorder(0).Add(0, event(bad))
	l.Close()
	if got := out.Lines(""); len(got) != 0 {
		t.Errorf("logged %q", got)
	}
}

func TestShowsPredictsTheLog(t *testing.T) {
	r, now := rejection.NewRecorder(2), int64(0)
	for i := range rejection.Burst {
		for range 2 { // Shows has no side effects
			if !r.Shows(now, bad) {
				t.Fatalf("line %d is not shown", i)
			}
		}
		r.Add(now, event(bad))
	}
	if r.Shows(now, bad) || !r.Shows(now, slow) || !r.Shows(now+int64(rejection.Every), bad) {
		t.Error("Shows disagrees with the log beyond the share, for another class or a second later")
	}
	for i := range rejection.RingSize {
		r.Add(int64(i)*int64(rejection.Every), event(bad))
	}
	if r.Shows(int64(time.Hour), slow) {
		t.Error("it is shown though the ring is full")
	}
}
