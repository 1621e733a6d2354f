package dial

import (
	"errors"
	"net/netip"
	"syscall"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/proxyproto"
)

// IdleTime is how long an unused connection is kept: below the keep-alive
// time-outs servers commonly use, so that they rarely end it first.
const IdleTime = 30_000_000_000

// maxIdle bounds the idle connections to one backend on one loop.
const maxIdle = 1024

// maxLooks bounds the search among idle connections that were secured for
// other names, which clients choose.
const maxLooks = 32

// Target is the backend to connect to. With Options.Security an idle connection
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

// list holds the idle connections to one backend.
type list struct {
	head  Conn // sentinel
	count int
}

// Pool is the connections to all backends of one loop.
type Pool struct {
	loop *loop.Loop
	idle []*list // by backend number
	free *loop.FreeList[Conn]
	one  [1]byte // what an idle connection said
}

// NewPool returns the empty pool of l.
func NewPool(l *loop.Loop) *Pool { return &Pool{loop: l, free: loop.NewFreeList[Conn](l)} }

// Idle returns an idle connection to the target, nil when there is none.
func (p *Pool) Idle(t *Target, owner Owner) *Conn {
	if int(t.ID) >= len(p.idle) || p.idle[t.ID] == nil {
		return nil
	}
	l := p.idle[t.ID]
	for c, looks := l.head.next, 0; c != &l.head && looks < maxLooks; looks++ {
		next := c.next
		switch {
		case !c.leads(t): // the backend's address, or its source's, was changed since
			p.unlink(c)
			c.Discard()
		case c.options.Security == t.Options.Security: // else it was made for another name
			p.unlink(c)
			c.owner, c.reused = owner, true
			return c
		}
		c = next
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

// Put takes back a connection whose exchange is complete on both sides.
func (p *Pool) Put(c *Conn) {
	if !c.quiet() {
		c.Discard()
		return
	}
	l := p.list(c.backend)
	if l.count >= maxIdle {
		oldest := l.head.prev
		p.unlink(oldest)
		oldest.Discard()
	}
	c.owner = nil
	c.next, c.prev = l.head.next, &l.head
	c.next.prev, l.head.next = c, c
	l.count++
	c.SetDeadline(p.loop.Now() + IdleTime)
}

// Retain drops the idle connections keep says no to: those of backends that
// are gone or cut.
func (p *Pool) Retain(keep func(backend uint32) bool) {
	for id, l := range p.idle {
		if l == nil || l.count == 0 || keep(uint32(id)) {
			continue
		}
		for l.count > 0 {
			c := l.head.next
			p.unlink(c)
			c.Discard()
		}
	}
}

// evict closes one idle connection to make room for a new one.
func (p *Pool) evict() bool {
	for _, l := range p.idle {
		if l != nil && l.count > 0 {
			c := l.head.prev
			p.unlink(c)
			c.Discard()
			return true
		}
	}
	return false
}

func (p *Pool) list(id uint32) *list {
	for int(id) >= len(p.idle) {
		p.idle = append(p.idle, nil)
	}
	if p.idle[id] == nil {
		l := new(list)
		l.head.next, l.head.prev = &l.head, &l.head
		p.idle[id] = l
	}
	return p.idle[id]
}

func (p *Pool) unlink(c *Conn) {
	c.next.prev, c.prev.next = c.prev, c.next
	c.next, c.prev = nil, nil
	p.idle[c.backend].count--
}

func (p *Pool) recycle(c *Conn) { p.free.Put(c) }
