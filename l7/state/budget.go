package state

import "time"

const (
	// budgetSeconds is the time span of a retry budget.
	budgetSeconds = 10
	// freeRetries is the number of retries in that time that are always allowed, because a
	// share of few requests is meaningless.
	freeRetries = 10
)

// Spent counts the requests and retries of a service on one loop in the last ten seconds.
// Only the loop uses it, and it outlives tables. A budget keeps retries from multiplying the
// load if all backends fail.
type Spent struct {
	seconds [budgetSeconds]struct {
		at                int64
		requests, retries uint32
	}
	_ [256 - budgetSeconds*16]byte // whole cache lines for each loop
}

// Request counts a request.
func (s *Spent) Request(now int64) {
	at := now / int64(time.Second)
	slot := &s.seconds[at%budgetSeconds]
	if slot.at != at {
		slot.at, slot.requests, slot.retries = at, 0, 0
	}
	slot.requests++
}

// Retry counts a retry if it is within the budget, a percentage of the requests.
func (s *Spent) Retry(now int64, percent uint32) bool {
	at := now / int64(time.Second)
	var requests, retries uint32
	for i := range s.seconds {
		if slot := &s.seconds[i]; at-slot.at < budgetSeconds {
			requests += slot.requests
			retries += slot.retries
		}
	}
	if retries >= freeRetries && uint64(retries)*100 >= uint64(requests)*uint64(percent) {
		return false
	}
	slot := &s.seconds[at%budgetSeconds]
	if slot.at != at {
		slot.at, slot.requests, slot.retries = at, 0, 0
	}
	slot.retries++
	return true
}
