package backend

import (
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/http2"
)

// Pool is the transports of one loop.
type Pool struct {
	loop    *loop.Loop
	conns   *dial.Pool
	http    *http2.Shared          // nil before the first connection of HTTP/2,
	streams *loop.FreeList[stream] // as is this
	dests   []*destination         // by backend number; nil where there was none
}

// NewPool returns the empty pool of l.
func NewPool(l *loop.Loop) *Pool { return &Pool{loop: l, conns: dial.NewPool(l)} }

// Idle gives an exchange a connection of HTTP/1 that is there; nil when there is
// none.
func (p *Pool) Idle(to *dial.Target, owner Owner) Transport {
	if c := p.conns.Idle(to, owner); c != nil {
		return c
	}
	return nil
}

// Dial opens a connection of HTTP/1; the owner hears of the outcome.
func (p *Pool) Dial(to *dial.Target, owner Owner) (Transport, error) {
	c, err := p.conns.Dial(to, owner)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Stream gives an exchange a stream to the target: on a connection of HTTP/2 that
// has room for it, or else on a new one. One that is not established waits for its
// connection; the owner hears of the outcome.
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
	c.target.Options.Preface = nil // which is of one client
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

// http2 is what the connections of HTTP/2 have in common.
func (p *Pool) http2() *http2.Shared {
	if p.http == nil {
		p.http = http2.NewShared(http2.ClientLimits(), &p.loop.Buffers, p.loop.Now)
	}
	return p.http
}

// Retain lets the connections go whose backends are gone, out of use or
// elsewhere: target is where a backend that is in use is, nil for others.
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
