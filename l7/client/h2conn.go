package client

import (
	"io"

	"github.com/sluicelb/sluice/core/list"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/http2"
)

// h2Conn is a client's HTTP/2 connection. Its streams are separate clients for the rest of
// the program. Their output leaves in one write per loop turn.
type h2Conn struct {
	Peer
	h2      *http2.Conn
	streams list.List[stream]
	heads   int   // bytes of its streams' request heads
	held    int   // pending bytes at the last check
	heldAt  int64 // time of that check
	idleAt  int64 // time since which there is no stream
	stuckAt int64 // time since which a frame or header block is incomplete; 0 without one
	tickAt  int64 // time of the next tick of http2.Conn
	resetAt int64 // time to reset uploads whose window is used up; 0: there are none
	over    bool  // already counted out
	busy    bool  // in an event; writes at its end
	moved   bool  // receive made progress
	dirty   bool  // streams have body bytes to forward
	batch   batch
}

const (
	// readsPerTurn bounds the reads of one connection per loop turn.
	readsPerTurn = 4
	// framesRead is the size of a read of an HTTP/2 connection.
	framesRead = 64 << 10
	// streamTick is the interval of deadline checks for streams.
	streamTick = second
	// resetDelay replaces it while a client may wait for the reset of a request.
	resetDelay = second / 10
	// writesPerTurn bounds the writes of one connection per loop turn.
	writesPerTurn = 8
	// maxWaiting is the amount of unwritten output from which no more requests are read.
	// Flow control bounds data far below it, but excludes response heads.
	maxWaiting = 192 << 10
	// maxHeads bounds the request heads of one connection, which are kept while backend
	// connections are opened.
	maxHeads = 1 << 20
	// streamRead is the size of the first read of a response, before Room is called. Streams
	// store bytes without room, and there may be many streams.
	streamRead = 16 << 10
)

// newH2Conn takes over the connection of an HTTP/2 client.
func newH2Conn(p Peer) *h2Conn {
	s := p.server
	c := &h2Conn{Peer: p, idleAt: s.loop.Now(), tickAt: s.loop.Now() + streamTick}
	c.Peer.h2, c.protocol = c, speaksHTTP2
	c.h2 = http2.NewServer(s.http2(), c)
	s.shard.Loop().HTTP2Connections++
	return c
}

// From implements conn.
func (c *h2Conn) From() *Peer { return &c.Peer }

// Readable implements loop.Handler: bytes arrived, or the connection has its turn to write.
func (c *h2Conn) Readable(conn *loop.Conn) {
	c.batch.begun = 0
	frames := c.h2.Frames()
reading:
	for range readsPerTurn {
		if len(c.h2.Output()) >= maxWaiting && (!c.flush() || len(c.h2.Output()) >= maxWaiting) {
			if conn.Broken() {
				c.close()
			}
			return // Drained continues here
		}
		n, err := conn.Read(c.server.frames)
		switch {
		case err == loop.ErrDry:
			c.goOn()
			c.flush()
			return
		case err == io.EOF:
			if c.flush() {
				c.linger() // the responses so far still arrive
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

// receive processes input. It reports whether the connection continues.
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

// sendBodies forwards the received body bytes, all of a stream at once, regardless of the
// number of frames.
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

// flush writes the output of the streams. It reports whether the connection is still open.
func (c *h2Conn) flush() bool {
	if c.h2.Exhausted() {
		c.resetAt = c.server.loop.Now() + resetDelay
		c.setNextDeadline()
	}
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
		c.Readable(conn) // it may have stopped because of the pending output
	}
}

// Outgoing implements http2.Handler.
func (c *h2Conn) Outgoing() {
	if !c.busy && !c.over {
		c.server.loop.Again(c.Conn)
	}
}

// uncork writes at once if no other stream has output in this turn, which saves a turn.
// Otherwise all output is written together.
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

// GoingAway implements http2.Handler. The client opens no more streams.
func (c *h2Conn) GoingAway(http2.Code) {}

// Connected implements loop.Handler. The connection is established already.
func (c *h2Conn) Connected(*loop.Conn, error) {}
