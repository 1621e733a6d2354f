package measure_test

import (
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/measure"
)

func TestPercentilesAreWithinOnePercentOfTheTruth(t *testing.T) {
	var h measure.Histogram
	for i := int64(1); i <= 100_000; i++ {
		h.Record(i * 1000)
	}
	for _, p := range []float64{0.001, 1, 50, 90, 99, 99.9, 100} {
		truth := p / 100 * 100_000 * 1000
		got := float64(h.Percentile(p))
		if got < truth*0.999 || got > truth*1.01 {
			t.Errorf("p%g = %v, truth %v", p, got, truth)
		}
	}
	if h.Count() != 100_000 || h.Max() != 100*time.Millisecond {
		t.Errorf("count %d, max %s", h.Count(), h.Max())
	}
}

func TestExtremeDurationsAreCounted(t *testing.T) {
	var h measure.Histogram
	for _, ns := range []int64{-5, 0, 1, 127, 128, 255, 256, 1 << 40, 1 << 50, 1<<63 - 1} {
		h.Record(ns)
	}
	if h.Count() != 10 {
		t.Fatalf("count %d", h.Count())
	}
	if got := h.Percentile(10); got != 0 {
		t.Errorf("p10 = %d", got)
	}
	if got := h.Percentile(40); got != 127 {
		t.Errorf("p40 = %d, durations under 256 ns are exact", got)
	}
}

func TestAnEmptyHistogramHasNoLatency(t *testing.T) {
	var h measure.Histogram
	if h.Percentile(99) != 0 || h.Max() != 0 {
		t.Error("an empty histogram tells a latency")
	}
}

func TestSparseFormKeepsEverything(t *testing.T) {
	var a, b, c measure.Histogram
	for i := range int64(5000) {
		a.Record(i * i)
	}
	b.Add(a.Sparse())
	c.Merge(&a)
	if b != a || c != a {
		t.Error("a histogram changed on its way")
	}
	b.Add(measure.Sparse{Buckets: [][2]uint64{{1 << 60, 3}}})
	if b.Count() != a.Count()+3 {
		t.Error("a bucket out of range was lost")
	}
}

func TestRecordingDoesNotAllocate(t *testing.T) {
	var h measure.Histogram
	if n := testing.AllocsPerRun(100, func() { h.Record(12345) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	var h measure.Histogram
	b.ReportAllocs()
	for i := range b.N {
		h.Record(int64(i) * 37)
	}
}
