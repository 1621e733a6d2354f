package stats_test

import (
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/stats"
)

// bucketOf returns the bucket of a duration, derived from the bounds alone.
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
	for _, n := range []int64{10, 20, 70_000_000, -5} { // the clock went back
		h.Observe(n)
	}
	if h.Nanos != 70_000_031 {
		t.Errorf("sum is %d, want 70_000_031", h.Nanos)
	}
}

func BenchmarkObserve(b *testing.B) {
	var h stats.Histogram
	for i := int64(0); b.Loop(); i += 4097 {
		h.Observe(i & (1<<30 - 1))
	}
}

func TestQuantilesAreSpreadEvenlyInTheirBucket(t *testing.T) {
	var h stats.Histogram
	if _, known := h.Quantile(0.5); known {
		t.Error("an empty histogram has a quantile")
	}
	for range 99 {
		h.Observe(int64(stats.Bound(3)))
	}
	h.Observe(int64(stats.Bound(9)))
	for share, want := range map[float64]time.Duration{
		0.99: stats.Bound(3), 1: stats.Bound(9), 0.995: stats.Bound(8) + (stats.Bound(9)-stats.Bound(8))/2, 0.33: stats.Bound(2) + stats.Bound(2)/3,
	} {
		if got, known := h.Quantile(share); !known || (got-want).Abs() > time.Microsecond {
			t.Errorf("%v: %v %v, want %v", share, got, known, want)
		}
	}
	h = stats.Histogram{}
	h.Observe(1 << 62)
	if got, _ := h.Quantile(0.5); got != stats.Bound(stats.Buckets-1) {
		t.Errorf("beyond all bounds: %v", got)
	}
}

func TestSinceReturnsTheDifferenceOfTwoHistograms(t *testing.T) {
	var before, now stats.Histogram
	before.Observe(5)
	now = before
	now.Observe(70)
	now.Observe(1 << 30)
	got := now.Since(&before)
	if got.Count() != 2 || got.Nanos != 70+1<<30 || got.Counts[0] != 1 {
		t.Errorf("%+v", got)
	}
	if got := before.Since(&now); got.Count() != 0 || got.Nanos != 0 {
		t.Errorf("counters that were reset: %+v", got)
	}
}
