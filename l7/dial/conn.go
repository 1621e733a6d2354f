package dial

import (
	"errors"
	"syscall"

	"github.com/sluicelb/sluice/core/loop"
)

// Owner is the exchange that uses a connection: it gets the connection's
// events while it does. No method is called after the connection was finished,
// put back or discarded.
type Owner interface {
	// BackendConnected reports the outcome of a connect that began then, in
	// nanoseconds on the loop's clock; own tells that it was made for this owner.
	// After an error the connection is gone.
	BackendConnected(began int64, own bool, err error)
	// BackendReadable says that there is something to read, or the end.
	BackendReadable()
	// BackendDrained says that all that was written has left.
	BackendDrained()
	// BackendExpired says that the deadline passed; it is unset then.
	BackendExpired()
	// BackendFailed says that the connection's handling failed; it is gone.
	BackendFailed(err error)
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

// Fits reports whether the connection is one the target asks for: to its
// address, from the same one, with TLS if it says so, for the same name.
func (c *Conn) Fits(t *Target) bool { return c.leads(t) && c.options.Security == t.Options.Security }

// Again gives the owner another turn after others had theirs.
func (c *Conn) Again() { c.pool.loop.Again(c.Conn) }

// Discard closes the connection; the owner hears nothing more.
func (c *Conn) Discard() {
	c.owner = nil
	c.Conn.Close()
	c.pool.recycle(c)
}

// Connected is for the loop only.
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

// Drained is for the loop only.
func (c *Conn) Drained(*loop.Conn) {
	if c.owner != nil {
		c.owner.BackendDrained()
	}
}

// Expired is for the loop only: an idle connection has been idle too long.
func (c *Conn) Expired(*loop.Conn) {
	if c.owner != nil {
		c.owner.BackendExpired()
		return
	}
	c.pool.unlink(c)
	c.Discard()
}

// Failed is for the loop only.
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

// SendBody sends more of the body, and the trailer behind its last bytes.
func (c *Conn) SendBody(p []byte, _ bool, trailer []byte) error {
	err := c.Write(p)
	if err == nil && len(trailer) > 0 {
		err = c.Write(trailer)
	}
	return err
}

// Trailers are those of an answer that comes without chunks; see Complete.
func (c *Conn) Trailers() []byte { return nil }

// FinishFor is Finish for a connection that is one client's from now on.
func (c *Conn) FinishFor(k *Kept, service uint32, whole bool) {
	if !whole || c.Pending() != 0 {
		c.Discard()
		return
	}
	k.put(c, service)
}

// Reserve keeps the connection from others: here nobody shares it.
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
