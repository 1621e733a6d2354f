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

// idle is the idle connections to one backend: on a shelf for each security,
// which is each name, and by when they were used last.
type idle struct {
	shelves map[loop.Security]*shelf
	last    *shelf // the one that was looked for last; it stays when it is empty
	free    *loop.FreeList[shelf]
	often   queue // more than one exchange used them
	once    queue
}

// shelf is those that serve who asks for the same security, the one that was
// used last first.
type shelf struct {
	security loop.Security
	head     *Conn
}

// queue is a ring of connections, the one that was used last first.
type queue struct {
	head  *Conn
	count int
}

// links are the neighbours of a connection.
type links struct{ next, prev *Conn }

func newIdle(l *loop.Loop) *idle {
	return &idle{shelves: map[loop.Security]*shelf{}, free: loop.NewFreeList[shelf](l)}
}

func (l *idle) count() int { return l.often.count + l.once.count }

// first is the connection of that security that was used last; nil when there
// is none.
func (l *idle) first(security loop.Security) *Conn {
	if s := l.find(security); s != nil {
		return s.head
	}
	return nil
}

// find returns the shelf of a security. Most backends have one, which costs no
// look-up.
func (l *idle) find(security loop.Security) *shelf {
	if l.last != nil && l.last.security == security {
		return l.last
	}
	s := l.shelves[security]
	if s != nil {
		l.look(s)
	}
	return s
}

// look makes s the last one that was looked for.
func (l *idle) look(s *shelf) {
	before := l.last
	l.last = s
	if before != nil && before.head == nil {
		l.remove(before)
	}
}

func (l *idle) remove(s *shelf) {
	delete(l.shelves, s.security)
	*s = shelf{}
	l.free.Put(s)
}

// put adds a connection.
func (l *idle) put(c *Conn) {
	s := l.find(c.options.Security)
	if s == nil {
		s = l.free.Get()
		s.security = c.options.Security
		l.shelves[s.security] = s
		l.look(s)
	}
	c.shelf = s
	c.beside = links{next: s.head}
	if s.head != nil {
		s.head.beside.prev = c
	}
	s.head = c
	l.queue(c).add(c)
}

// take takes a connection out.
func (l *idle) take(c *Conn) {
	s := c.shelf
	if c.beside.prev != nil {
		c.beside.prev.beside.next = c.beside.next
	} else {
		s.head = c.beside.next
	}
	if c.beside.next != nil {
		c.beside.next.beside.prev = c.beside.prev
	}
	c.shelf, c.beside = nil, links{}
	l.queue(c).remove(c)
	if s.head == nil && s != l.last {
		l.remove(s)
	}
}

// spare is the connection that is missed least. There is one.
func (l *idle) spare() *Conn {
	if l.once.count > maxOnce || l.often.count == 0 {
		return l.once.head.around.prev
	}
	return l.often.head.around.prev
}

// queue is the one a connection belongs into.
func (l *idle) queue(c *Conn) *queue {
	if c.reused {
		return &l.often
	}
	return &l.once
}

func (q *queue) add(c *Conn) {
	if q.head == nil {
		c.around = links{c, c}
	} else {
		c.around = links{q.head, q.head.around.prev}
		c.around.prev.around.next, c.around.next.around.prev = c, c
	}
	q.head = c
	q.count++
}

func (q *queue) remove(c *Conn) {
	if q.count--; q.count == 0 {
		q.head = nil
	} else {
		c.around.next.around.prev, c.around.prev.around.next = c.around.prev, c.around.next
		if q.head == c {
			q.head = c.around.next
		}
	}
	c.around = links{}
}
