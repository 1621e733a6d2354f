package dial

import (
	"slices"

	"github.com/sluicelb/sluice/core/loop"
)

// Kept is the connections to backends that one client keeps between its
// exchanges: what a backend has bound to a connection (an NTLM log-in, the address
// it was told) stays with that client, and nobody else ever gets it. Whatever a
// backend says on one meanwhile makes it useless.
type Kept struct {
	client *loop.Conn
	list   []*keptConn
	free   *keptConn // one that is not in use
	shared bool
}

// keptConn is one of them, and the owner of its connection meanwhile.
type keptConn struct {
	*Conn
	of      *Kept
	service uint32
}

const (
	// maxShared bounds what the streams of one connection leave to each other.
	maxShared = 32
	// sharedTime is how long each is kept then, in nanoseconds: below the
	// keep-alive time-outs servers commonly use.
	sharedTime = 30_000_000_000
)

// NewKept returns what a client of HTTP/1 keeps, which is one connection for as
// long as it stays. A panic while one is looked after costs the client.
func NewKept(client *loop.Conn) *Kept { return &Kept{client: client} }

// NewSharedKept returns what the streams of a client's connection keep for each
// other. They come and go: only a connection on which the client was announced is
// kept, what else a backend binds to one is for one exchange.
func NewSharedKept(client *loop.Conn) *Kept { return &Kept{client: client, shared: true} }

// Has reports whether there is a connection for a service. A nil Kept has none.
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

// Take hands a connection for a service, by its number, to an exchange, the one
// that was kept last first. Those fits says no to are closed; nil means that there
// was none. A nil Kept has none.
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

// Drop closes the connections to backends that drop says yes to, by their numbers.
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

// Close closes all of them.
func (k *Kept) Close() { k.Drop(func(uint32) bool { return true }) }

// put keeps the connection of an exchange that is complete.
func (k *Kept) put(c *Conn, service uint32) {
	if !k.shared {
		k.Close()
	}
	if c.Conn.Readable() || k.shared && (c.announce == 0 || len(k.list) == maxShared) {
		c.Discard() // its end, or bytes nobody asked for; or nobody would take it
		return
	}
	kc := k.free
	if k.free = nil; kc == nil {
		kc = &keptConn{of: k}
	}
	kc.Conn, kc.service = c, service
	var until int64 // it lives as long as the client
	if k.shared {
		until = c.pool.loop.Now() + sharedTime
	}
	c.SetDeadline(until)
	c.owner, c.reused = kc, true
	k.list = append(k.list, kc)
}

// remove takes one out of the list.
func (k *Kept) remove(i int) *Conn {
	kc := k.list[i]
	k.list = slices.Delete(k.list, i, i+1)
	c := kc.Conn
	kc.Conn, k.free = nil, kc
	return c
}

// unlink takes this one out of the list.
func (kc *keptConn) unlink() *Conn { return kc.of.remove(slices.Index(kc.of.list, kc)) }

// end closes a connection that is useless.
func (kc *keptConn) end() {
	defer kc.of.client.Contain()
	kc.unlink().Discard()
}

// BackendReadable implements Owner.
func (kc *keptConn) BackendReadable() { kc.end() }

// BackendExpired implements Owner.
func (kc *keptConn) BackendExpired() { kc.end() }

// BackendFailed implements Owner: the connection is gone already.
func (kc *keptConn) BackendFailed(error) { kc.unlink() }

// BackendDrained implements Owner; nothing was pending.
func (kc *keptConn) BackendDrained() {}

// BackendConnected implements Owner; the connection is established.
func (kc *keptConn) BackendConnected(int64, bool, error) {}
