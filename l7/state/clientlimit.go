package state

import (
	"sync"
	"sync/atomic"
)

// ClientLimit counts the clients of a farm whose number is bounded, over all loops
// and tables. Taking and giving back a slot is one atomic operation; the lock
// is for the time when there are none.
type ClientLimit struct {
	taken atomic.Int64
	queue atomic.Int32 // doors that wait
	mu    sync.Mutex
	doors []Door // in the order they came
}

// Door is where clients come in on one loop. It waits while there is no slot.
type Door interface {
	// Wake lets it try again, on its own loop. It may be called on any goroutine.
	Wake()
}

// Enter takes a slot if fewer than limit are taken.
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

// Taken is how many slots are.
func (p *ClientLimit) Taken() int64 { return p.taken.Load() }

// Occupy takes a slot for a client that is in already, whatever the limit.
func (p *ClientLimit) Occupy() { p.taken.Add(1) }

// Leave gives a slot back and lets a door that waits have it.
func (p *ClientLimit) Leave() {
	p.taken.Add(-1)
	if p.queue.Load() > 0 {
		p.wake(1)
	}
}

// Wait puts a door at the end of the queue, unless a slot came free meanwhile,
// which it then has.
func (p *ClientLimit) Wait(d Door, limit int64) (entered bool) {
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

// wake lets the first n doors try again, each on its own loop.
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
