package proxy

import (
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/sluicelb/sluice/core/loop"
)

// places counts the clients of a farm whose number is bounded, over all loops
// and tables. Taking and giving back a place is one atomic operation; the lock
// is for the time when there are none.
type places struct {
	taken atomic.Int64
	queue atomic.Int32 // doors that wait
	mu    sync.Mutex
	doors []*door // that wait, in the order they came
}

// enter takes a place if fewer than limit are taken.
func (p *places) enter(limit int64) bool {
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

// leave gives a place back and lets a door that waits have it.
func (p *places) leave() {
	p.taken.Add(-1)
	if p.queue.Load() > 0 {
		p.wake(1)
	}
}

// wait puts a door at the end of the queue, unless a place came free meanwhile,
// which it then has.
func (p *places) wait(d *door, limit int64) (entered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue.Add(1) // from here on whoever leaves looks at the queue
	if p.enter(limit) {
		p.queue.Add(-1)
		return true
	}
	p.doors = append(p.doors, d)
	return false
}

// wake lets the first n doors try again, each on its own loop.
func (p *places) wake(n int) {
	p.mu.Lock()
	n = min(n, len(p.doors))
	woken := append([]*door(nil), p.doors[:n]...)
	p.doors = p.doors[:copy(p.doors, p.doors[n:])]
	p.queue.Add(int32(-n))
	p.mu.Unlock()
	for _, d := range woken {
		d.w.loop.Post(d.open)
	}
}

// door is where the clients of a port come in on one loop.
type door struct {
	w        *worker
	port     *port
	listener *loop.Listener
	held     *places // of the connection that is being accepted
	waits    bool    // in a queue
}

// open goes on accepting after there was no place.
func (d *door) open() {
	d.waits = false
	d.listener.Resume()
}

// Enter implements loop.Gate. Clients of a farm that refuses those beyond its
// bound are let in to be told.
func (d *door) Enter() bool {
	f := d.w.engine.farm(d.port)
	switch {
	case f == nil || f.places == nil:
		return true
	case f.places.enter(f.maxClients):
		d.held = f.places
		return true
	case f.refuses:
		return true
	case !d.waits && f.places.wait(d, f.maxClients):
		d.held = f.places
		return true
	}
	d.waits = true
	return false
}

// Leave implements loop.Gate.
func (d *door) Leave() {
	if d.held != nil {
		d.held.leave()
		d.held = nil
	}
}

// place gives the connection that was accepted its place. full says that there
// is none.
func (d *door) place(f *farmTable) (held *places, full bool) {
	held, d.held = d.held, nil
	switch {
	case held != nil || f.places == nil:
	case f.refuses && !f.places.enter(f.maxClients):
		return nil, true
	case f.refuses:
		held = f.places
	default: // the bound was set since Enter
		f.places.taken.Add(1)
		held = f.places
	}
	return held, false
}

// turnAway answers a client for whom there is no place, as soon and as briefly
// as possible. With TLS there is nothing to say before a handshake.
func (w *worker) turnAway(f *farmTable, c *loop.Conn) {
	s := w.shard.Farm(f.id)
	s.Connections++
	s.Responses[4]++
	w.shard.Refusals(f.id)[tooManyClients]++
	w.note(tooManyClients, 503, f.name, "as many clients as the farm may have", c.Peer(), netip.AddrPort{})
	if f.tls != nil {
		c.Abort()
		return
	}
	_, _ = c.Read(w.loop.In[:headRead]) // unread bytes would make a reset of the answer
	out := f.answers.append(w.loop.Scratch[:0], 503, false, true)
	s.BytesOut += uint64(len(out))
	if c.Write(out) != nil {
		c.Close()
		return
	}
	if c.Pending() != 0 || c.Readable() {
		c.Linger(lingerTime)
		return
	}
	c.CloseWrite()
	c.Close()
}

// occupy counts clients that came in before their farm had a bound.
func occupy(f *farmTable, place **places) {
	if f != nil && f.places != nil && *place == nil {
		f.places.taken.Add(1)
		*place = f.places
	}
}
