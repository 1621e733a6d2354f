package http2

// Stream carries one exchange. It belongs to its owner from Handler.Head, or
// from Conn.Open, until one of these, after which it must not be touched again:
//
//   - both directions ended: the peer's last event said so, and the owner's
//     last Respond, Data or Trailers did;
//   - Handler.Reset returned;
//   - the owner called Reset.
//
// What is called on a stream within the event that ended it does nothing.
type Stream struct {
	// Owner is the caller's.
	Owner any

	conn          *Conn
	chain         *Stream // next one in the same slot of the table
	before, after *Stream // neighbours in the queue
	id            uint32
	state         state
	sendWindow    int32 // bytes we may send; negative after the peer took some back
	recvWindow    int32 // bytes the peer may send
	window        int32 // what recvWindow is filled up to
	held          int32 // bytes the owner was given and has not consumed
	owed          int32 // bytes consumed that the peer has not heard of
	moved         int32 // bytes consumed since the window grew
	length        int64 // what is missing of the content-length; valid if counted
	blocked       int64 // since when no byte could be sent; 0 when one could
}

// state is where a stream stands, one bit each.
type state uint16

const (
	open        state = 1 << iota // in the table of its connection
	peerEnded                     // END_STREAM was received
	weEnded                       // END_STREAM was sent
	headed                        // the final head was received
	headSent                      // the final head was sent
	noBody                        // the message we receive has no body, whatever it says
	counted                       // it said how long its body is
	tunnel                        // extended CONNECT: bytes of another protocol
	queued                        // waits in the connection's queue
	short                         // waits for its own window
	unprocessed                   // the peer did not look at it
)

// ID is the number of the stream.
func (s *Stream) ID() uint32 { return s.id }

// Conn is the connection of the stream.
func (s *Stream) Conn() *Conn { return s.conn }

// Ended reports whether the peer's direction is over.
func (s *Stream) Ended() bool { return s.state&peerEnded != 0 }

// Tunnel reports whether the stream is an extended CONNECT (RFC 8441): its head
// asks for an upgrade, its data are bytes of that protocol, and the answer 101
// becomes 200.
func (s *Stream) Tunnel() bool { return s.state&tunnel != 0 }

// Unprocessed reports, within Handler.Reset, that the backend has not looked at
// the request: it may be sent again whatever its method is (RFC 9113 section 8.7).
func (s *Stream) Unprocessed() bool { return s.state&unprocessed != 0 }

// Blocked is when the peer's windows last kept the stream from sending, as a
// time of the clock; 0 while it could send.
func (s *Stream) Blocked() int64 { return s.blocked }

// smallTable is how many slots a connection has by itself.
const smallTable = 8

// find gives the stream with that number, nil when it is not open.
func (c *Conn) find(id uint32) *Stream {
	for s := c.table[c.slot(id)]; s != nil; s = s.chain {
		if s.id == id {
			return s
		}
	}
	return nil
}

// slot spreads the numbers of one side, which are all odd or all even.
func (c *Conn) slot(id uint32) int { return int(id>>1) & (len(c.table) - 1) }

// add opens a stream.
func (c *Conn) add(id uint32) *Stream {
	if c.streams >= len(c.table) && len(c.table) == smallTable && c.sh.tableSize > smallTable {
		c.enlarge()
	}
	s := c.sh.stream()
	s.conn, s.id, s.state = c, id, open
	s.sendWindow = c.peerWindow
	s.recvWindow, s.window = int32(c.sh.limits.Window), int32(c.sh.limits.Window)
	slot := c.slot(id)
	s.chain = c.table[slot]
	c.table[slot] = s
	c.streams++
	return s
}

// enlarge moves the streams to a table for as many as there may be. It is given
// back when none is left.
func (c *Conn) enlarge() {
	c.table = c.sh.table()
	for i, s := range c.small {
		for s != nil {
			next, slot := s.chain, c.slot(s.id)
			s.chain = c.table[slot]
			c.table[slot] = s
			s = next
		}
		c.small[i] = nil
	}
}

// remove takes a stream out of the connection. What its owner has not consumed
// counts as consumed: nobody will any more.
func (c *Conn) remove(s *Stream) {
	if s.state&open == 0 {
		return
	}
	at := &c.table[c.slot(s.id)]
	for *at != s {
		at = &(*at).chain
	}
	*at = s.chain
	c.dequeue(s)
	s.state &^= open | short
	c.credit(s.held)
	c.streams--
	if c.streams == 0 && len(c.table) > smallTable {
		c.sh.putTable(c.table)
		c.table = c.small[:]
	}
	c.sh.put(s)
}

// done closes a stream both of whose directions ended.
func (c *Conn) done(s *Stream) {
	c.remember(s.id, false)
	c.remove(s)
	c.resets.give(earnComplete)
}

// remember keeps the number of a stream that closed, and whether it was us who
// reset it: frames that were on their way then are no error.
func (c *Conn) remember(id uint32, ours bool) {
	if ours {
		id |= 1 << 31
	}
	c.closed[c.closedAt%uint8(len(c.closed))] = id
	c.closedAt++
}

// peerEnded notes that the peer has ended a stream we let it finish: what comes after
// that is an error.
func (c *Conn) peerEnded(id uint32) {
	for i, v := range c.closed {
		if v&^(1<<31) == id {
			c.closed[i] = id
		}
	}
}

// recall reports whether a stream closed not long ago, and whether we reset it.
func (c *Conn) recall(id uint32) (known, ours bool) {
	for _, v := range c.closed {
		if v&^(1<<31) == id {
			return true, v>>31 != 0
		}
	}
	return false, false
}
