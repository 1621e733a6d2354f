package dial

import "github.com/sluicelb/sluice/core/loop"

// Kept is the connections to backends that one client keeps between its
// exchanges: what a backend has bound to a connection (an NTLM log-in, the address
// it was told) stays with that client, and nobody else ever gets it. Whatever a
// backend says on one meanwhile makes it useless.
type Kept struct {
	client *loop.Conn
	list   []*kept
	spare  *kept // one that is not in use
	shared bool
}

// kept is one of them.
type kept struct {
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
		for _, one := range k.list {
			if one.service == service {
				return true
			}
		}
	}
	return false
}

// Take hands a connection for a service to an exchange, the one that was kept
// last first. Those fits says no to are closed; nil means that there was none.
func (k *Kept) Take(service uint32, owner Owner, fits func(c *Conn, backend uint32) bool) *Conn {
	if k == nil {
		return nil
	}
	for i := len(k.list) - 1; i >= 0; i-- {
		one := k.list[i]
		if one.service != service && k.shared {
			continue
		}
		c, same := k.remove(i), one.service == service
		if same && fits(c, c.backend) {
			c.owner, c.reused = owner, true
			return c
		}
		c.Discard()
	}
	return nil
}

// Drop closes the connections to backends that drop says yes to.
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
	one := k.spare
	if k.spare = nil; one == nil {
		one = &kept{of: k}
	}
	one.Conn, one.service = c, service
	var until int64 // it lives as long as the client
	if k.shared {
		until = c.pool.loop.Now() + sharedTime
	}
	c.SetDeadline(until)
	c.owner, c.reused = one, true
	k.list = append(k.list, one)
}

// remove takes one out of the list.
func (k *Kept) remove(i int) *Conn {
	one, last := k.list[i], len(k.list)-1
	k.list[i], k.list[last] = k.list[last], nil
	k.list = k.list[:last]
	c := one.Conn
	one.Conn, k.spare = nil, one
	return c
}

// find is the place of one in the list.
func (k *Kept) find(one *kept) int {
	for i := range k.list {
		if k.list[i] == one {
			return i
		}
	}
	return -1
}

// end closes a connection that is useless.
func (one *kept) end() {
	defer one.of.client.Contain()
	one.of.remove(one.of.find(one)).Discard()
}

// BackendReadable implements Owner.
func (one *kept) BackendReadable() { one.end() }

// BackendExpired implements Owner.
func (one *kept) BackendExpired() { one.end() }

// BackendFailed implements Owner: the connection is gone already.
func (one *kept) BackendFailed(error) { one.of.remove(one.of.find(one)) }

// BackendDrained implements Owner; nothing was pending.
func (one *kept) BackendDrained() {}

// BackendConnected implements Owner; the connection stands.
func (one *kept) BackendConnected(int64, bool, error) {}
