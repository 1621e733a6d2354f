package http2

// Streams that cannot send wait in one of two ways. If their own window is exhausted, they
// wait until the peer opens it. Otherwise they wait in the connection's queue for its window
// or for room in the output. The queue is served round robin. Each stream gets an equal share
// of the room, but at least a frame, so that a large body cannot starve small ones.

// minShare is the least a stream may send in its turn.
const minShare = maxFrame

// minRoom is the least room in the output for a frame.
const minRoom = 2 << 10

// Room returns the number of bytes that Data accepts now. If it is 0 the stream waits, and
// Handler.Writable is called when there is room.
func (s *Stream) Room() int {
	if s.state&(open|weEnded) != open {
		return 0
	}
	n := s.conn.room(s)
	if n == 0 {
		s.wait()
	}
	return n
}

// room returns the number of bytes that s may send now.
func (c *Conn) room(s *Stream) int {
	n := c.available()
	switch {
	case c.turn == s:
		n = min(n, c.share)
	case c.waiting.Len() > 0:
		return 0 // others wait already
	}
	return max(0, min(n, int(s.sendWindow)))
}

// available returns the number of bytes that the connection can send now.
func (c *Conn) available() int {
	n := c.sh.limits.Output - len(c.out)
	if n < minRoom {
		return 0
	}
	n -= frameHeader * (n/(maxFrame+frameHeader) + 1)
	return min(n, int(c.sendWindow))
}

// wait marks a stream as waiting for room.
func (s *Stream) wait() {
	c := s.conn
	if s.blocked == 0 && (s.sendWindow <= 0 || c.sendWindow <= 0) {
		s.blocked = c.sh.now()
	}
	if s.sendWindow <= 0 {
		s.state |= short
		return
	}
	c.enqueue(s)
}

func (c *Conn) enqueue(s *Stream) {
	if !s.queued.Listed() {
		c.waiting.PushBack(&s.queued, s)
	}
}

func (c *Conn) dequeue(s *Stream) {
	if s.queued.Listed() {
		c.waiting.Remove(&s.queued)
	}
}

// opened queues a stream whose own window was opened.
func (c *Conn) opened(s *Stream) {
	if s.state&short != 0 && s.sendWindow > 0 {
		s.state &^= short
		c.enqueue(s)
		c.again = true
	}
}

// Blocked returns the time since which the peer's windows have blocked a stream, the
// earliest of all streams; 0 if none is blocked.
func (c *Conn) Blocked() (since int64) {
	for _, s := range c.table {
		for ; s != nil; s = s.chain {
			if s.blocked != 0 && (since == 0 || s.blocked < since) {
				since = s.blocked
			}
		}
	}
	return since
}

// pump gives waiting streams their turns while there is room. It terminates because a stream
// that is queued again has used up room.
func (c *Conn) pump() {
	if c.turn != nil {
		return
	}
	c.again = false
	for c.waiting.Len() > 0 {
		s, n := c.waiting.First(), c.available()
		if n <= 0 {
			if c.sendWindow <= 0 && s.blocked == 0 {
				s.blocked = c.sh.now() // so far it had waited for the output only
			}
			return
		}
		c.dequeue(s)
		c.turn, c.share = s, max(minShare, n/(c.waiting.Len()+1))
		c.handler.Writable(s)
		c.turn = nil
	}
}
