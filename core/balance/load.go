package balance

import (
	"sync/atomic"
	"time"
)

// Load is what a backend has to do right now. One belongs to each backend ID,
// is shared by all loops and survives reloads; the zero value is an idle
// backend. It fills two cache lines of its own, because the processor fetches
// lines in pairs and neighbours must not slow each other down.
type Load struct {
	// Active counts exchanges in flight that Pick or Claim reserved.
	Active atomic.Int64
	// Pending counts exchanges connecting or waiting for the response head.
	// The caller counts it up after Pick and down when the head came or the
	// exchange ended; needed under PendingConnections only.
	Pending atomic.Int64
	latency ewma
	// since is when a Picker saw the backend become usable, on clock; 0 when it
	// always was. seen is what it saw last.
	since atomic.Int64
	seen  atomic.Uint32
	// What the slots said then: see member.unseen.
	reached    atomic.Int64
	confirmed  atomic.Int64
	readmitted atomic.Int64
	_          [128 - 9*8]byte
}

// Done releases what Pick or Claim reserved. It does nothing on nil, so that
// the result of Held can be released without asking.
func (l *Load) Done() {
	if l != nil {
		l.Active.Add(-1)
	}
}

// reserve counts one more; with a limit (> 0) only below it.
func (l *Load) reserve(limit int64) bool {
	if limit <= 0 {
		l.Active.Add(1)
		return true
	}
	for {
		n := l.Active.Load()
		if n >= limit {
			return false
		}
		if l.Active.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// The average of response times. A sample weighs at least an eighth; after a
// pause it weighs more, because old samples say little. While no sample comes
// the value halves every halfLife: a member that was once slow looks better
// with time, is tried again, and one sample then restores the truth.
const (
	halfLife = int64(10 * time.Second)
	// Below the floor differences are noise, and members take turns. It is
	// also what a member without samples is expected to take.
	latencyFloor = int64(50 * time.Microsecond)
	latencyCeil  = int64(10 * time.Minute)
	maxActive    = 1 << 20
)

// ewma is an exponentially weighted moving average. Loops that observe at
// once may lose one of the samples.
type ewma struct {
	value atomic.Int64 // nanoseconds, 0 before the first sample
	at    atomic.Int64 // clock of the last sample
}

// Observe notes how long a backend took to answer, in nanoseconds from the
// request sent to the response head. Needed under ResponseTime only; takes one
// clock read.
func (l *Load) Observe(nanos int64) { l.latency.observe(nanos, clock()) }

func (e *ewma) observe(nanos, now int64) {
	nanos = min(max(nanos, 1), latencyCeil)
	old := e.value.Load()
	if old == 0 {
		e.value.Store(nanos)
		e.at.Store(now)
		return
	}
	pause := max(0, now-e.at.Load())
	trust := min(old-old/8, decay(old, pause)) // how much of old is kept
	e.value.Store(max(1, trust+nanos-int64(float64(nanos)*float64(trust)/float64(old))))
	e.at.Store(now)
}

// decay halves v for every halfLife, in straight lines between.
func decay(v, pause int64) int64 {
	n := pause / halfLife
	if n >= 62 {
		return 0
	}
	v >>= uint(n)
	rest := pause % halfLife >> 10 // in units of about 1 µs, so that the product fits
	return v - v/2*rest/(halfLife>>10)
}

// expected is the time one more exchange is likely to take, in units of about
// a microsecond: at least 48, below 2^50.
func (l *Load) expected(now int64) int64 {
	v := decay(l.latency.value.Load(), max(0, now-l.latency.at.Load()))
	active := min(max(l.Active.Load(), 0), maxActive)
	return max(v, latencyFloor) >> 10 * (active + 1)
}

// start is the zero of clock.
var start = time.Now()

// clock is monotonic, in nanoseconds.
func clock() int64 { return int64(time.Since(start)) }
