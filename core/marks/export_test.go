package marks

import "time"

// SetLinger changes how long unused reserves are kept. It must be called before New.
func SetLinger(d time.Duration) (restore func()) {
	old := linger
	linger = d
	return func() { linger = old }
}

// SetPatience changes how long reserves and loops wait for answers. It must be called
// before New.
func SetPatience(d time.Duration) (restore func()) {
	long, short := patience, shortly
	patience, shortly = d, d
	return func() { patience, shortly = long, short }
}

// Full reports whether the reserve holds all sockets of the kind that it keeps.
func (r *Reserve) Full(k Kind) bool {
	s := (*r.kinds.Load())[k]
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.fds) == s.full
}

// Held returns the number of sockets of the kind.
func (r *Reserve) Held(k Kind) int {
	s := (*r.kinds.Load())[k]
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.fds)
}

// Waiting returns the number of loops that wait for sockets.
func (r *Reserve) Waiting() int { return int(r.waiting.Load()) }

// First is the initial number of sockets per kind, Most the maximum after bursts.
const First, Most = first, most
