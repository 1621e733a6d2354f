package loop

// What handshakes may take of a loop. Each one under way costs a stack and
// buffers, some 40 KiB, and its beginning a tenth of a millisecond, in which
// the loop serves nobody else.
const (
	// handshakesMost is how many of accepted connections are under way at once.
	handshakesMost = 1024
	// handshakesRoom is how many more may wait, unread, in order.
	handshakesRoom = 4096
	// startsPerTurn is how many begin before the other connections have their
	// turn.
	startsPerTurn = 8
	// patience is how long a handshake may keep others waiting.
	patience = 3_000_000_000
)

// handshakes are the handshakes of a loop's accepted connections.
type handshakes struct {
	loop       *Loop
	most, room int
	started    int           // since the last turn
	timer      *Timer        // for the patience
	flying     handshakeList // those under way, the oldest first
	waiting    handshakeList // those that wait for their turn
}

func (s *handshakes) init(l *Loop) {
	s.loop, s.most, s.room = l, handshakesMost, handshakesRoom
	s.timer = l.NewTimer(s.hurry)
	s.flying.init()
	s.waiting.init()
}

// LimitHandshakes bounds the handshakes of accepted connections: so many under
// way, at least one, and so many more that wait in order without having been
// read. What exceeds both is closed, and Connected reports ErrBusy. While some
// wait, one that has been under way for more than three seconds makes room.
// A loop begins with 1024 and 4096.
func (l *Loop) LimitHandshakes(underWay, waiting int) {
	l.shakes.most, l.shakes.room = max(1, underWay), max(0, waiting)
	l.shakes.admit()
}

// Handshakes reports how many handshakes of accepted connections are under
// way and how many wait.
func (l *Loop) Handshakes() (underWay, waiting int) {
	return l.shakes.flying.count, l.shakes.waiting.count
}

// enter begins the handshake of c, whose first bytes are there, or lets it wait.
func (s *handshakes) enter(c *Conn) {
	h := c.secure.shake
	if s.waiting.count == 0 && s.flying.count < s.most && s.started < startsPerTurn {
		s.launch(h)
		return
	}
	if s.waiting.count >= s.room {
		*s.loop.count.HandshakesRefused++
		handler := c.handler
		c.Close()
		handler.Connected(c, ErrBusy)
		return
	}
	if c.watch() != nil {
		return // its deadline has come
	}
	h.waits = true
	s.waiting.push(h)
	s.hurry()
}

// hurry sees to it that those who wait have their turn: the next one if there
// is room, or once there is.
func (s *handshakes) hurry() {
	if s.waiting.count == 0 {
		return
	}
	if s.flying.count >= s.most {
		oldest := s.flying.first()
		if left := oldest.since + patience - s.loop.Now(); left > 0 || oldest.job != nil {
			if !s.timer.linked() {
				s.loop.StartTimer(s.timer, max(left, tickNanos))
			}
			return
		}
		s.giveUp(oldest.s.conn)
	}
	s.loop.call()
}

func (s *handshakes) giveUp(c *Conn) {
	defer c.Contain()
	c.unshaken(ErrTimeout, false)
}

// admit begins the handshakes of those who wait, as many as a turn allows.
func (s *handshakes) admit() {
	s.started = 0
	for s.waiting.count > 0 && s.flying.count < s.most && s.started < startsPerTurn {
		h := s.waiting.first()
		s.waiting.drop(h)
		h.waits = false
		s.relaunch(h)
	}
	s.hurry()
}

// relaunch is launch outside of an event of its connection.
func (s *handshakes) relaunch(h *handshake) {
	c := h.s.conn
	defer c.Contain()
	c.flags |= flagWet
	s.launch(h)
}

func (s *handshakes) launch(h *handshake) {
	s.started++
	h.since, h.flies = s.loop.Now(), true
	s.flying.push(h)
	h.s.conn.launch()
}

// leave takes h out, wherever it is.
func (s *handshakes) leave(h *handshake) {
	switch {
	case h.flies:
		h.flies = false
		s.flying.drop(h)
		if s.waiting.count > 0 {
			s.loop.call()
		}
	case h.waits:
		h.waits = false
		s.waiting.drop(h)
	}
}

// handshakeList is a ring with its head.
type handshakeList struct {
	head  handshake
	count int
}

func (l *handshakeList) init() { l.head.next, l.head.prev = &l.head, &l.head }

func (l *handshakeList) first() *handshake { return l.head.next }

func (l *handshakeList) push(h *handshake) {
	h.next, h.prev = &l.head, l.head.prev
	h.prev.next, l.head.prev = h, h
	l.count++
}

func (l *handshakeList) drop(h *handshake) {
	h.next.prev, h.prev.next = h.prev, h.next
	h.next, h.prev = nil, nil
	l.count--
}
