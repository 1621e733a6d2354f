package http2

import "testing"

func TestLimitsAreAsDocumented(t *testing.T) {
	want := Limits{
		Streams: 128, HeaderList: 65536, Continuations: 32,
		Window: 65535, MaxWindow: 262144, ConnWindow: 262144, MaxConnWindow: 1048576,
		Output: 131072, Control: 65536,
		Resets: Rate{Burst: 128, PerSecond: 20}, Noise: Rate{Burst: 2048, PerSecond: 200},
	}
	if got := ServerLimits(); got != want {
		t.Errorf("towards clients %+v, want %+v", got, want)
	}
	want.ConnWindow, want.MaxConnWindow = 33554432, 33554432
	if got := ClientLimits(); got != want {
		t.Errorf("towards backends %+v, want %+v", got, want)
	}
}

// A bucket starts full, refills at its rate up to its capacity, and reads the clock only
// when it is empty.
func TestBucketsFillWithTime(t *testing.T) {
	const ms = 1_000_000
	b := newBucket(Rate{Burst: 4, PerSecond: 2}, 2, 0) // 8 tokens, one every 250 ms
	if !b.take(8, nil) {
		t.Error("a new bucket is not full")
	}
	for _, step := range []struct {
		at   int64
		want bool
	}{{249, false}, {500, true}, {749, false}, {1000, true}, {99_000, true}} {
		if got := b.take(1, func() int64 { return step.at * ms }); got != step.want {
			t.Errorf("after %d ms: %t, %+v", step.at, got, b)
		}
	}
	if b.tokens != 7 {
		t.Errorf("%d tokens after a long time", b.tokens)
	}
	b.give(2)
	if b.tokens != 8 {
		t.Errorf("%d tokens after a refund beyond the capacity", b.tokens)
	}
	if b = newBucket(Rate{Burst: 1}, 1, 0); !b.take(1, nil) || b.take(1, func() int64 { return 999 * ms }) || !b.take(0, func() int64 { return 1000 * ms }) {
		t.Errorf("a bucket that gets none gets not one a second: %+v", b)
	}
}

// The memory kept for later connections and streams is bounded.
func TestSparesAreBounded(t *testing.T) {
	for streams, want := range map[int]int{1: smallTable, smallTable: smallTable, smallTable + 1: 2 * smallTable, 128: 128, 129: 256} {
		limits := ServerLimits()
		limits.Streams = streams
		sh := NewShared(limits, nil, nil)
		if sh.tableSize != want {
			t.Errorf("a table for %d streams has %d places, want %d", streams, sh.tableSize, want)
		}
		for range 100 {
			sh.putTable(make([]*Stream, want))
		}
		for range 5000 {
			sh.put(new(Stream))
		}
		sh.wake()
		if len(sh.tables) != 64 || len(sh.free) != 4096 || len(sh.resting) != 0 {
			t.Errorf("kept are %d tables, %d streams and %d that rest", len(sh.tables), len(sh.free), len(sh.resting))
		}
	}
}
