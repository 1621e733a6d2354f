package marks

import (
	"sync"
	"time"
)

// stack holds the sockets of one kind. Loops take from it, the reserve's
// goroutine puts into it.
type stack struct {
	mu     sync.Mutex
	fds    []int
	full   int  // no more are kept
	wanted int  // as many are kept where there is room
	dry    bool // somebody found none since it grew
	filled bool // full since the last time half were gone
	// refused is why the last request brought nothing; nil when it did.
	refused error
	// round counts how often it was asked for anew: an answer to what was asked
	// before says nothing about now.
	round uint32
	// retired is since when no table uses the kind; the zero time while one does.
	retired time.Time
}

func newStack() *stack { return &stack{wanted: first} }

// take returns a socket, -1 when there is none, and whether it is time to ask
// for more.
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

// put takes the sockets in, as many as it keeps, and returns the others.
func (s *stack) put(fds []int) (rest []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := max(0, min(s.full-len(s.fds), len(fds)))
	s.fds = append(s.fds, fds[:n]...)
	s.filled = s.filled || len(s.fds) >= s.full
	s.refused = nil
	return fds[n:]
}

// grow wants twice as many when somebody found none, and reports whether it
// does: such a burst will come again, and netd may be slow just then.
func (s *stack) grow() (grew bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	grew = s.dry && s.wanted < most
	if grew {
		s.wanted = min(2*s.wanted, most)
		s.filled = false // what filled it before is half of it now
	}
	s.dry = false
	return grew
}

// fit resizes to what is wanted, of the room there is for one kind.
func (s *stack) fit(room int) (rest []int) {
	s.mu.Lock()
	wanted := s.wanted
	s.mu.Unlock()
	return s.resize(max(least, min(wanted, room)))
}

// resize changes how many are kept and returns those that are too many.
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

// missing is how many are to be asked for, 0 for a kind that is not used, and
// in which round.
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

// state says whether there are sockets, and why not if that is known.
func (s *stack) state() (some bool, refused error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.fds) > 0, s.refused
}

// refuse notes why a request of that round brought nothing.
func (s *stack) refuse(round uint32, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if round == s.round {
		s.refused = why
	}
}

// anew forgets why a stack without sockets has none.
func (s *stack) anew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.fds) == 0 {
		s.round++
		s.refused = nil
	}
}

// use says that a table uses the kind, or since when none does.
func (s *stack) use(retired time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if retired.IsZero() || s.retired.IsZero() {
		s.retired = retired
	}
}

// unusedSince is the zero time while a table uses the kind.
func (s *stack) unusedSince() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.retired
}
