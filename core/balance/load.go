package balance

import (
	"sync/atomic"
	"time"
)

// Load is the current load of a backend. Each backend ID has one, shared by all loops and
// kept across reloads. The zero value is an idle backend. It fills two cache lines, because
// the processor fetches lines in pairs, to avoid false sharing.
type Load struct {
	// Active counts exchanges in flight reserved by Pick or Claim.
	Active atomic.Int64
	// Pending counts exchanges connecting or waiting for the response head. The caller
	// increments it after Pick and decrements it when the head arrived or the exchange
	// ended. Only PendingConnections needs it.
	Pending atomic.Int64
	latency ewma
	// since is when a Picker saw the backend become usable, on clock; 0 if it always was.
	// seen is the last observed state.
	since atomic.Int64
	seen  atomic.Uint32
	// Values of the slots at that time: see member.unseen.
	reached    atomic.Int64
	confirmed  atomic.Int64
	readmitted atomic.Int64
	_          [128 - 9*8]byte
}

// Done releases the reservation of Pick or Claim. It does nothing on nil, so the result of
// Held can be released unconditionally.
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

// Parameters of the average of response times. A sample weighs at least an eighth, and more
// after a pause, because old samples mean little. Without samples the value halves every
// halfLife. So a member that was once slow is tried again after a while, and one sample then
// corrects the value.
const (
	halfLife = int64(10 * time.Second)
	// Below the floor differences are noise, and members take turns. It is also the expected
	// time of a member without samples.
	latencyFloor = int64(50 * time.Microsecond)
	latencyCeil  = int64(10 * time.Minute)
	maxActive    = 1 << 20
)

// ewma is an exponentially weighted moving average. Of samples added concurrently by several
// loops one may be lost.
type ewma struct {
	value atomic.Int64 // nanoseconds, 0 before the first sample
	at    atomic.Int64 // clock of the last sample
}

// Observe adds a response time: nanoseconds from sending the request to the response head.
// Only ResponseTime needs it. It reads the clock once.
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
	trust := min(old-old/8, decay(old, pause)) // share of old that is kept
	e.value.Store(max(1, trust+nanos-int64(float64(nanos)*float64(trust)/float64(old))))
	e.at.Store(now)
}

// decay halves v for every halfLife, linearly in between.
func decay(v, pause int64) int64 {
	n := pause / halfLife
	if n >= 62 {
		return 0
	}
	v >>= uint(n)
	rest := pause % halfLife >> 10 // in units of about 1 µs, so that the product fits
	return v - v/2*rest/(halfLife>>10)
}

// expected returns the likely time of one more exchange, in units of about a microsecond: at
// least 48, below 2^50.
func (l *Load) expected(now int64) int64 {
	v := decay(l.latency.value.Load(), max(0, now-l.latency.at.Load()))
	active := min(max(l.Active.Load(), 0), maxActive)
	return max(v, latencyFloor) >> 10 * (active + 1)
}

// start is the zero of clock.
var start = time.Now()

// clock returns monotonic time in nanoseconds.
func clock() int64 { return int64(time.Since(start)) }
