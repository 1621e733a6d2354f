package balance

import "sync/atomic"

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
	_     [128 - 5*8 - 4]byte
}

// Done releases what Pick or Claim reserved. It does nothing on nil, so that
// the result of Held can be released without asking.
func (l *Load) Done() {
	if l != nil {
		l.Active.Add(-1)
	}
}

// reserve takes one place; with a limit (> 0) only if one is free.
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
