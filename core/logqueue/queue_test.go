package logqueue_test

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/logqueue"
	"github.com/sluicelb/sluice/core/logtest"
)

func lostLine(lost uint64) string { return fmt.Sprint("lost ", lost) }

// stuck is a log that blocks until free is closed.
type stuck struct {
	logtest.Log
	free chan struct{}
}

func newStuck() *stuck { return &stuck{free: make(chan struct{})} }

func (s *stuck) Write(p []byte) (int, error) {
	<-s.free
	return s.Log.Write(p)
}

func TestLinesComeInOrderOneByOne(t *testing.T) {
	var log logtest.Log
	q := logqueue.New(&log, lostLine)
	line := []byte("x 0\n")
	for i := range 10 {
		line[2] = byte('0' + i)
		if n, err := q.Write(line); n != len(line) || err != nil {
			t.Error(n, err)
		}
	}
	if !q.Flush(5 * time.Second) {
		t.Fatal("not written")
	}
	if got := log.String(); got != "x 0\nx 1\nx 2\nx 3\nx 4\nx 5\nx 6\nx 7\nx 8\nx 9\n" {
		t.Errorf("written: got %q, want %q", got, "x 0\nx 1\nx 2\nx 3\nx 4\nx 5\nx 6\nx 7\nx 8\nx 9\n")
	}
}

func TestStuckLogBlocksNoWriterAndReportsLoss(t *testing.T) {
	for name, size := range map[string]int{"many lines": 10, "long lines": 10_000} {
		t.Run(name, func(t *testing.T) {
			s := newStuck()
			q := logqueue.New(s, lostLine)
			line := []byte(strings.Repeat("x", size-1) + "\n")
			const lines = 8 * 1000
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					for range lines / 8 {
						_, _ = q.Write(line)
					}
				})
			}
			all.Wait() // would never return
			if q.Lost() == 0 {
				t.Error("no line is lost")
			}
			if q.Flush(10 * time.Millisecond) {
				t.Error("Flush reports success without a write")
			}
			close(s.free)
			enginetest.Eventually(t, "all is written", func() bool { return q.Flush(time.Second) })
			kept, lost := len(s.Lines("xx")), 0
			for _, line := range s.Lines("lost ") {
				var n int
				_, _ = fmt.Sscanf(line, "lost %d", &n)
				lost += n
			}
			if kept > 4096 || kept*size > 1<<20 {
				t.Errorf("%d lines of %d bytes waited", kept, size)
			}
			if kept == 0 || kept+lost != lines || q.Lost() != 0 {
				t.Errorf("%d of %d lines are written, %d reported as lost", kept, lines, lost)
			}
			_, _ = q.Write(line)
			if q.Flush(5 * time.Second); len(s.Lines("xx")) != kept+1 {
				t.Error("the next line is lost, too")
			}
		})
	}
}

func TestQueueSurvivesWriteErrors(t *testing.T) {
	r, w := io.Pipe()
	_ = r.Close()
	q := logqueue.New(w, lostLine)
	for range 3 {
		_, _ = q.Write([]byte("x\n"))
	}
	if !q.Flush(5 * time.Second) {
		t.Error("it stopped")
	}
}
