package state_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluicelb/sluice/l7/state"
)

// line is a queue with a record of its calls.
type line struct {
	state.Queue
	called []string
	who    map[string]*state.Waiting
}

func newLine() *line { return &line{who: map[string]*state.Waiting{}} }

// join queues waiters by name.
func (l *line) join(limit int64, front bool, names ...string) (joined bool) {
	for _, name := range names {
		w := &state.Waiting{Call: func() { l.called = append(l.called, name) }}
		l.who[name] = w
		joined = l.Join(w, limit, front)
	}
	return joined
}

// rest calls all remaining waiters and returns their names in order.
func (l *line) rest() string {
	for range 10 {
		l.Wake()
	}
	return strings.Join(l.called, "")
}

func TestQueueCallsInOrder(t *testing.T) {
	l := newLine()
	l.join(10, false, "a", "b", "c")
	l.join(10, true, "0")
	if got := l.rest(); got != "0abc" {
		t.Errorf("called in the order %s, want %s", got, "0abc")
	}
}

func TestQueueLengthIsBounded(t *testing.T) {
	l := newLine()
	if !l.join(2, false, "a", "b") || l.join(2, false, "c") || l.join(2, true, "d") || l.Len() != 2 {
		t.Fatalf("%d wait", l.Len())
	}
	if l.Wake(); l.join(2, false, "e") {
		t.Error("a waiter whose turn came is no longer counted, although it has no backend yet")
	}
	if l.Done(); !l.join(2, false, "f") {
		t.Error("a slot that came free cannot be had")
	}
	if got := l.rest(); got != "abf" {
		t.Errorf("called were %s, want %s", got, "abf")
	}
}

func TestDepartedWaitersAreNotCalled(t *testing.T) {
	for _, c := range []struct{ leaves, called string }{{"a", "bc"}, {"b", "ac"}, {"c", "ab"}, {"ab", "c"}, {"cb", "a"}, {"bac", ""}} {
		l := newLine()
		l.join(10, false, "a", "b", "c")
		l.join(10, true, "0")
		for _, name := range c.leaves {
			if !l.Leave(l.who[string(name)]) {
				t.Errorf("%c of %s did not leave", name, c.leaves)
			}
		}
		if l.Leave(l.who[c.leaves[:1]]) {
			t.Errorf("%s left twice", c.leaves[:1])
		}
		l.join(10, false, "d")
		l.join(10, true, "1")
		if got := l.rest(); got != "10"+c.called+"d" {
			t.Errorf("when %s left, called were %s", c.leaves, got)
		}
	}
}

func TestCalledWaiterCannotLeave(t *testing.T) {
	l := newLine()
	l.join(10, false, "a")
	if l.Wake(); l.Leave(l.who["a"]) || l.Len() != 1 {
		t.Error("it left though its turn has come, or does not count until it is done")
	}
}

func TestRejoiningWaiterIsFirst(t *testing.T) {
	l := newLine()
	l.join(3, false, "a", "b", "c")
	l.Wake()
	l.Rejoin(l.who["a"])
	if l.Len() != 3 {
		t.Errorf("%d wait", l.Len())
	}
	if got := l.rest(); got != "aabc" {
		t.Errorf("called were %s, want %s", got, "aabc")
	}
}

func TestReleasedWakesWaiters(t *testing.T) {
	l := newLine()
	l.Released()
	l.Wake()
	l.join(2, false, "a", "b")
	if l.Released(); len(l.called) != 1 {
		t.Errorf("called were %v", l.called)
	}
	r := state.New(1)
	woken := 0
	for id := range uint32(3) {
		r.Queues.Of(id).Join(&state.Waiting{Call: func() { woken++ }}, 1, false)
	}
	if r.Stir(); woken != 3 {
		t.Errorf("%d of 3 queues were stirred", woken)
	}
}

// With any number of waiters and any room, each gets a turn.
func TestEveryWaiterIsCalled(t *testing.T) {
	const goroutines, turns = 8, 2000
	var q state.Queue
	var room atomic.Int64
	room.Store(2)
	take := func() bool {
		for n := room.Load(); n > 0; n = room.Load() {
			if room.CompareAndSwap(n, n-1) {
				return true
			}
		}
		return false
	}
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			mine := make(chan struct{}, 1)
			w := &state.Waiting{Call: func() { mine <- struct{}{} }}
			for range turns {
				if q.Len() > 0 || !take() {
					q.Join(w, goroutines, false)
					if room.Load() > 0 {
						q.Wake() // a waiter is counted before it checks once more
					}
					for <-mine; !take(); <-mine {
						q.Rejoin(w)
						if room.Load() > 0 {
							q.Wake()
						}
					}
					q.Done()
				}
				room.Add(1)
				q.Released()
			}
		})
	}
	all.Wait()
	if q.Len() != 0 || room.Load() != 2 {
		t.Errorf("%d wait, there is room for %d", q.Len(), room.Load())
	}
}
