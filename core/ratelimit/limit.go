package ratelimit

import "time"

// Limit is how many requests a key may make. The zero value is not usable;
// limits can be compared. What a table holds is in the time of one limit: use
// another table with another one.
type Limit struct {
	interval int64 // nanoseconds between requests at the even pace
	burst    int64 // nanoseconds the requests that came at once take at that pace
}

// New returns the limit of that many requests per period, of which burst may
// come at once. Requests and burst are 1–1,000,000, a period lasts from a second
// to an hour.
func New(requests int, period time.Duration, burst int) Limit {
	interval := int64(period) / int64(requests)
	return Limit{interval: interval, burst: interval * int64(burst)}
}

// wait is how long after now a request with that arrival time passes; it does
// at once if that is not positive.
func (l Limit) wait(arrival, now int64) int64 { return arrival + l.interval - l.burst - now }
