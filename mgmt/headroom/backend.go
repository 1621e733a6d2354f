package headroom

import (
	"math"
	"time"

	"github.com/sluicelb/sluice/core/stats"
)

const (
	// recent is the time constant of the averages.
	recent = 30 * time.Second
	// hours is the period of the peak.
	hours = 24
	// driftTime is the time constant, in traffic time, of a permanent change of latency.
	// Nightly jobs of an hour or two are shorter.
	driftTime = 12 * time.Hour
	// drifted is the mean logarithm of the latency ratio that counts as a permanent
	// change.
	drifted = 0.35
	// estimateEvery is the number of samples between estimates of the bend for drift
	// detection.
	estimateEvery = 12
)

// backend is the state of one backend.
type backend struct {
	key    uint64 // identifies the server
	window window
	curve  curve
	since  time.Time // start of learning
	anew   bool      // learning restarted because latency changed
	drift  float64
	from   int // bin from which latency is high in the last estimate
	count  int // samples until the next estimate
	load   moving
	rate   moving
	peaks  [hours]peak
	// tunnelled counts consecutive samples that were left out.
	tunnelled int
	seen      time.Time // last seen in a configuration
}

// peak holds the maxima of an hour.
type peak struct {
	hour       uint32 // since 1970
	load, rate float32
}

// moving is an exponential average that starts at its first value.
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

// observe processes a count.
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

// idle reports whether counting can be skipped because there were no requests since the last
// count, in flight or in the window.
func (b *backend) idle(sum *stats.Backend) bool {
	w := &b.window
	return !w.last.Time.IsZero() && w.length == 0 && w.last.UnderWay == 0 && sum.Established == 0 && sum.Requests == w.last.Requests
}

// rest records an idle interval.
func (b *backend) rest(now time.Time) {
	length := now.Sub(b.window.last.Time)
	b.window.last.Time = now
	b.load.add(0, length)
	b.rate.add(0, length)
}

// learn adds a sample.
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

// drifts tracks the deviation of samples from the known latency at their load, and
// reports whether it is permanent. Beyond the bend a longer latency means nothing.
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

// peak updates the maxima of the hour.
func (b *backend) peak(s Sample) {
	hour := uint32(s.Time.Unix() / 3600)
	p := &b.peaks[hour%hours]
	if p.hour != hour {
		*p = peak{hour: hour}
	}
	p.load, p.rate = max(p.load, float32(s.Concurrency)), max(p.rate, float32(s.Rate))
}

// highest returns the maxima of the last day.
func (b *backend) highest(now time.Time) (out peak) {
	hour := uint32(now.Unix() / 3600)
	for _, p := range b.peaks {
		if p.hour <= hour && hour-p.hour < hours {
			out.load, out.rate = max(out.load, p.load), max(out.rate, p.rate)
		}
	}
	return out
}
