package marks

import (
	"sync"
	"time"
)

// stack holds the sockets of one kind. Loops take from it; the reserve's goroutine adds
// to it.
type stack struct {
	mu     sync.Mutex
	fds    []int
	full   int  // maximum number kept
	wanted int  // number kept if there is room
	dry    bool // a caller found none since it last grew
	filled bool // was full, and has not fallen below half since
	// refused is the error of the last request; nil if it succeeded.
	refused error
	// round is incremented by method anew, so that errors of earlier requests are
	// ignored.
	round uint32
	// retired is the time since which no table has used the kind; zero while in use.
	retired time.Time
}

func newStack() *stack { return &stack{wanted: first} }

// take returns a socket, or -1 if there is none. low reports whether to request more.
func (s *stack) take() (fd int, low bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.fds) - 1
	if n < 0 {
		s.dry = true
		return -1, true
	}
	fd, s.fds = s.fds[n], s.fds[:n]
	low = s.filled && n < s.full/2
	if low {
		s.filled = false
	}
	return fd, low
}

// put adds sockets up to the limit and returns the rest.
func (s *stack) put(fds []int) (rest []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := max(0, min(s.full-len(s.fds), len(fds)))
	s.fds = append(s.fds, fds[:n]...)
	s.filled = s.filled || len(s.fds) >= s.full
	s.refused = nil
	return fds[n:]
}

// grow doubles the wanted number if a caller found none, and reports whether it did.
// Such a burst is likely to recur, possibly while netd is slow.
func (s *stack) grow() (grew bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	grew = s.dry && s.wanted < most
	if grew {
		s.wanted = min(2*s.wanted, most)
		s.filled = false // the previous limit is now half
	}
	s.dry = false
	return grew
}

// fit resizes to the wanted number, limited by the room for one kind.
func (s *stack) fit(room int) (rest []int) {
	s.mu.Lock()
	wanted := s.wanted
	s.mu.Unlock()
	return s.resize(max(least, min(wanted, room)))
}

// resize sets the limit and returns the excess sockets.
func (s *stack) resize(full int) (rest []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full = full
	if len(s.fds) > full {
		rest = append(rest, s.fds[full:]...)
		s.fds = s.fds[:full]
	}
	s.filled = s.filled && len(s.fds) >= full/2
	return rest
}

// missing returns the number of sockets to request and the current round. It is 0 for a
// kind that is not in use.
func (s *stack) missing() (n int, round uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.filled || !s.retired.IsZero() {
		return 0, s.round
	}
	return s.full - len(s.fds), s.round
}

func (s *stack) empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.fds) == 0
}

// state reports whether there are sockets, and the last error.
func (s *stack) state() (some bool, refused error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.fds) > 0, s.refused
}

// refuse records the error of a request of that round.
func (s *stack) refuse(round uint32, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if round == s.round {
		s.refused = why
	}
}

// anew clears the error if the stack is empty.
func (s *stack) anew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.fds) == 0 {
		s.round++
		s.refused = nil
	}
}

// use marks the kind as in use (zero time) or as unused since retired.
func (s *stack) use(retired time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if retired.IsZero() || s.retired.IsZero() {
		s.retired = retired
	}
}

// unusedSince returns the zero time while a table uses the kind.
func (s *stack) unusedSince() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.retired
}
