package farmstate

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// silentAfter is how many requests in a row have to go without an answer.
const silentAfter = 3

// Silent finds backends that can be connected to and never answer: of those the
// health table knows nothing, and their clients wait for each. The zero value has seen
// none. Any goroutine may call its methods.
type Silent struct {
	mu     sync.Mutex
	seen   map[uint32]*answers
	silent atomic.Int32 // how many are: mostly none, and lists ask of thousands
	moved  atomic.Uint64
}

// Moved grows with every change of what Problem says, after it.
func (s *Silent) Moved() uint64 { return s.moved.Load() }

// answers are the counters of a backend at the last look, and how many requests
// were not answered in time, or for as long as their client waited, since one was.
type answers struct{ responses, timeouts, missed uint64 }

// Look notes the counters of a backend, of which timeouts are all requests that
// were waited for in vain, and reports whether it is silent, and
// whether that changed.
func (s *Silent) Look(backend uint32, responses, timeouts uint64) (silent, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[uint32]*answers{}
	}
	a := s.seen[backend]
	was := a.silent()
	missed := a.missedSoFar()
	defer func() {
		s.count(was, silent) // before it is told: Problem looks at the count without the lock
		if was != silent || silent && s.seen[backend].missed != missed {
			s.moved.Add(1)
		}
	}()
	if a == nil || timeouts < a.timeouts { // new, or counted anew
		s.seen[backend] = &answers{responses: responses, timeouts: timeouts}
		return false, was
	}
	if a.missed += timeouts - a.timeouts; responses != a.responses {
		a.missed = 0
	}
	a.responses, a.timeouts = responses, timeouts
	silent = a.silent()
	return silent, silent != was
}

// silent reports whether a backend is; one that nobody looked at is not.
func (a *answers) silent() bool { return a != nil && a.missed >= silentAfter }

func (a *answers) missedSoFar() uint64 {
	if a == nil {
		return 0
	}
	return a.missed
}

// count keeps count of those that are silent.
func (s *Silent) count(was, is bool) {
	switch {
	case is && !was:
		s.silent.Add(1)
	case was && !is:
		s.silent.Add(-1)
	}
}

// Problem says what is wrong with a backend that is silent, empty for others.
func (s *Silent) Problem(backend uint32) string {
	if s.silent.Load() == 0 {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.seen[backend]; a.silent() {
		return fmt.Sprintf("accepts connections and does not answer: %d requests or connections in a row got nothing in time", a.missed)
	}
	return ""
}

// Retain forgets the backends that are not there any more.
func (s *Silent) Retain(there func(backend uint32) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, a := range s.seen {
		if !there(id) {
			if a.silent() {
				s.count(true, false)
				s.moved.Add(1)
			}
			delete(s.seen, id)
		}
	}
}
