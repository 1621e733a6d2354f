package dial

import (
	"net/netip"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/proxyproto"
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

// Conn is one connection to a backend.
type Conn struct {
	// Conn is the connection on the loop.
	*loop.Conn
	pool     *Pool
	owner    Owner
	bucket   *bucket // while it is idle
	links    links   // in the bucket
	seq      uint64  // when it was put there, among those to its backend
	addr     netip.AddrPort
	options  loop.DialOptions
	announce proxyproto.Version
	backend  uint32
	reused   bool
	started  int64
}

// Reused reports whether an earlier exchange used the connection. Only then
// may its end be the backend's keep-alive time-out and no failure.
func (c *Conn) Reused() bool { return c.reused }

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

// Readable is for the loop only. Whatever an idle connection has to say makes
// it useless: its end, or bytes nobody asked for (an answer before its
// request, which must never be taken for the next one's).
func (c *Conn) Readable(*loop.Conn) {
	if c.owner != nil {
		c.owner.BackendReadable()
		return
	}
	if !c.quiet() {
		c.pool.unlink(c)
		c.Discard()
	}
}

// quiet reports whether a connection without an exchange has nothing to say.
// What TLS says on its own behalf (session tickets, new keys) is taken and does
// not count.
func (c *Conn) quiet() bool {
	if !c.Conn.Readable() {
		return true
	}
	if !c.Secured() {
		return false
	}
	_, err := c.Read(c.pool.said[:])
	return err == loop.ErrDry
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

// What an exchange does with a connection it has to itself. Where a backend
// speaks HTTP/2 a stream does the same, see l7/backend: bodies are framed there,
// here they come framed.

// Send sends a request: its head and what has come of its body, framed.
func (c *Conn) Send(b []byte, _ bool, _ []byte) error { return c.Write(b) }

// SendBody sends more of the body, and the trailer behind its last bytes.
func (c *Conn) SendBody(p []byte, _ bool, trailer []byte) error {
	err := c.Write(p)
	if err == nil && len(trailer) > 0 {
		err = c.Write(trailer)
	}
	return err
}

// Complete reports whether the whole answer has come, where that is known
// without its framing: on a connection of HTTP/1 it never is.
func (c *Conn) Complete() bool { return false }

// Trailers are those of an answer that comes without chunks; see Complete.
func (c *Conn) Trailers() []byte { return nil }

// Finish ends the use of the connection after a complete answer. whole tells that
// nothing of the exchange is left on it, so that it may carry another.
func (c *Conn) Finish(whole bool) {
	if !whole || c.Pending() != 0 {
		c.Discard()
		return
	}
	c.pool.Put(c)
}

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
