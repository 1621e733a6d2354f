package guardian

import (
	"sync"
	"time"
)

const (
	// stallTick is how often the guardian notes that it runs.
	stallTick = 50 * time.Millisecond
	// stallTime is how long it must not have run for that to count: a busy machine is late by
	// less.
	stallTime = 250 * time.Millisecond
	// stallsKept are remembered: the longest probe takes no longer than these are apart.
	stallsKept = 64
	// mostSpoiled is how many results of a task in a row may be discarded: on a machine that
	// never runs well a backend must still be found down.
	mostSpoiled = 10
)

// stalls remembers when this process could not run: it was stopped, or the machine was, or
// memory was swapped in. Deadlines pass meanwhile, and answers are not read.
type stalls struct {
	mu   sync.Mutex
	last time.Time // it ran
	list [stallsKept]span
	next int
}

type span struct{ from, to time.Time }

// run notes until done that the process runs.
func (s *stalls) run(done <-chan struct{}) {
	s.note(time.Now())
	ticker := time.NewTicker(stallTick)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			s.note(time.Now())
		}
	}
}

// note says that the process runs now.
func (s *stalls) note(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.last.IsZero() && now.Sub(s.last) >= stallTime {
		s.list[s.next] = span{s.last, now}
		s.next = (s.next + 1) % stallsKept
	}
	s.last = now
}

// within reports whether the process could not run at some time of a span. A machine that was
// suspended may not have counted that time: its wall clock then did.
func (s *stalls) within(from, to time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.last.IsZero() && to.Sub(s.last) >= stallTime { // nobody noted it yet
		return true
	}
	for _, one := range s.list {
		if one.to.After(from) && one.from.Before(to) {
			return true
		}
	}
	return to.Round(0).Sub(from.Round(0))-to.Sub(from) >= time.Second
}

// spoiled reports whether a result says nothing of the backend because this process could
// not run while it was asked.
func (g *Guardian) spoiled(t *task, began, now time.Time, one Result) bool {
	if one.Reason == "" || one.Local || !g.stalls.within(began, now) || t.spoiled >= mostSpoiled {
		t.spoiled = 0
		return false
	}
	t.spoiled++
	g.options.Log.Debug("a result is discarded: this process could not run meanwhile", "check", t.check, "backend", addressOf(t.to), "reason", one.Reason)
	return true
}
