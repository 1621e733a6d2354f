package client

import (
	"io"

	"github.com/sluicelb/sluice/core/list"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/http2"
)

// h2Conn is a client's connection of HTTP/2. Its streams are clients of their own
// to everybody else; what they answer leaves together, in one write per turn of the
// loop.
type h2Conn struct {
	Peer
	h2      *http2.Conn
	streams list.List[stream]
	heads   int   // bytes of the request heads of its streams
	held    int   // bytes that had not left at the last look
	heldAt  int64 // when that was
	idleAt  int64 // since when there has been no stream
	stuckAt int64 // since when a frame or a header block has not been complete; 0 when all are
	over    bool  // it was counted out
	busy    bool  // at work, and writes at its end
	moved   bool  // receive brought something
	dirty   bool  // streams have bytes of request bodies to send on
	batch   batch
}

const (
	// readsPerTurn bounds the reads of one connection in a turn.
	readsPerTurn = 4
	// framesRead is how much is read at once from a client that speaks HTTP/2.
	framesRead = 64 << 10
	// streamTick is how often the deadlines of streams are looked at.
	streamTick = second
	// writesPerTurn bounds what one connection may write in a turn, in outputs.
	writesPerTurn = 8
	// maxWaiting is how much may wait to be written before no more requests are
	// read: data never reach it, but heads of answers, which no window bounds, do.
	maxWaiting = 192 << 10
	// maxHeads bounds the heads of requests of one connection, which are kept
	// while connections to backends are made.
	maxHeads = 1 << 20
	// streamRead is how much of an answer is read before its stream was asked for
	// room. Streams keep what finds none, and there may be many of them.
	streamRead = 16 << 10
)

// newH2Conn takes over the connection of a client that speaks HTTP/2.
func newH2Conn(p Peer) *h2Conn {
	s := p.server
	c := &h2Conn{Peer: p, idleAt: s.loop.Now()}
	c.Peer.h2, c.protocol = c, speaksHTTP2
	c.h2 = http2.NewServer(s.http2(), c)
	s.shard.Loop().HTTP2Connections++
	return c
}

// From implements conn.
func (c *h2Conn) From() *Peer { return &c.Peer }

// Readable implements loop.Handler: bytes of the client, or its turn to write.
func (c *h2Conn) Readable(conn *loop.Conn) {
	c.batch.begun = 0
	frames := c.h2.Frames()
reading:
	for range readsPerTurn {
		if len(c.h2.Output()) >= maxWaiting && (!c.flush() || len(c.h2.Output()) >= maxWaiting) {
			if conn.Broken() {
				c.close()
			}
			return // Drained comes back here
		}
		n, err := conn.Read(c.server.frames)
		switch {
		case err == loop.ErrDry:
			c.goOn()
			c.flush()
			return
		case err == io.EOF:
			if c.flush() {
				c.linger() // what was answered still arrives
			}
			return
		case err != nil:
			c.close()
			return
		case !c.receive(c.server.frames[:n]):
			return
		case c.batch.count > 0 || c.h2.Frames()-frames > framesPerTurn:
			break reading
		}
	}
	if c.flush() {
		c.server.loop.Again(conn)
	}
}

// receive handles bytes of the client. It reports whether the connection goes on.
func (c *h2Conn) receive(b []byte) bool {
	c.busy, c.moved = true, false
	before := len(c.h2.Output())
	err := c.h2.Receive(b)
	if err == nil {
		c.beginBatch()
	}
	if c.dirty {
		c.sendBodies()
	}
	c.busy = false
	if err != nil {
		c.refused()
		return false
	}
	if len(c.h2.Output()) != before {
		c.tellRefused()
	}
	switch {
	case c.moved || !c.h2.Unfinished():
		c.stuckAt = 0
	case c.stuckAt == 0:
		c.stuckAt = c.server.loop.Now()
	}
	return true
}

// sendBodies sends on what has come of request bodies, all of a stream at once
// however many frames it came in.
func (c *h2Conn) sendBodies() {
	c.dirty = false
	for s := c.streams.First(); s != nil; {
		next := s.links.Next()
		if s.dirty {
			s.dirty = false
			if s.ex != nil {
				s.ex.ClientReadable()
			}
		}
		s = next
	}
}

// flush writes what the streams have to say. It reports whether the connection
// is still there.
func (c *h2Conn) flush() bool {
	for range writesPerTurn {
		out := c.h2.Output()
		if c.Conn.Pending() != 0 || len(out) == 0 {
			break
		}
		c.busy = true
		err := c.Conn.Write(out)
		c.h2.Written()
		if err == nil && c.Conn.Pending() == 0 {
			c.h2.Resume()
		}
		c.busy = false
		if err != nil {
			c.close()
			return false
		}
	}
	if c.Conn.Pending() == 0 && (len(c.h2.Output()) > 0 || c.batch.count > 0) {
		c.server.loop.Again(c.Conn)
	}
	if c.h2.Finished() && c.Conn.Pending() == 0 && len(c.h2.Output()) == 0 {
		c.linger()
		return false
	}
	return true
}

// Drained implements loop.Handler.
func (c *h2Conn) Drained(conn *loop.Conn) {
	c.held, c.idleAt = 0, c.server.loop.Now()
	c.busy = true
	c.h2.Resume()
	c.busy = false
	if c.flush() && conn.Readable() {
		c.Readable(conn) // which may have stopped because so much was waiting
	}
}

// Outgoing implements http2.Handler.
func (c *h2Conn) Outgoing() {
	if !c.busy && !c.over {
		c.server.loop.Again(c.Conn)
	}
}

// uncork writes at once when nobody else has anything to say in this turn, which
// saves one; otherwise all write together.
func (c *h2Conn) uncork() {
	if c.over {
		return
	}
	c.busy = false
	switch {
	case len(c.h2.Output()) == 0 && !c.h2.Finished():
	case c.streams.Len() <= 1:
		c.flush()
	default:
		c.server.loop.Again(c.Conn)
	}
}

// GoingAway implements http2.Handler: the client opens no more streams.
func (c *h2Conn) GoingAway(http2.Code) {}

// Connected implements loop.Handler; the connection is established already.
func (c *h2Conn) Connected(*loop.Conn, error) {}
