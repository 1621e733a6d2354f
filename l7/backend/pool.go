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
	to      []*destination         // by backend number; nil where there was none
}

// destination is the connections of HTTP/2 to one backend.
type destination struct {
	conns   []*h2Conn
	allowed int // streams at once, as it said last
}

const (
	// assumedStreams is how many streams a backend is believed to allow before
	// it has said so: the least it should (RFC 9113 section 6.5.2).
	assumedStreams = 100
	// maxConns is how many connections to a backend there may be before idle
	// ones give way. With TLS each name that is asked for has its own, and
	// clients choose names.
	maxConns = 64
	// maxOnce is how many of these may be such that one exchange used, before
	// they give way to each other: names can be invented.
	maxOnce = maxConns / 8
)

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
		if c.fits(to) && c.room(ask.New) {
			s := c.add(ask)
			return s, s.reused, nil
		}
	}
	if len(d.conns) >= maxConns {
		d.evict()
	}
	c := &h2Conn{pool: p, target: *to, to: d, most: maxStreams, began: p.loop.Now()}
	c.target.Options.Preface = nil // which is of one client
	if c.up, err = p.conns.Dial(&c.target, c); err != nil {
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
	for int(id) >= len(p.to) {
		p.to = append(p.to, nil)
	}
	if p.to[id] == nil {
		p.to[id] = &destination{allowed: assumedStreams}
	}
	return p.to[id]
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
	for id, d := range p.to {
		if d == nil {
			continue
		}
		to := target(uint32(id))
		for i := len(d.conns) - 1; i >= 0; i-- {
			if c := d.conns[i]; to == nil || !c.leads(to) {
				c.leave()
			}
		}
	}
}

// fits reports whether the connection leads where the target says, with the same
// security.
func (t *h2Conn) fits(to *dial.Target) bool {
	return t.leads(to) && t.target.Options.Security == to.Options.Security
}

// leads reports whether the connection goes where, and comes from where, the
// target says.
func (t *h2Conn) leads(to *dial.Target) bool {
	have, want := &t.target.Options, &to.Options
	return t.target.Addr == to.Addr && have.Source == want.Source && have.Mark == want.Mark
}

// remove takes a connection out of the list of those that take streams.
func (d *destination) remove(t *h2Conn) {
	for i, v := range d.conns {
		if v == t {
			d.conns = append(d.conns[:i], d.conns[i+1:]...)
			return
		}
	}
}

// evict lets the connection go that has been idle for longest; of those that only
// one exchange used, as long as there are some.
func (d *destination) evict() {
	var oldest, once *h2Conn
	invented := 0
	for _, t := range d.conns {
		if !t.often {
			invented++
		}
		switch {
		case !t.established || t.streams > 0:
		case t.often && (oldest == nil || t.idleAt < oldest.idleAt):
			oldest = t
		case !t.often && (once == nil || t.idleAt < once.idleAt):
			once = t
		}
	}
	if once != nil && (oldest == nil || invented > maxOnce) {
		oldest = once
	}
	if oldest != nil {
		oldest.leave()
	}
}
