package headroom

import (
	"math"
	"time"

	"github.com/sluicelb/sluice/core/stats"
)

const (
	// sampleRequests is the minimum number of requests of a sample. It is extended until
	// the standard error of its mean is below precise, or after longest below rough.
	// Otherwise variable latency would correlate with load, because load is measured by
	// latency.
	sampleRequests = 50
	precise        = 0.1
	rough          = 0.2
	// longest is the maximum duration of a sample. Less traffic says nothing about load.
	longest = 5 * time.Minute
	// lives is the minimum duration of a sample in mean request times, so that most
	// requests both start and end in it.
	lives = 4
	// pause is the time between two counts beyond which the interval is discarded, e.g.
	// after suspend.
	pause = time.Minute
)

// Count holds the counters of a backend at a time.
type Count struct {
	Time     time.Time
	UnderWay uint64 // in flight at this time
	Requests uint64 // requests sent
	Answers  uint64 // response heads received
	// Waited is the sum of times to first byte, Taken that of complete responses, both in
	// ns.
	Waited, Taken uint64
	// Squares is the sum of squared times to first byte in s², estimated from a
	// histogram.
	Squares float64
}

// CountOf returns the Count of the engine's counters.
func CountOf(now time.Time, b *stats.Backend, t *stats.Times) Count {
	c := Count{Time: now, UnderWay: b.Established, Requests: b.Requests, Answers: t.FirstByte.Count(), Waited: t.FirstByte.Nanos, Taken: t.Total.Nanos}
	for i, n := range t.FirstByte.Counts {
		from := stats.Bound(i).Seconds() / 2
		c.Squares += float64(n) * from * from * 7 / 3 // uniform distribution within a bucket
	}
	return c
}

// Sample is the behaviour of a backend over a period.
type Sample struct {
	Time        time.Time // of its end
	Length      time.Duration
	Concurrency float64 // requests in flight, weighted by requests
	Latency     time.Duration
	Rate        float64 // requests per second
}

// window accumulates counts until they form a sample.
type window struct {
	last          Count
	length        time.Duration
	answers       uint64
	waited, taken uint64
	squares       float64
	met           float64 // concurrency × responses
	seen          float64 // gauge of requests in flight × length
}

// interval is the difference of two counts.
type interval struct {
	length        time.Duration
	answers       uint64
	waited, taken uint64
	squares       float64
	underWay      uint64 // at its end
}

// concurrency returns the mean number of requests in flight, by Little's law.
func (i *interval) concurrency() float64 { return float64(i.taken) / float64(i.length) }

// load returns the concurrency, or the gauge if requests do not end.
func (i *interval) load() float64 {
	if n := i.concurrency(); explained(n, float64(i.underWay)) {
		return n
	}
	return float64(i.underWay)
}

// since returns the interval since the previous count. ok is false without a valid one:
// counters restarted, no time passed, or too much.
func (w *window) since(c Count) (i interval, ok bool) {
	was := w.last
	w.last = c
	i = interval{c.Time.Sub(was.Time), c.Answers - was.Answers, c.Waited - was.Waited, c.Taken - was.Taken, c.Squares - was.Squares, c.UnderWay}
	return i, !was.Time.IsZero() && i.length > 0 && i.length <= pause && c.Answers >= was.Answers && c.Waited >= was.Waited && c.Taken >= was.Taken
}

// add accumulates an interval, and returns the sample that it completes.
func (w *window) add(i interval) (s Sample, ok bool) {
	w.length += i.length
	w.answers += i.answers
	w.waited += i.waited
	w.taken += i.taken
	w.squares += i.squares
	w.met += i.concurrency() * float64(i.answers)
	w.seen += float64(i.underWay) * float64(i.length)
	late := w.length >= longest
	if late {
		defer w.clear()
	}
	if w.answers < sampleRequests || w.length < lives*time.Duration(w.taken/w.answers) || w.inexact() > rough || !late && w.inexact() > precise {
		return Sample{}, false
	}
	defer w.clear()
	s = Sample{
		Time: w.last.Time, Length: w.length, Concurrency: w.met / float64(w.answers),
		Latency: time.Duration(w.waited / w.answers), Rate: float64(w.answers) / w.length.Seconds(),
	}
	return s, explained(s.Concurrency, w.seen/float64(w.length))
}

// inexact returns the relative standard error of the mean time to first byte.
func (w *window) inexact() float64 {
	n := float64(w.answers)
	mean := float64(w.waited) / 1e9 / n
	return math.Sqrt(max(0, w.squares/n-mean*mean)/n) / mean
}

// explained reports whether completed requests explain the gauge; tunnels and long polls
// do not end. A small excess is noise.
func explained(concurrency, underWay float64) bool {
	return underWay <= 2*concurrency+4*math.Sqrt(concurrency)+4
}

func (w *window) clear() { *w = window{last: w.last} }
