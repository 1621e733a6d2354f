package headroom

import (
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/stats"
)

// begin is the start of simulated time.
var begin = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// counted feeds a window with intervals of five seconds.
type counted struct {
	w       window
	backend stats.Backend
	times   stats.Times
	now     time.Time
}

func (c *counted) step(answers int, took time.Duration, underWay uint64) (Sample, bool) {
	if c.now.IsZero() {
		c.now = begin
		c.w.since(CountOf(c.now, &c.backend, &c.times))
	}
	c.now = c.now.Add(5 * time.Second)
	for range answers {
		c.times.FirstByte.Observe(int64(took))
		c.times.Total.Observe(2 * int64(took))
	}
	c.backend.Established = underWay
	i, ok := c.w.since(CountOf(c.now, &c.backend, &c.times))
	if !ok {
		return Sample{}, false
	}
	return c.w.add(i)
}

func TestSampleDescribesTheRequests(t *testing.T) {
	var c counted
	s, ok := c.step(1000, 10*time.Millisecond, 4)
	if !ok || s.Latency != 10*time.Millisecond || s.Concurrency != 4 || s.Rate != 200 || s.Length != 5*time.Second || !s.Time.Equal(c.now) {
		t.Errorf("%+v %v", s, ok)
	}
}

// Few requests are accumulated. Idle intervals do not reduce their concurrency.
func TestFewRequestsAreGathered(t *testing.T) {
	var c counted
	for i := range 20 {
		n := 0
		if i%2 == 0 {
			n = 40
		}
		s, ok := c.step(n, 40*time.Millisecond, 0)
		if ok {
			if s.Concurrency < 0.63 || s.Concurrency > 0.65 || i < 2 {
				t.Errorf("after %d steps %+v", i, s)
			}
			return
		}
	}
	t.Error("no sample")
}

func TestFewRequestsYieldNoSample(t *testing.T) {
	var c counted
	for range 1000 {
		if s, ok := c.step(0, 0, 0); ok {
			t.Fatalf("%+v", s)
		}
		if s, ok := c.step(1, time.Millisecond, 0); ok {
			t.Fatalf("%+v", s)
		}
	}
	if c.w.length > longest {
		t.Errorf("it gathers for %v", c.w.length)
	}
}

// Variable latencies need more requests for a mean.
func TestSampleExtendsUntilItsMeanIsExact(t *testing.T) {
	var c counted
	for i := range 9 {
		c.step(1, 20*time.Second, 1)
		if s, ok := c.step(60, time.Millisecond, 1); ok {
			t.Errorf("after %d: %+v", i, s)
		}
	}
}

func TestLongRequestsAreMeasuredLonger(t *testing.T) {
	var c counted
	steps := 0
	for ok := false; !ok && steps < 100; steps++ {
		_, ok = c.step(100, 10*time.Second, 200) // each takes 20 s in total
	}
	if steps != 16 {
		t.Errorf("%d steps of 5 s", steps)
	}
}

func TestOpenTunnelsExcludeTheSample(t *testing.T) {
	b := &backend{from: loadBins}
	var c counted
	c.step(0, 0, 0)
	for range 20 {
		c.step(0, 0, 0)
	}
	feed := func(underWay uint64) {
		for range 20 {
			c.now = c.now.Add(5 * time.Second)
			for range 1000 {
				c.times.FirstByte.Observe(int64(time.Millisecond))
				c.times.Total.Observe(int64(time.Millisecond))
			}
			c.backend.Established = underWay
			b.observe(CountOf(c.now, &c.backend, &c.times))
		}
	}
	feed(1)
	if feed(300); b.tunnelled < known {
		t.Errorf("%d left out", b.tunnelled)
	}
	*b = backend{from: loadBins}
	feed(300)
	if len(b.curve.cells) != 0 || b.tunnelled < known {
		t.Errorf("%d cells, %d left out", len(b.curve.cells), b.tunnelled)
	}
	if b.load.value < 250 {
		t.Errorf("%g are under way", b.load.value)
	}
	if feed(1); len(b.curve.cells) == 0 || b.tunnelled != 0 {
		t.Errorf("%d cells, %d left out", len(b.curve.cells), b.tunnelled)
	}
}

func TestGaugeMayExceedLoadByNoise(t *testing.T) {
	for underWay, want := range map[float64]bool{0: true, 16: true, 52: true, 53: false, 1000: false} {
		if got := explained(16, underWay); got != want {
			t.Errorf("%g under way are explained by 16: got %v, want %v", underWay, got, want)
		}
	}
}

func TestFewRequestsAreNotTunnels(t *testing.T) {
	b := &backend{from: loadBins}
	var c counted
	for range 20 {
		c.step(1, time.Millisecond, 1)
		b.observe(CountOf(c.now, &c.backend, &c.times))
	}
	if b.tunnelled != 0 {
		t.Errorf("%d left out", b.tunnelled)
	}
}

// A gap between counts or a restart of counters yields no interval.
func TestGapsYieldNoInterval(t *testing.T) {
	var c counted
	c.step(1000, time.Millisecond, 1)
	c.now = c.now.Add(pause)
	if s, ok := c.step(1000, time.Millisecond, 1); ok {
		t.Errorf("after a pause: %+v", s)
	}
	c.times = stats.Times{}
	if s, ok := c.step(500, time.Millisecond, 1); ok {
		t.Errorf("after a new engine: %+v", s)
	}
	if _, ok := c.step(1000, time.Millisecond, 1); !ok {
		t.Error("no result afterwards")
	}
}
