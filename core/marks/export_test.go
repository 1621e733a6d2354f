package marks

import "time"

// SetLinger changes how long unused reserves are kept; before any is made.
func SetLinger(d time.Duration) (restore func()) {
	old := linger
	linger = d
	return func() { linger = old }
}

// SetPatience changes how long answers are waited for, by the reserve and by
// loops; before any reserve is made.
func SetPatience(d time.Duration) (restore func()) {
	long, short := patience, shortly
	patience, shortly = d, d
	return func() { patience, shortly = long, short }
}

// Full reports whether there are as many sockets of the kind as are kept.
func (r *Reserve) Full(k Kind) bool {
	s := (*r.kinds.Load())[k]
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.fds) == s.full
}

// Held is how many sockets of the kind there are.
func (r *Reserve) Held(k Kind) int {
	s := (*r.kinds.Load())[k]
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.fds)
}

// Waiting is how many loops wait for sockets.
func (r *Reserve) Waiting() int { return int(r.waiting.Load()) }

// First is how many sockets of one kind are kept before any burst, Most after many.
const First, Most = first, most
