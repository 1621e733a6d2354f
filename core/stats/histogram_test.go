package stats_test

import (
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/stats"
)

// bucketOf is the bucket a duration must be in by the bounds alone.
func bucketOf(d time.Duration) int {
	for i := range stats.Buckets {
		if d <= stats.Bound(i) {
			return i
		}
	}
	return stats.Buckets
}

func TestDurationIsCountedInTheFirstBucketThatReachesIt(t *testing.T) {
	durations := []time.Duration{-1, 0, 1, time.Microsecond, time.Millisecond, 3 * time.Second, time.Minute, time.Hour, 1<<63 - 1}
	for i := range stats.Buckets {
		durations = append(durations, stats.Bound(i)-1, stats.Bound(i), stats.Bound(i)+1)
	}
	for _, d := range durations {
		var h stats.Histogram
		h.Observe(int64(d))
		if want := bucketOf(d); h.Counts[want] != 1 || h.Count() != 1 {
			t.Errorf("%v: counts %v, want bucket %d", d, h.Counts, want)
		}
	}
}

func TestBoundsAreFromMicrosecondsToAMinute(t *testing.T) {
	if first, last := stats.Bound(0), stats.Bound(stats.Buckets-1); first > 50*time.Microsecond || last < time.Minute {
		t.Errorf("from %v to %v", first, last)
	}
	for i := 1; i < stats.Buckets; i++ {
		if stats.Bound(i) != 2*stats.Bound(i-1) {
			t.Errorf("bound %d is %v after %v", i, stats.Bound(i), stats.Bound(i-1))
		}
	}
}

func TestSumOfDurationsIsKept(t *testing.T) {
	var h stats.Histogram
	for _, n := range []int64{10, 20, 70_000_000, -5} { // that clock went back
		h.Observe(n)
	}
	if h.Nanos != 70_000_031 {
		t.Errorf("sum is %d", h.Nanos)
	}
}

func BenchmarkObserve(b *testing.B) {
	var h stats.Histogram
	for i := int64(0); b.Loop(); i += 4097 {
		h.Observe(i & (1<<30 - 1))
	}
}
