package state

import (
	"sync"
	"sync/atomic"
)

// Places counts the clients of a farm whose number is bounded, over all loops
// and tables. Taking and giving back a place is one atomic operation; the lock
// is for the time when there are none.
type Places struct {
	Taken atomic.Int64
	queue atomic.Int32 // doors that wait
	mu    sync.Mutex
	doors []waitingDoor // in the order they came
}

// waitingDoor is where clients come in on one loop, while there is no place.
type waitingDoor interface {
	// Wake lets it try again.
	Wake()
}

// Enter takes a place if fewer than limit are taken.
func (p *Places) Enter(limit int64) bool {
	for {
		n := p.Taken.Load()
		if n >= limit {
			return false
		}
		if p.Taken.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Leave gives a place back and lets a door that waits have it.
func (p *Places) Leave() {
	p.Taken.Add(-1)
	if p.queue.Load() > 0 {
		p.wake(1)
	}
}

// Wait puts a door at the end of the queue, unless a place came free meanwhile,
// which it then has.
func (p *Places) Wait(d waitingDoor, limit int64) (entered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue.Add(1) // from here on whoever leaves looks at the queue
	if p.Enter(limit) {
		p.queue.Add(-1)
		return true
	}
	p.doors = append(p.doors, d)
	return false
}

// Wake lets the first n doors try again, each on its own loop.
func (p *Places) wake(n int) {
	p.mu.Lock()
	n = min(n, len(p.doors))
	woken := append([]waitingDoor(nil), p.doors[:n]...)
	p.doors = p.doors[:copy(p.doors, p.doors[n:])]
	p.queue.Add(int32(-n))
	p.mu.Unlock()
	for _, d := range woken {
		d.Wake()
	}
}
