package dial

import (
	"errors"
	"net/netip"
	"syscall"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/proxyproto"
)

// IdleTime is how long an unused connection is kept, in nanoseconds: below the keep-alive
// time-outs servers commonly use, so that they rarely end it first.
const IdleTime = 30_000_000_000

// Target is the backend to connect to; ID is its number. With Options.Security an idle connection
// serves only who asks for the same.
type Target struct {
	ID      uint32
	Addr    netip.AddrPort
	Timeout int64 // of the connect and the handshake together, nanoseconds
	Options loop.DialOptions
	// Announce is the header of the PROXY protocol that Options.Preface holds
	// when the target is dialled; 0 for none. It is for one client, so such
	// connections are handed on, and never put back.
	Announce proxyproto.Version
}

// Pool is the connections to all backends of one loop.
type Pool struct {
	loop *loop.Loop
	idle []*idleList // by backend number
	free *loop.FreeList[Conn]
	said [1]byte // what an idle connection said
}

// NewPool returns the empty pool of l.
func NewPool(l *loop.Loop) *Pool { return &Pool{loop: l, free: loop.NewFreeList[Conn](l)} }

// Idle returns an idle connection to the target, the one that was used last, and
// nil when there is none. It is the owner's from then on.
func (p *Pool) Idle(t *Target, owner Owner) *Conn {
	if int(t.ID) >= len(p.idle) || p.idle[t.ID] == nil {
		return nil
	}
	l := p.idle[t.ID]
	for c := l.first(t.Options.Security); c != nil; c = l.first(t.Options.Security) {
		l.take(c)
		if c.leads(t) {
			c.owner, c.reused = owner, true
			return c
		}
		c.Discard() // the backend's address, or its source's, was changed since
	}
	return nil
}

// Dial opens a connection to the target; the owner hears of the outcome, which
// is that of the handshake too when the target asks for one.
func (p *Pool) Dial(t *Target, owner Owner) (*Conn, error) {
	c := p.free.Get()
	*c = Conn{pool: p, owner: owner, backend: t.ID, addr: t.Addr, options: t.Options, announce: t.Announce, started: p.loop.Now()}
	c.options.Preface = nil // the target's
	lc, err := p.loop.Dial(t.Addr, c, t.Timeout, t.Options)
	if errors.Is(err, syscall.EMFILE) && p.evict() {
		lc, err = p.loop.Dial(t.Addr, c, t.Timeout, t.Options)
	}
	if err != nil {
		c.owner = nil
		p.recycle(c)
		return nil, err
	}
	c.Conn = lc
	return c, nil
}

// Put takes back a connection whose exchange is complete on both sides, which is
// idle for IdleTime at most.
func (p *Pool) Put(c *Conn) {
	if !c.quiet() {
		c.Discard()
		return
	}
	l := p.of(c.backend)
	if l.count() >= maxIdle {
		p.drop(l.victim())
	}
	c.owner = nil
	l.put(c)
	c.SetDeadline(p.loop.Now() + IdleTime)
}

// Retain closes the idle connections to backends that keep says no to, by their
// numbers: those that are gone or cut.
func (p *Pool) Retain(keep func(backend uint32) bool) {
	for id, l := range p.idle {
		if l == nil || l.count() == 0 || keep(uint32(id)) {
			continue
		}
		for _, b := range l.buckets {
			for b.head != nil {
				p.drop(b.head)
			}
		}
	}
}

// evict closes one idle connection to make room for a new one.
func (p *Pool) evict() bool {
	for _, l := range p.idle {
		if l != nil && l.count() > 0 {
			p.drop(l.victim())
			return true
		}
	}
	return false
}

// of returns the idle connections to a backend.
func (p *Pool) of(id uint32) *idleList {
	for int(id) >= len(p.idle) {
		p.idle = append(p.idle, nil)
	}
	if p.idle[id] == nil {
		p.idle[id] = newIdleList(p.loop)
	}
	return p.idle[id]
}

// drop closes an idle connection.
func (p *Pool) drop(c *Conn) {
	p.unlink(c)
	c.Discard()
}

func (p *Pool) unlink(c *Conn) { p.idle[c.backend].take(c) }

func (p *Pool) recycle(c *Conn) { p.free.Put(c) }

// Fits reports whether the connection is one the target asks for: to its
// address, from the same one, with TLS if it says so, for the same name.
func (c *Conn) Fits(t *Target) bool { return c.leads(t) && c.options.Security == t.Options.Security }

// leads reports whether the connection goes where, and comes from where, the
// target says, and began as it says.
func (c *Conn) leads(t *Target) bool {
	return c.addr == t.Addr && c.options.Source == t.Options.Source && c.options.Mark == t.Options.Mark && c.announce == t.Announce
}
