package state

import (
	"sync"
	"sync/atomic"
)

// Queue is where the exchanges of a service wait while all its backends are at
// their limit, over all loops and tables, in the order they came. Only who found
// no room, or gives some back while others wait, takes the lock.
//
// Nobody is forgotten: who joins is counted before it looks for room once more,
// who gives room back looks at the count afterwards, so one of both sees the
// other. Whoever's turn it was, and for whatever reason it is over, passes it on
// if there is more room.
type Queue struct {
	count       atomic.Int64 // see Len
	mu          sync.Mutex
	first, last *Waiting
}

// Waiting is an entry in a queue. All but Call belongs to the queue's lock.
type Waiting struct {
	// Call tells that its turn has come. It is called on any goroutine, without the
	// lock, and is set before Join.
	Call       func()
	next, prev *Waiting
	listed     bool // in the queue; otherwise its turn has come
}

// Len is how many wait. One whose turn has come does until it is Done, so that
// nobody who comes meanwhile is faster.
func (q *Queue) Len() int64 { return q.count.Load() }

// Done counts one less: who joined has a backend, or left.
func (q *Queue) Done() { q.count.Add(-1) }

// Released tells that there may be room.
func (q *Queue) Released() {
	if q.count.Load() != 0 {
		q.Wake()
	}
}

// Wake makes it the first one's turn.
func (q *Queue) Wake() {
	q.mu.Lock()
	first := q.first
	if first != nil {
		q.remove(first)
	}
	q.mu.Unlock()
	if first != nil {
		first.Call()
	}
}

// Join puts a waiter at the end, or at the front. It reports false when limit of
// them wait already.
func (q *Queue) Join(wt *Waiting, limit int64, front bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.count.Load() >= limit {
		return false
	}
	q.count.Add(1)
	q.add(wt, front)
	return true
}

// Rejoin puts one whose turn brought it nothing where it was.
func (q *Queue) Rejoin(wt *Waiting) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(wt, true)
}

// Leave takes a waiter out, which still counts until it is Done. It reports false
// when its turn has come already: Call was, or is about to be, called.
func (q *Queue) Leave(wt *Waiting) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !wt.listed {
		return false
	}
	q.remove(wt)
	return true
}

func (q *Queue) add(wt *Waiting, front bool) {
	wt.listed = true
	if front {
		wt.prev, wt.next = nil, q.first
	} else {
		wt.prev, wt.next = q.last, nil
	}
	if wt.prev != nil {
		wt.prev.next = wt
	} else {
		q.first = wt
	}
	if wt.next != nil {
		wt.next.prev = wt
	} else {
		q.last = wt
	}
}

func (q *Queue) remove(wt *Waiting) {
	wt.listed = false
	if wt.prev != nil {
		wt.prev.next = wt.next
	} else {
		q.first = wt.next
	}
	if wt.next != nil {
		wt.next.prev = wt.prev
	} else {
		q.last = wt.prev
	}
	wt.next, wt.prev = nil, nil
}
