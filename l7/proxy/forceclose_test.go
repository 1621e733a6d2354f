package proxy_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/l7/proxy"
)

// The grace period of a farm may end after the loops, with or without a closed engine. The
// engine must not wait for it then.
func TestAGraceThatEndsAfterTheLoopsIsNoWait(t *testing.T) {
	for _, closed := range []bool{true, false} {
		healthTable, err := health.OpenTable(make([]byte, health.TableSize))
		if err != nil {
			t.Fatal(err)
		}
		segment, err := stats.CreateSegment(make([]byte, stats.SegmentSize), 1)
		if err != nil {
			t.Fatal(err)
		}
		l, err := loop.New(&loop.Counters{Events: new(uint64), Accepted: new(uint64), AcceptErrors: new(uint64), Panics: new(uint64)})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- l.Run() }()
		e := proxy.New([]*loop.Loop{l}, healthTable, segment, slog.New(slog.DiscardHandler))
		if closed {
			e.Close()
		}
		l.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		done := make(chan struct{})
		go func() { e.ForceClose(); close(done) }()
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			t.Fatalf("closed %v: it waits for loops that are gone", closed)
		}
		if !closed {
			e.Close()
		}
	}
}
