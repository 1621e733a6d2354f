package farmstate

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// silentAfter is the number of consecutive requests that must get no answer.
const silentAfter = 3

// Silent finds backends that accept connections and never answer: the health table cannot
// detect them, and their clients wait for each. The zero value is ready for use. Any
// goroutine may call its methods.
type Silent struct {
	mu     sync.Mutex
	seen   map[uint32]*answers
	silent atomic.Int32 // number of silent ones: mostly zero, and lists query thousands
	moved  atomic.Uint64
}

// Moved grows after every change of a result of Problem.
func (s *Silent) Moved() uint64 { return s.moved.Load() }

// answers holds the counters of a backend at the last Look. The field missed is the number of
// requests since the last answer that got none in time, or while their client waited.
type answers struct{ responses, timeouts, missed uint64 }

// Look records the counters of a backend, and returns whether it is silent, and whether that
// changed. The parameter timeouts counts all requests without an answer.
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
		s.count(was, silent) // before the change is visible: Problem reads the count without the lock
		if was != silent || silent && s.seen[backend].missed != missed {
			s.moved.Add(1)
		}
	}()
	if a == nil || timeouts < a.timeouts { // new, or the counter was reset
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

// silent reports whether a backend is silent; an unknown one is not.
func (a *answers) silent() bool { return a != nil && a.missed >= silentAfter }

func (a *answers) missedSoFar() uint64 {
	if a == nil {
		return 0
	}
	return a.missed
}

// count counts the silent backends.
func (s *Silent) count(was, is bool) {
	switch {
	case is && !was:
		s.silent.Add(1)
	case was && !is:
		s.silent.Add(-1)
	}
}

// Problem returns the fault of a silent backend, empty for others.
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

// Retain removes the backends that no longer exist.
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
