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
// which is each name.
type idle struct {
	shelves map[loop.Security]*shelf
	last    *shelf // the one that was looked for last; it stays when it is empty
	free    *loop.FreeList[shelf]
	often   int    // that more than one exchange used
	once    int    // others
	puts    uint64 // connections that ever came: who came first is missed least
}

// shelf is those that serve who asks for the same security, the one that was
// used last first.
type shelf struct {
	security loop.Security
	head     *Conn
}

// links are the neighbours of a connection.
type links struct{ next, prev *Conn }

func newIdle(l *loop.Loop) *idle {
	return &idle{shelves: map[loop.Security]*shelf{}, free: loop.NewFreeList[shelf](l)}
}

func (l *idle) count() int { return l.often + l.once }

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
	l.puts++
	c.put = l.puts
	*l.kind(c)++
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
	*l.kind(c)--
	if s.head == nil && s != l.last {
		l.remove(s)
	}
}

// spare is the connection that is missed least. There is one. All are looked at:
// that is rarely asked, and being taken and put back is not.
func (l *idle) spare() *Conn {
	often := l.once <= maxOnce && l.often > 0
	var first *Conn
	for _, s := range l.shelves {
		for c := s.head; c != nil; c = c.beside.next {
			if c.reused == often && (first == nil || c.put < first.put) {
				first = c
			}
		}
	}
	return first
}

// kind counts those of a connection's kind.
func (l *idle) kind(c *Conn) *int {
	if c.reused {
		return &l.often
	}
	return &l.once
}
