package dial

import "github.com/sluicelb/sluice/core/loop"

const (
	// maxIdle bounds the idle connections to one backend on one loop.
	maxIdle = 1024
	// maxOnce is how many of them may be such that one exchange used, when there
	// is no more room. With TLS clients choose the names connections are made
	// for, and can invent as many as they like: these make room for each other.
	maxOnce = maxIdle / 8
)

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

// kind counts those of a connection's kind.
func (l *idleList) kind(c *Conn) *int {
	if c.reused {
		return &l.often
	}
	return &l.once
}
