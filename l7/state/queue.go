package state

import (
	"sync"
	"sync/atomic"

	"github.com/sluicelb/sluice/core/list"
)

// Queue holds the exchanges of a service that wait while all its backends are at their
// limit, across all loops and tables, in order of arrival. The lock is only taken by
// exchanges that found no room, and by those that release some while others wait.
//
// No waiter is missed: a waiter is counted before it checks for room once more, and a
// release checks the count afterwards, so one of them sees the other. A turn that ends for
// any reason is passed on if there is more room.
type Queue struct {
	count   atomic.Int64  // see Len
	waiting *atomic.Int64 // total of all queues, or nil; increased first
	mu      sync.Mutex
	queued  list.List[Waiting]
}

// Waiting is an entry of a queue. All fields except Call are protected by the queue's lock.
type Waiting struct {
	// Call reports that its turn has come. It is called on any goroutine without the lock,
	// and must be set before Join.
	Call  func()
	links list.Links[Waiting] // in the queue; otherwise its turn has come
}

// Len returns the number of waiters. A waiter counts until Done, so that newcomers cannot
// overtake it.
func (q *Queue) Len() int64 { return q.count.Load() }

// Done removes a waiter that has a backend or left from the count.
func (q *Queue) Done() { q.counted(-1) }

// counted adds n waiters.
func (q *Queue) counted(n int64) {
	if q.waiting != nil {
		q.waiting.Add(n)
	}
	q.count.Add(n)
}

// Released reports that there may be room.
func (q *Queue) Released() {
	if q.count.Load() != 0 {
		q.Wake()
	}
}

// Wake gives the first waiter its turn.
func (q *Queue) Wake() {
	q.mu.Lock()
	first := q.queued.First()
	if first != nil {
		q.queued.Remove(&first.links)
	}
	q.mu.Unlock()
	if first != nil {
		first.Call()
	}
}

// Join appends a waiter, or inserts it at the front. It returns false if limit waiters are
// queued already.
func (q *Queue) Join(wt *Waiting, limit int64, front bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.count.Load() >= limit {
		return false
	}
	q.counted(1)
	q.add(wt, front)
	return true
}

// Rejoin returns a waiter to the front after an unsuccessful turn.
func (q *Queue) Rejoin(wt *Waiting) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(wt, true)
}

// Leave removes a waiter, which counts until Done. It returns false if its turn has come
// already: Call was called or will be.
func (q *Queue) Leave(wt *Waiting) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !wt.links.Listed() {
		return false
	}
	q.queued.Remove(&wt.links)
	return true
}

func (q *Queue) add(wt *Waiting, front bool) {
	if front {
		q.queued.PushFront(&wt.links, wt)
	} else {
		q.queued.PushBack(&wt.links, wt)
	}
}
