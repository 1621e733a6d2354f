package http2

import "github.com/sluicelb/sluice/core/list"

// Stream carries one exchange. It belongs to its owner from Handler.Head or Conn.Open until
// one of these events, after which it must not be used:
//
//   - both directions ended, by the peer's last event and the owner's last Respond, Data or
//     Trailers;
//   - Handler.Reset returned;
//   - the owner called Reset.
//
// Calls on a stream within the event that ended it have no effect.
type Stream struct {
	// Owner is for the caller's use.
	Owner any

	conn       *Conn
	chain      *Stream            // next stream in the same table slot
	queued     list.Links[Stream] // in the queue of the connection
	id         uint32
	state      state
	sendWindow int32 // bytes we may send; negative after the peer reduced its window
	recvWindow int32 // bytes the peer may send
	window     int32 // target of recvWindow
	held       int32 // bytes delivered but not consumed
	owed       int32 // bytes consumed but not yet credited to the peer
	moved      int32 // bytes consumed since the window last grew
	length     int64 // missing bytes of Content-Length; valid if counted
	blocked    int64 // time since which no byte could be sent; 0 if one could
}

// state is a set of flags.
type state uint16

const (
	open        state = 1 << iota // in the connection's table
	peerEnded                     // END_STREAM was received
	weEnded                       // END_STREAM was sent
	headed                        // the final head was received
	headSent                      // the final head was sent
	noBody                        // the received message has no body, whatever its fields say
	counted                       // it has a Content-Length
	tunnel                        // extended CONNECT: bytes of another protocol
	short                         // waits for its own window
	unprocessed                   // the peer did not process it
)

// ID returns the stream number.
func (s *Stream) ID() uint32 { return s.id }

// Conn returns the connection of the stream.
func (s *Stream) Conn() *Conn { return s.conn }

// Ended reports whether the peer's direction has ended.
func (s *Stream) Ended() bool { return s.state&peerEnded != 0 }

// Tunnel reports whether the stream is an extended CONNECT (RFC 8441). Its head requests an
// upgrade, its data belongs to that protocol, and a 101 response becomes 200.
func (s *Stream) Tunnel() bool { return s.state&tunnel != 0 }

// Unprocessed reports, within Handler.Reset, that the backend did not process the request.
// It may be repeated regardless of its method (RFC 9113 section 8.7).
func (s *Stream) Unprocessed() bool { return s.state&unprocessed != 0 }

// Blocked returns the time since which the peer's windows have blocked the stream; 0 if it
// can send.
func (s *Stream) Blocked() int64 { return s.blocked }

// smallTable is the number of slots in a connection's own table.
const smallTable = 8

// find returns the open stream with that number, or nil.
func (c *Conn) find(id uint32) *Stream {
	for s := c.table[c.slot(id)]; s != nil; s = s.chain {
		if s.id == id {
			return s
		}
	}
	return nil
}

// slot spreads stream numbers, which are all odd or all even on one side.
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

// enlarge moves the streams to a table for the maximum number. It is returned when no stream
// is left.
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

// remove removes a stream from the connection. Bytes that its owner has not consumed are
// credited.
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

// done closes a stream whose directions have both ended.
func (c *Conn) done(s *Stream) {
	c.remember(s.id, false)
	c.remove(s)
	c.resets.give(earnComplete)
}

// remember stores the number of a closed stream and whether we reset it. Frames in flight at
// that time are not an error.
func (c *Conn) remember(id uint32, ours bool) {
	if ours {
		id |= 1 << 31
	}
	c.closed[c.closedAt%uint8(len(c.closed))] = id
	c.closedAt++
}

// peerEnded records that the peer ended a stream it was allowed to finish. Later frames are
// an error.
func (c *Conn) peerEnded(id uint32) {
	for i, v := range c.closed {
		if v&^(1<<31) == id {
			c.closed[i] = id
		}
	}
}

// recall reports whether a stream closed recently, and whether we reset it.
func (c *Conn) recall(id uint32) (known, ours bool) {
	for _, v := range c.closed {
		if v&^(1<<31) == id {
			return true, v>>31 != 0
		}
	}
	return false, false
}
