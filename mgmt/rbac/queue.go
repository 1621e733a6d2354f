package rbac

import (
	"context"
	"net/netip"
	"slices"
	"sync"
)

// queue allows a limited number of goroutines to work at the same time. The others wait by
// source. The sources take turns, so that a burst from one source delays others by one turn.
type queue struct {
	most int

	mu      sync.Mutex
	working int
	waiting map[netip.Prefix][]chan struct{} // closed when it is the waiter's turn
	turns   []netip.Prefix                   // the waiting sources, the next one first
}

func newQueue(most int) *queue {
	return &queue{most: most, waiting: map[netip.Prefix][]chan struct{}{}}
}

// enter waits for the turn of the caller. Without an error the caller must call leave.
// Errors: errors of ctx.
func (q *queue) enter(ctx context.Context, source netip.Prefix) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	turn := q.line(source)
	if turn == nil {
		return nil
	}
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	if !q.giveUp(source, turn) { // its turn came meanwhile
		q.leave()
	}
	return ctx.Err()
}

// line returns the channel of a new waiter, nil if the caller does not have to wait.
func (q *queue) line(source netip.Prefix) (turn chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.working < q.most {
		q.working++
		return nil
	}
	turn = make(chan struct{})
	if len(q.waiting[source]) == 0 {
		q.turns = append(q.turns, source)
	}
	q.waiting[source] = append(q.waiting[source], turn)
	return turn
}

// giveUp removes a waiter, and reports whether it was still waiting.
func (q *queue) giveUp(source netip.Prefix, turn chan struct{}) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := slices.Index(q.waiting[source], turn)
	if at < 0 {
		return false
	}
	if q.waiting[source] = slices.Delete(q.waiting[source], at, at+1); len(q.waiting[source]) == 0 {
		delete(q.waiting, source)
		q.turns = slices.DeleteFunc(q.turns, func(other netip.Prefix) bool { return other == source })
	}
	return true
}

// leave ends the work of the caller, and passes its place to the next waiter.
func (q *queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.turns) == 0 {
		q.working--
		return
	}
	source := q.turns[0]
	q.turns = q.turns[1:]
	turn := q.waiting[source][0]
	if q.waiting[source] = q.waiting[source][1:]; len(q.waiting[source]) > 0 {
		q.turns = append(q.turns, source)
	} else {
		delete(q.waiting, source)
	}
	close(turn)
}
