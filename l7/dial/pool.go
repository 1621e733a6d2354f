package dial

import (
	"net/netip"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/proxyproto"
)

// IdleTime is the maximum idle time of a connection in nanoseconds, unless its backend
// announces a shorter one (Keep-Alive: timeout).
const IdleTime = 30_000_000_000

// Target is the backend to connect to; ID is its number. An idle connection is reused only
// for the same Options.Security.
type Target struct {
	ID      uint32
	Addr    netip.AddrPort
	Timeout int64 // for connect and handshake together, in nanoseconds
	Options loop.DialOptions
	// Announce is the version of the PROXY header in Options.Preface; 0 without one. The
	// header describes one client, so such connections are kept for that client and never
	// put into the pool.
	Announce proxyproto.Version
}

// Pool holds the connections to all backends of one loop.
type Pool struct {
	loop *loop.Loop
	idle []*idleList // by backend ID
	free *loop.FreeList[Conn]
	said [1]byte // read buffer for idle connections
}

// NewPool returns an empty pool for l.
func NewPool(l *loop.Loop) *Pool { return &Pool{loop: l, free: loop.NewFreeList[Conn](l)} }

// Conn is one connection to a backend.
type Conn struct {
	*loop.Conn
	pool     *Pool
	owner    Owner
	bucket   *bucket // while idle
	links    links   // in the bucket
	seq      uint64  // order in which idle connections of the backend were put back
	addr     netip.AddrPort
	options  loop.DialOptions
	announce proxyproto.Version
	backend  uint32
	reused   bool
	started  int64
	idleTime int64 // maximum, in nanoseconds
}

// Reused reports whether an earlier exchange used the connection. Only then may its end be
// the backend's keep-alive timeout instead of a failure.
func (c *Conn) Reused() bool { return c.reused }

// Idle returns the most recently used idle connection to the target, or nil if there is
// none. The connection then belongs to owner.
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
		c.Discard() // the address, source or mark of the target has changed
	}
	return nil
}

// IdleAlive is Idle for a request that must not be sent twice. It leaves out connections that
// the backend has just closed.
func (p *Pool) IdleAlive(t *Target, owner Owner) *Conn {
	c := p.Idle(t, owner)
	for ; c != nil && c.Departed(); c = p.Idle(t, owner) {
		c.Discard()
	}
	return c
}

// KeepFor reduces the maximum idle time to that of the backend, in nanoseconds.
func (c *Conn) KeepFor(nanos int64) { c.idleTime = min(IdleTime, nanos) }

// leads reports whether the connection has the address, source, mark and PROXY version of
// the target.
func (c *Conn) leads(t *Target) bool {
	return c.addr == t.Addr && c.options.Source == t.Options.Source && c.options.Mark == t.Options.Mark && c.announce == t.Announce
}

// The methods of an exchange with its own connection. Streams of HTTP/2 have the same
// methods (l7/backend), but frame the body themselves; here it is framed by the caller.

// Send sends the head and the body received so far, already framed.
func (c *Conn) Send(b []byte, _ bool, _ []byte) error { return c.Write(b) }

// Readable implements loop.Handler. Any input makes an idle connection unusable: the end, or
// unsolicited bytes. A response before its request must never be taken for the response to
// the next request.
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

// Complete reports whether the whole response has arrived, if the connection can tell. An
// HTTP/1 connection never can, because its caller does the framing.
func (c *Conn) Complete() bool { return false }

// Finish ends the use of the connection after a complete response. whole means that nothing
// of the exchange is left on it, so that it is reusable.
func (c *Conn) Finish(whole bool) {
	if !whole || c.Pending() != 0 {
		c.Discard()
		return
	}
	c.pool.Put(c)
}

// Put returns a connection to the pool after a complete exchange, until its idle time is over.
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
	c.SetDeadline(p.loop.Now() + c.idleTime)
}

// quiet reports whether a connection without an exchange has no unread bytes. Readiness
// alone is only a hint, so it reads. TLS's own messages (session tickets, key updates) are
// consumed and do not count.
func (c *Conn) quiet() bool {
	if !c.Conn.Readable() {
		return true
	}
	_, err := c.Read(c.pool.said[:])
	return err == loop.ErrDry
}

// idleList holds the idle connections to one backend, in one bucket for each Security and
// thus for each server name.
type idleList struct {
	buckets map[loop.Security]*bucket
	last    *bucket // bucket of the last search; it stays while empty
	free    *loop.FreeList[bucket]
	often   int    // connections used by more than one exchange
	once    int    // other connections
	puts    uint64 // number of connections ever put; the oldest is evicted first
}

// bucket holds the connections with the same Security, most recently used first.
type bucket struct {
	security loop.Security
	head     *Conn
}

// links are the neighbours of a connection in its bucket.
type links struct{ next, prev *Conn }

func newIdleList(l *loop.Loop) *idleList {
	return &idleList{buckets: map[loop.Security]*bucket{}, free: loop.NewFreeList[bucket](l)}
}

func (l *idleList) count() int { return l.often + l.once }

// first returns the most recently used connection with that security, or nil.
func (l *idleList) first(security loop.Security) *Conn {
	if b := l.find(security); b != nil {
		return b.head
	}
	return nil
}

// find returns the bucket of a security. Most backends have a single one, which is found
// without a map lookup.
func (l *idleList) find(security loop.Security) *bucket {
	if l.last != nil && l.last.security == security {
		return l.last
	}
	b := l.buckets[security]
	if b != nil {
		l.setLast(b)
	}
	return b
}

// take removes a connection.
func (l *idleList) take(c *Conn) {
	b, prev, next := c.bucket, c.links.prev, c.links.next
	if prev != nil {
		prev.links.next = next
	} else {
		b.head = next
	}
	if next != nil {
		next.links.prev = prev
	}
	c.bucket, c.links = nil, links{}
	*l.kind(c)--
	if b.head == nil && b != l.last {
		l.remove(b)
	}
}

// put adds a connection.
func (l *idleList) put(c *Conn) {
	b := l.find(c.options.Security)
	if b == nil {
		b = l.free.Get()
		b.security = c.options.Security
		l.buckets[b.security] = b
		l.setLast(b)
	}
	c.bucket = b
	c.links = links{next: b.head}
	if b.head != nil {
		b.head.links.prev = c
	}
	b.head = c
	l.puts++
	c.seq = l.puts
	*l.kind(c)++
}

// kind returns the counter of the connection's kind.
func (l *idleList) kind(c *Conn) *int {
	if c.reused {
		return &l.often
	}
	return &l.once
}

// setLast makes b the bucket of the last search and removes the previous one if it is empty.
func (l *idleList) setLast(b *bucket) {
	before := l.last
	l.last = b
	if before != nil && before.head == nil {
		l.remove(before)
	}
}

func (l *idleList) remove(b *bucket) {
	delete(l.buckets, b.security)
	*b = bucket{}
	l.free.Put(b)
}

const (
	// maxIdle bounds the idle connections to one backend on one loop.
	maxIdle = 1024
	// maxOnce is the number of idle connections used by only one exchange from which these
	// evict each other when the list is full. With TLS, clients choose the server names and
	// can invent any number.
	maxOnce = maxIdle / 8
)

// victim returns the connection to evict; the list must not be empty. It looks at all
// connections, because evictions are rare and taking and putting must be cheap.
func (l *idleList) victim() *Conn {
	often := l.once <= maxOnce && l.often > 0
	var first *Conn
	for _, b := range l.buckets {
		for c := b.head; c != nil; c = c.links.next {
			if c.reused == often && (first == nil || c.seq < first.seq) {
				first = c
			}
		}
	}
	return first
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

func (p *Pool) unlink(c *Conn) { p.idle[c.backend].take(c) }

// drop closes an idle connection.
func (p *Pool) drop(c *Conn) {
	p.unlink(c)
	c.Discard()
}

func (p *Pool) recycle(c *Conn) { p.free.Put(c) }
