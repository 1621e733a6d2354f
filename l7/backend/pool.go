package backend

import (
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/http2"
)

// Pool provides the transports of one loop.
type Pool struct {
	loop    *loop.Loop
	conns   *dial.Pool
	http    *http2.Shared          // nil before the first HTTP/2 connection,
	streams *loop.FreeList[stream] // like this
	dests   []*destination         // by backend ID; nil without HTTP/2
}

// NewPool returns the empty pool of l.
func NewPool(l *loop.Loop) *Pool { return &Pool{loop: l, conns: dial.NewPool(l)} }

// Idle returns an idle HTTP/1 connection, or nil if there is none.
func (p *Pool) Idle(to *dial.Target, owner Owner) Transport {
	if c := p.conns.Idle(to, owner); c != nil {
		return c
	}
	return nil
}

// IdleAlive is Idle for a request that must not be sent twice.
func (p *Pool) IdleAlive(to *dial.Target, owner Owner) Transport {
	if c := p.conns.IdleAlive(to, owner); c != nil {
		return c
	}
	return nil
}

// Dial opens an HTTP/1 connection. The owner gets the outcome.
func (p *Pool) Dial(to *dial.Target, owner Owner) (Transport, error) {
	c, err := p.conns.Dial(to, owner)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Stream returns a stream to the target, on an HTTP/2 connection with room or on a new one.
// A stream that is not established waits for its connection, and the owner gets the outcome.
func (p *Pool) Stream(to *dial.Target, ask *Ask) (t Transport, established bool, err error) {
	d := p.destination(to.ID)
	for _, c := range d.conns {
		if c.fits(to) && c.hasRoom(ask.New) {
			s := c.add(ask)
			return s, s.reused, nil
		}
	}
	if len(d.conns) >= maxConns {
		d.evict()
	}
	c := &h2Conn{pool: p, target: *to, dest: d, limit: maxStreams, began: p.loop.Now()}
	c.target.Options.Preface = nil // it describes one client
	if c.conn, err = p.conns.Dial(&c.target, c); err != nil {
		return nil, false, err
	}
	d.conns = append(d.conns, c)
	s := c.add(ask)
	return s, s.reused, nil
}

func (p *Pool) destination(id uint32) *destination {
	if p.streams == nil {
		p.streams = loop.NewFreeList[stream](p.loop)
	}
	for int(id) >= len(p.dests) {
		p.dests = append(p.dests, nil)
	}
	if p.dests[id] == nil {
		p.dests[id] = &destination{maxConcurrent: assumedStreams}
	}
	return p.dests[id]
}

// http2 returns the state shared by the HTTP/2 connections.
func (p *Pool) http2() *http2.Shared {
	if p.http == nil {
		p.http = http2.NewShared(http2.ClientLimits(), &p.loop.Buffers, p.loop.Now)
	}
	return p.http
}

// Retain closes the connections to backends that are deleted, out of use or moved. target
// returns the current target of a backend in use, else nil.
func (p *Pool) Retain(target func(backend uint32) *dial.Target) {
	p.conns.Retain(func(id uint32) bool { return target(id) != nil })
	for id, d := range p.dests {
		if d == nil {
			continue
		}
		to := target(uint32(id))
		for i := len(d.conns) - 1; i >= 0; i-- {
			if c := d.conns[i]; to == nil || !c.leads(to) {
				c.shutdown()
			}
		}
	}
}
