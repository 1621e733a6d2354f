package dial

import (
	"slices"

	"github.com/sluicelb/sluice/core/loop"
)

// Kept holds the connections to backends that are reserved for one client between its
// exchanges. State that a backend binds to a connection (an NTLM login, the client address
// of a PROXY header) thus stays with that client. Bytes from the backend between exchanges
// make a connection unusable.
type Kept struct {
	client *loop.Conn
	list   []*keptConn
	free   *keptConn // a free element
	shared bool
}

// keptConn is one kept connection, and its owner while it is kept.
type keptConn struct {
	*Conn
	of      *Kept
	service uint32
}

const (
	// maxShared bounds the connections kept between streams of one client.
	maxShared = 32
	// sharedTime bounds the idle time of each, in nanoseconds. It is below the usual
	// keep-alive timeouts of servers.
	sharedTime = 30_000_000_000
)

// NewKept returns the Kept of an HTTP/1 client: one connection for the lifetime of the
// client. A panic in an event of the connection closes the client.
func NewKept(client *loop.Conn) *Kept { return &Kept{client: client} }

// NewSharedKept returns a Kept that the streams of a client's connection share. Streams come
// and go, so only connections with a PROXY header are kept. Other state that a backend binds
// to a connection is limited to one exchange.
func NewSharedKept(client *loop.Conn) *Kept { return &Kept{client: client, shared: true} }

// Has reports whether there is a connection for a service. A nil Kept is empty.
func (k *Kept) Has(service uint32) bool {
	if k != nil {
		for _, kc := range k.list {
			if kc.service == service {
				return true
			}
		}
	}
	return false
}

// Take removes and returns the most recently kept connection for a service ID. Connections
// for which fits returns false are closed. Take returns nil if none is left or k is nil.
func (k *Kept) Take(service uint32, owner Owner, fits func(c *Conn, backend uint32) bool) *Conn {
	if k == nil {
		return nil
	}
	for i := len(k.list) - 1; i >= 0; i-- {
		kc := k.list[i]
		if kc.service != service && k.shared {
			continue
		}
		c, same := k.remove(i), kc.service == service
		if same && fits(c, c.backend) {
			c.owner, c.reused = owner, true
			return c
		}
		c.Discard()
	}
	return nil
}

// Drop closes the connections to backends, given by ID, for which drop returns true.
func (k *Kept) Drop(drop func(backend uint32) bool) {
	if k == nil {
		return
	}
	for i := len(k.list) - 1; i >= 0; i-- {
		if drop(k.list[i].backend) {
			k.remove(i).Discard()
		}
	}
}

// Close closes all kept connections.
func (k *Kept) Close() { k.Drop(func(uint32) bool { return true }) }

// put keeps the connection of a complete exchange.
func (k *Kept) put(c *Conn, service uint32) {
	if !k.shared {
		k.Close()
	}
	if c.Conn.Readable() || k.shared && (c.announce == 0 || len(k.list) == maxShared) {
		c.Discard() // the end, unexpected bytes, or no exchange would take it
		return
	}
	kc := k.free
	if k.free = nil; kc == nil {
		kc = &keptConn{of: k}
	}
	kc.Conn, kc.service = c, service
	var until int64 // zero: for the lifetime of the client
	switch now := c.pool.loop.Now(); {
	case k.shared:
		until = now + min(sharedTime, c.idleTime)
	case c.idleTime < IdleTime: // the backend closes it then
		until = now + c.idleTime
	}
	c.SetDeadline(until)
	c.owner, c.reused = kc, true
	k.list = append(k.list, kc)
}

// remove removes element i from the list and returns its connection.
func (k *Kept) remove(i int) *Conn {
	kc := k.list[i]
	k.list = slices.Delete(k.list, i, i+1)
	c := kc.Conn
	kc.Conn, k.free = nil, kc
	return c
}

// unlink removes kc from the list and returns its connection.
func (kc *keptConn) unlink() *Conn { return kc.of.remove(slices.Index(kc.of.list, kc)) }

// end closes an unusable connection.
func (kc *keptConn) end() {
	defer kc.of.client.Contain()
	kc.unlink().Discard()
}

// BackendReadable implements Owner.
func (kc *keptConn) BackendReadable() { kc.end() }

// BackendExpired implements Owner.
func (kc *keptConn) BackendExpired() { kc.end() }

// BackendFailed implements Owner. The connection is closed already.
func (kc *keptConn) BackendFailed(error) { kc.unlink() }

// BackendDrained implements Owner. Nothing is pending on a kept connection.
func (kc *keptConn) BackendDrained() {}

// BackendConnected implements Owner. Kept connections are established.
func (kc *keptConn) BackendConnected(int64, bool, error) {}
