package dial

import (
	"net/netip"

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

// leads reports whether the connection goes where, and comes from where, the
// target says, and began as it says.
func (c *Conn) leads(t *Target) bool {
	return c.addr == t.Addr && c.options.Source == t.Options.Source && c.options.Mark == t.Options.Mark && c.announce == t.Announce
}

// What an exchange does with a connection it has to itself. Where a backend
// speaks HTTP/2 a stream does the same, see l7/backend: bodies are framed there,
// here they come framed.

// Send sends a request: its head and what has come of its body, framed.
func (c *Conn) Send(b []byte, _ bool, _ []byte) error { return c.Write(b) }

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

// Complete reports whether the whole answer has come, where that is known
// without its framing: on a connection of HTTP/1 it never is.
func (c *Conn) Complete() bool { return false }

// Finish ends the use of the connection after a complete answer. whole tells that
// nothing of the exchange is left on it, so that it may carry another.
func (c *Conn) Finish(whole bool) {
	if !whole || c.Pending() != 0 {
		c.Discard()
		return
	}
	c.pool.Put(c)
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

// quiet reports whether a connection without an exchange has nothing to say: an
// event, and an answer that filled its reader's buffer, only make that likely.
// What TLS says on its own behalf (session tickets, new keys) is taken and does
// not count.
func (c *Conn) quiet() bool {
	if !c.Conn.Readable() {
		return true
	}
	_, err := c.Read(c.pool.said[:])
	return err == loop.ErrDry
}

// idleList is the idle connections to one backend: in a bucket for each security,
// which is each name.
type idleList struct {
	buckets map[loop.Security]*bucket
	last    *bucket // the one that was looked for last; it stays when it is empty
	free    *loop.FreeList[bucket]
	often   int    // that more than one exchange used
	once    int    // others
	puts    uint64 // connections that ever came: who came first is missed least
}

// bucket is those that serve who asks for the same security, the one that was
// used last first.
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

// first is the connection of that security that was used last; nil when there
// is none.
func (l *idleList) first(security loop.Security) *Conn {
	if b := l.find(security); b != nil {
		return b.head
	}
	return nil
}

// find returns the bucket of a security. Most backends have one, which costs no
// look-up.
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

// take takes a connection out.
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

// kind counts those of a connection's kind.
func (l *idleList) kind(c *Conn) *int {
	if c.reused {
		return &l.often
	}
	return &l.once
}

// setLast makes b the bucket that was looked for last.
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
	// maxOnce is how many of them may be such that one exchange used, when there
	// is no more room. With TLS clients choose the names connections are made
	// for, and can invent as many as they like: these make room for each other.
	maxOnce = maxIdle / 8
)

// victim is the connection that is missed least. There is one. All are looked at:
// that is rarely asked, and being taken and put back is not.
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
