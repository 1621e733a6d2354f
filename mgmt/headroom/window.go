package headroom

import (
	"math"
	"time"

	"github.com/sluicelb/sluice/core/stats"
)

const (
	// sampleRequests is of how many requests a sample is at least; it goes on until the
	// error of its mean is below precise of the mean, or, after the longest time, below
	// rough. What differs much would otherwise look slow where it met much load, and fast
	// where it met little, because the one is measured by the other.
	sampleRequests = 50
	precise        = 0.1
	rough          = 0.2
	// longest is how long a sample may take; what is less busy says nothing of load.
	longest = 5 * time.Minute
	// lives is for how many times the mean time of a request a sample lasts at least, so that
	// most of them both began and ended in it.
	lives = 4
	// pause is the time between two counts beyond which nobody counted: the machine slept.
	pause = time.Minute
)

// Count is what was counted of a backend up to a time.
type Count struct {
	Time     time.Time
	UnderWay uint64 // at this moment
	Requests uint64 // that were sent
	Answers  uint64 // whose head came
	// Waited is the time to these heads, Taken the time to the ends of answers, both
	// in ns over all of them.
	Waited, Taken uint64
	// Squares is the sum of the squares of the times to heads, in s², as well as a
	// histogram tells.
	Squares float64
}

// CountOf takes a count from the engine's counters.
func CountOf(now time.Time, b *stats.Backend, t *stats.Times) Count {
	c := Count{Time: now, UnderWay: b.Established, Requests: b.Requests, Answers: t.FirstByte.Count(), Waited: t.FirstByte.Nanos, Taken: t.Total.Nanos}
	for i, n := range t.FirstByte.Counts {
		from := stats.Bound(i).Seconds() / 2
		c.Squares += float64(n) * from * from * 7 / 3 // evenly spread from there to twice that
	}
	return c
}

// Sample is how a backend was for a while.
type Sample struct {
	Time        time.Time // of its end
	Length      time.Duration
	Concurrency float64 // requests under way, as requests met it
	Latency     time.Duration
	Rate        float64 // requests a second
}

// window gathers counts until they make a sample.
type window struct {
	last          Count
	length        time.Duration
	answers       uint64
	waited, taken uint64
	squares       float64
	met           float64 // concurrency × answers
	seen          float64 // requests under way × length, by the gauge
}

// interval is what was counted between two counts.
type interval struct {
	length        time.Duration
	answers       uint64
	waited, taken uint64
	squares       float64
	underWay      uint64 // at its end
}

// concurrency is the mean number of requests under way, by Little's law.
func (i *interval) concurrency() float64 { return float64(i.taken) / float64(i.length) }

// load is concurrency or, where requests do not end, what the gauge says.
func (i *interval) load() float64 {
	if n := i.concurrency(); explained(n, float64(i.underWay)) {
		return n
	}
	return float64(i.underWay)
}

// since is the interval since the count before; false when there is none: counters began
// anew, time stood still, or nobody counted for long.
func (w *window) since(c Count) (i interval, ok bool) {
	was := w.last
	w.last = c
	i = interval{c.Time.Sub(was.Time), c.Answers - was.Answers, c.Waited - was.Waited, c.Taken - was.Taken, c.Squares - was.Squares, c.UnderWay}
	return i, !was.Time.IsZero() && i.length > 0 && i.length <= pause && c.Answers >= was.Answers && c.Waited >= was.Waited && c.Taken >= was.Taken
}

// add gathers an interval, and returns the sample it completes.
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

// inexact is the error of the mean time to a head, as a part of it.
func (w *window) inexact() float64 {
	n := float64(w.answers)
	mean := float64(w.waited) / 1e9 / n
	return math.Sqrt(max(0, w.squares/n-mean*mean)/n) / mean
}

// explained reports whether the requests that ended explain those that were seen under
// way: tunnels and long polls do not end. Few more are the noise of the gauge.
func explained(concurrency, underWay float64) bool {
	return underWay <= 2*concurrency+4*math.Sqrt(concurrency)+4
}

func (w *window) clear() { *w = window{last: w.last} }
