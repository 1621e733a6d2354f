package dial

import (
	"errors"
	"syscall"

	"github.com/sluicelb/sluice/core/loop"
)

// Owner is the exchange that uses a connection and receives its events. No method is called
// after the connection was finished, put back or discarded.
type Owner interface {
	// BackendConnected reports the outcome of a connect. began is its start in nanoseconds
	// of the loop's clock. own tells whether it was made for this owner. After an error the
	// connection is gone.
	BackendConnected(began int64, own bool, err error)
	// BackendReadable reports that bytes or the end can be read.
	BackendReadable()
	// BackendDrained reports that all pending output was sent.
	BackendDrained()
	// BackendExpired reports that the deadline passed. It is unset by then.
	BackendExpired()
	// BackendFailed reports that an event handler failed. The connection is gone.
	BackendFailed(err error)
}

// Dial opens a connection to the target. The owner gets the outcome, which includes the TLS
// handshake if the target requires one.
func (p *Pool) Dial(t *Target, owner Owner) (*Conn, error) {
	c := p.free.Get()
	*c = Conn{pool: p, owner: owner, backend: t.ID, addr: t.Addr, options: t.Options, announce: t.Announce, started: p.loop.Now(), idleTime: IdleTime}
	c.options.Preface = nil // belongs to the target
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

// Fits reports whether the connection has the address, source, mark, PROXY version and
// security of the target.
func (c *Conn) Fits(t *Target) bool { return c.leads(t) && c.options.Security == t.Options.Security }

// SetOwner passes the use of the connection, and all later events, to another owner.
func (c *Conn) SetOwner(o Owner) { c.owner = o }

// Again gives the owner another turn after the other connections had theirs.
func (c *Conn) Again() { c.pool.loop.Again(c.Conn) }

// Discard closes the connection. The owner gets no more events.
func (c *Conn) Discard() {
	c.owner = nil
	c.Conn.Close()
	c.pool.recycle(c)
}

// Connected implements loop.Handler.
func (c *Conn) Connected(_ *loop.Conn, err error) {
	owner, began := c.owner, c.started
	if err != nil {
		c.owner = nil
		c.pool.recycle(c)
	}
	if owner != nil {
		owner.BackendConnected(began, true, err)
	}
}

// Drained implements loop.Handler.
func (c *Conn) Drained(*loop.Conn) {
	if c.owner != nil {
		c.owner.BackendDrained()
	}
}

// Expired implements loop.Handler. Without an owner the idle time has passed.
func (c *Conn) Expired(*loop.Conn) {
	if c.owner != nil {
		c.owner.BackendExpired()
		return
	}
	c.pool.unlink(c)
	c.Discard()
}

// Failed implements loop.Handler.
func (c *Conn) Failed(_ *loop.Conn, err error) {
	owner := c.owner
	if owner == nil {
		c.pool.unlink(c)
	}
	c.owner = nil
	c.pool.recycle(c)
	if owner != nil {
		owner.BackendFailed(err)
	}
}

// SendBody sends more of the body, followed by the trailer.
func (c *Conn) SendBody(p []byte, _ bool, trailer []byte) error {
	err := c.Write(p)
	if err == nil && len(trailer) > 0 {
		err = c.Write(trailer)
	}
	return err
}

// Trailers returns nil: HTTP/1 trailers are part of the body (see Complete).
func (c *Conn) Trailers() []byte { return nil }

// FinishFor is Finish for a connection that is reserved for one client from now on.
func (c *Conn) FinishFor(k *Kept, service uint32, whole bool) {
	if !whole || c.Pending() != 0 {
		c.Discard()
		return
	}
	k.put(c, service)
}

// Reserve does nothing: the connection is not shared.
func (c *Conn) Reserve() {}

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

// Retain closes the idle connections to backends, given by ID, for which keep returns false.
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
