package headroom

import (
	"math"
	"time"

	"github.com/sluicelb/sluice/core/stats"
)

const (
	// recent is over which time what is now is averaged.
	recent = 30 * time.Second
	// hours is how far back the peak is.
	hours = 24
	// driftTime is how much traffic a latency must have been another one for the backend to
	// be another one: nightly work of an hour or two is not.
	driftTime = 12 * time.Hour
	// drifted is the mean logarithm of the ratio at which it is.
	drifted = 0.35
	// estimateEvery is after how many samples the bend is looked for anew, for drift.
	estimateEvery = 12
)

// backend is what is known of one.
type backend struct {
	key    uint64 // of which server it is known
	window window
	curve  curve
	since  time.Time // since when the curve is learned
	anew   bool      // because latency became another one
	drift  float64
	from   int // where the curve was bent last
	count  int // of samples since
	load   moving
	rate   moving
	peaks  [hours]peak
	// tunnelled counts samples that were left out one after the other.
	tunnelled int
	seen      time.Time // in a configuration
}

// peak is the highest of an hour.
type peak struct {
	hour       uint32 // since 1970
	load, rate float32
}

// moving is an average over the last while, which begins with the first value.
type moving struct {
	value float64
	known bool
}

func (m *moving) add(v float64, length time.Duration) {
	if !m.known {
		m.value, m.known = v, true
	}
	m.value += (v - m.value) * (1 - math.Exp(-length.Seconds()/recent.Seconds()))
}

// observe takes a count.
func (b *backend) observe(c Count) {
	i, ok := b.window.since(c)
	if !ok {
		b.window.clear()
		return
	}
	b.load.add(i.load(), i.length)
	b.rate.add(float64(i.answers)/i.length.Seconds(), i.length)
	s, ok := b.window.add(i)
	switch {
	case ok:
		b.tunnelled = 0
		b.learn(s)
	case s.Length > 0:
		b.tunnelled++
	}
}

// idle reports whether there is nothing to count: no request since the last count, none
// under way, and none in the window.
func (b *backend) idle(sum *stats.Backend) bool {
	w := &b.window
	return !w.last.Time.IsZero() && w.length == 0 && w.last.UnderWay == 0 && sum.Established == 0 && sum.Requests == w.last.Requests
}

// rest takes note of a time without anything.
func (b *backend) rest(now time.Time) {
	length := now.Sub(b.window.last.Time)
	b.window.last.Time = now
	b.load.add(0, length)
	b.rate.add(0, length)
}

// learn adds a sample to what is known.
func (b *backend) learn(s Sample) {
	b.peak(s)
	if b.since.IsZero() {
		b.since = s.Time
	}
	if b.drifts(s) {
		b.curve, b.drift, b.count, b.from = curve{}, 0, 0, loadBins
		b.since, b.anew = s.Time, true
	}
	b.curve.add(s)
	if b.count--; b.count < 0 {
		b.from, b.count = b.curve.estimate().from, estimateEvery
	}
}

// drifts follows how far samples are from what is known of their load, and reports
// whether it is another backend. Beyond the bend a longer latency says nothing.
func (b *backend) drifts(s Sample) bool {
	at := loadBin(s.Concurrency)
	p := b.curve.at(at)
	if p.weight < known {
		return false
	}
	ratio := math.Log(s.Latency.Seconds() / p.latency)
	if ratio > 0 && at >= b.from {
		return false
	}
	share := 1 - math.Exp(-s.Length.Hours()/driftTime.Hours())
	b.drift += (min(max(ratio, -1), 1) - b.drift) * share
	return math.Abs(b.drift) > drifted
}

// peak keeps the highest of the hour.
func (b *backend) peak(s Sample) {
	hour := uint32(s.Time.Unix() / 3600)
	p := &b.peaks[hour%hours]
	if p.hour != hour {
		*p = peak{hour: hour}
	}
	p.load, p.rate = max(p.load, float32(s.Concurrency)), max(p.rate, float32(s.Rate))
}

// highest is the highest of the last day.
func (b *backend) highest(now time.Time) (out peak) {
	hour := uint32(now.Unix() / 3600)
	for _, p := range b.peaks {
		if p.hour <= hour && hour-p.hour < hours {
			out.load, out.rate = max(out.load, p.load), max(out.rate, p.rate)
		}
	}
	return out
}
