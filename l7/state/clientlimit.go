package state

import (
	"sync"
	"sync/atomic"
)

// ClientLimit counts the clients of a farm with a limit, across all loops and tables. Taking
// and returning a slot is one atomic operation; the lock is needed only when all are taken.
type ClientLimit struct {
	taken atomic.Int64
	queue atomic.Int32 // number of waiting doors
	mu    sync.Mutex
	doors []Door // in order of arrival
}

// Door accepts clients on one loop. It waits while there is no slot.
type Door interface {
	// Wake makes the door retry on its own loop. It may be called on any goroutine.
	Wake()
}

// Enter takes a slot if fewer than limit are taken, and reports whether it did.
func (p *ClientLimit) Enter(limit int64) bool {
	for {
		n := p.taken.Load()
		if n >= limit {
			return false
		}
		if p.taken.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Taken returns the number of slots taken.
func (p *ClientLimit) Taken() int64 { return p.taken.Load() }

// Occupy takes a slot for an existing client, regardless of the limit.
func (p *ClientLimit) Occupy() { p.taken.Add(1) }

// Leave returns a slot and wakes a waiting door.
func (p *ClientLimit) Leave() {
	p.taken.Add(-1)
	if p.queue.Load() > 0 {
		p.wake(1)
	}
}

// Wait queues a door, unless a slot became free meanwhile, which it then takes.
func (p *ClientLimit) Wait(d Door, limit int64) (entered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue.Add(1) // from here on every Leave checks the queue
	if p.Enter(limit) {
		p.queue.Add(-1)
		return true
	}
	p.doors = append(p.doors, d)
	return false
}

// wake makes the first n doors retry, each on its own loop.
func (p *ClientLimit) wake(n int) {
	p.mu.Lock()
	n = min(n, len(p.doors))
	woken := append([]Door(nil), p.doors[:n]...)
	p.doors = p.doors[:copy(p.doors, p.doors[n:])]
	p.queue.Add(int32(-n))
	p.mu.Unlock()
	for _, d := range woken {
		d.Wake()
	}
}
