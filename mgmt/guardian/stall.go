package guardian

import (
	"sync"
	"time"
)

const (
	// stallTick is how often the guardian records that it runs.
	stallTick = 50 * time.Millisecond
	// stallTime is the least time without running that counts as a stall: a busy machine is
	// late by less.
	stallTime = 250 * time.Millisecond
	// stallsKept is how many stalls are remembered: together they span more than the
	// longest probe.
	stallsKept = 64
	// mostSpoiled is how many results of a task in a row may be discarded: on a machine
	// that stalls all the time a backend must still be found down.
	mostSpoiled = 10
)

// stalls records when this process could not run: it was stopped, or the machine was, or
// memory was swapped in. Meanwhile deadlines pass and answers are not read.
type stalls struct {
	mu   sync.Mutex
	last time.Time // last time it ran
	list [stallsKept]span
	next int
}

type span struct{ from, to time.Time }

// run records until done that the process runs.
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

// note records that the process runs now.
func (s *stalls) note(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.last.IsZero() && now.Sub(s.last) >= stallTime {
		s.list[s.next] = span{s.last, now}
		s.next = (s.next + 1) % stallsKept
	}
	s.last = now
}

// within reports whether the process could not run at some time of a span. The monotonic
// clock may not count the time of a suspended machine, but its wall clock does.
func (s *stalls) within(from, to time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.last.IsZero() && to.Sub(s.last) >= stallTime { // the stall is not recorded yet
		return true
	}
	for _, one := range s.list {
		if one.to.After(from) && one.from.Before(to) {
			return true
		}
	}
	return to.Round(0).Sub(from.Round(0))-to.Sub(from) >= time.Second
}

// spoiled reports whether a result says nothing about the backend because this process
// could not run during the probe.
func (g *Guardian) spoiled(t *task, began, now time.Time, one Result) bool {
	if one.Reason == "" || one.Local || !g.stalls.within(began, now) || t.spoiled >= mostSpoiled {
		t.spoiled = 0
		return false
	}
	t.spoiled++
	g.options.Log.Debug("a result is discarded: this process could not run meanwhile", "check", t.check, "backend", addressOf(t.to), "reason", one.Reason)
	return true
}
