package loop

// Limits for handshakes per loop. A handshake in progress holds about 40 KiB of stack
// and buffers. Its start blocks the loop for about 0.1 ms.
const (
	// handshakesMost is the default number of concurrent handshakes of accepted
	// connections.
	handshakesMost = 1024
	// handshakesRoom is the default number of connections that may wait, unread, in
	// FIFO order.
	handshakesRoom = 4096
	// startsPerTurn is the number of handshakes that may start before other connections
	// are served.
	startsPerTurn = 8
	// patience is how long (in nanoseconds) a handshake may run while others wait.
	patience = 3_000_000_000
)

// handshakes holds the handshakes of a loop's accepted connections.
type handshakes struct {
	loop       *Loop
	most, room int
	started    int           // started since the last turn
	timer      *Timer        // fires when patience is exhausted
	flying     handshakeList // in progress, oldest first
	waiting    handshakeList // waiting to start
}

func (s *handshakes) init(l *Loop) {
	s.loop, s.most, s.room = l, handshakesMost, handshakesRoom
	s.timer = l.NewTimer(s.hurry)
	s.flying.init()
	s.waiting.init()
}

// LimitHandshakes bounds the handshakes of accepted connections: underWay in progress,
// at least 1, and waiting more that queue unread in FIFO order. Further connections are
// closed, and Connected reports ErrBusy. While others wait, a handshake that has taken
// more than 3 s is aborted. The defaults are 1024 and 4096.
func (l *Loop) LimitHandshakes(underWay, waiting int) {
	l.shakes.most, l.shakes.room = max(1, underWay), max(0, waiting)
	l.shakes.admit()
}

// Handshakes returns the numbers of handshakes of accepted connections that are in
// progress and waiting.
func (l *Loop) Handshakes() (underWay, waiting int) {
	return l.shakes.flying.count, l.shakes.waiting.count
}

// enter starts the handshake of c, whose first bytes have arrived, or queues it.
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
		return // its deadline was set to now
	}
	h.waits = true
	s.waiting.push(h)
	s.hurry()
}

// hurry makes sure that waiting handshakes start: now if there is room, or once the
// oldest handshake in progress ends or exceeds its patience.
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

// Handshaking reports whether the handshake of an accepted connection has begun and is not over.
// Nothing has begun before the first byte of the peer.
func (c *Conn) Handshaking() bool {
	return c.flags&flagHandshake != 0 && (c.secure.shake.waits || c.secure.shake.co != nil) && !c.secure.shake.client
}

// GiveUpHandshake ends the handshake of an accepted connection in Handler.Expired. Connected
// reports ErrTimeout, or ErrBusy if the handshake waited for others and never started.
func (c *Conn) GiveUpHandshake() {
	err := ErrTimeout
	if c.secure.shake.waits {
		err = ErrBusy
	}
	c.unshaken(err, false)
}

func (s *handshakes) giveUp(c *Conn) {
	defer c.Contain()
	c.unshaken(ErrTimeout, false)
}

// admit starts waiting handshakes, up to the limit per turn.
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

// relaunch starts the handshake outside an event of its connection.
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

// leave removes h from its list.
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

// handshakeList is a circular list with a sentinel.
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
