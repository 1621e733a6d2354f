package proxy

import (
	"io"

	"github.com/sluicelb/sluice/core/list"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/http2"
	"github.com/sluicelb/sluice/l7/state"
)

// multiplex is one client connection that speaks HTTP/2. Its streams are
// clients of their own to everybody else; what they answer leaves together, in
// one write per turn of the loop.
type multiplex struct {
	conn    *loop.Conn
	w       *worker
	port    *port
	place   *state.Places
	h2      *http2.Conn
	streams list.List[client]
	farm    uint32     // whose Established counts the connection
	heads   int        // bytes of the request heads of its streams
	held    int        // bytes that had not left at the last look
	heldAt  int64      // when that was
	idleAt  int64      // since when there has been no stream
	stuckAt int64      // since when a frame or a header block has not been complete; 0 when all are
	began   bool       // a stream was opened
	shown   []byte     // see client.certificate
	kept    *dial.Kept // connections to backends that its streams leave to each other; nil for none
	busy    bool       // at work, and writes at its end
	moved   bool       // receive brought something
	dirty   bool       // streams have bytes of request bodies to send on
	batch   batch
}

const (
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
)

// multiplexed makes the client's connection one of HTTP/2, perhaps after a while.
// b is what was read of it.
func (cl *client) multiplexed(b []byte) {
	if !cl.delayed(b) {
		cl.multiplex(b)
	}
}

func (cl *client) multiplex(b []byte) {
	w, c := cl.w, cl.conn
	m := &multiplex{conn: c, w: w, port: cl.port, farm: cl.farm, place: cl.place, idleAt: w.loop.Now()}
	m.h2 = http2.NewServer(w.http2(), m)
	w.shard.Loop().HTTP2Connections++
	n := copy(w.frames, b) // what it is a view of is about to be used
	cl.keep(nil)
	*cl = client{w: w, farm: cl.farm}
	w.clients.Put(cl)
	c.SetHandler(m)
	c.SetDeadline(w.loop.Now() + streamTick)
	if n > 0 && !m.receive(w.frames[:n]) {
		return
	}
	m.Readable(c)
}

// Readable implements loop.Handler: bytes of the client, or its turn to write.
func (m *multiplex) Readable(c *loop.Conn) {
	m.batch.begun = 0
	frames := m.h2.Frames()
reading:
	for range readsPerTurn {
		if len(m.h2.Output()) >= maxWaiting && (!m.flush() || len(m.h2.Output()) >= maxWaiting) {
			if c.Broken() {
				m.close()
			}
			return // Drained comes back here
		}
		n, err := c.Read(m.w.frames)
		switch {
		case err == loop.ErrDry:
			m.goOn()
			m.flush()
			return
		case err == io.EOF:
			if m.flush() {
				m.linger() // what was answered still arrives
			}
			return
		case err != nil:
			m.close()
			return
		case !m.receive(m.w.frames[:n]):
			return
		case m.batch.count > 0 || m.h2.Frames()-frames > framesPerTurn:
			break reading
		}
	}
	if m.flush() {
		m.w.loop.Again(c)
	}
}

// receive handles bytes of the client. It reports whether the connection goes on.
func (m *multiplex) receive(b []byte) bool {
	m.busy, m.moved = true, false
	before := len(m.h2.Output())
	err := m.h2.Receive(b)
	if err == nil {
		m.beginBatch()
	}
	if m.dirty {
		m.sendBodies()
	}
	m.busy = false
	if err != nil {
		m.refused()
		return false
	}
	if len(m.h2.Output()) != before {
		m.tellRefused()
	}
	switch {
	case m.moved || !m.h2.Unfinished():
		m.stuckAt = 0
	case m.stuckAt == 0:
		m.stuckAt = m.w.loop.Now()
	}
	return true
}

// sendBodies sends on what has come of request bodies, all of a stream at once
// however many frames it came in.
func (m *multiplex) sendBodies() {
	m.dirty = false
	for cl := m.streams.First(); cl != nil; {
		next := cl.stream.links.Next()
		if cl.stream.dirty {
			cl.stream.dirty = false
			if cl.ex != nil {
				cl.ex.pumpRequest()
			}
		}
		cl = next
	}
}

// flush writes what the streams have to say. It reports whether the connection
// is still there.
func (m *multiplex) flush() bool {
	for range writesPerTurn {
		out := m.h2.Output()
		if m.conn.Pending() != 0 || len(out) == 0 {
			break
		}
		m.busy = true
		err := m.conn.Write(out)
		m.h2.Written()
		if err == nil && m.conn.Pending() == 0 {
			m.h2.Resume()
		}
		m.busy = false
		if err != nil {
			m.close()
			return false
		}
	}
	if m.conn.Pending() == 0 && (len(m.h2.Output()) > 0 || m.batch.count > 0) {
		m.w.loop.Again(m.conn)
	}
	if m.h2.Finished() && m.conn.Pending() == 0 && len(m.h2.Output()) == 0 {
		m.linger()
		return false
	}
	return true
}

// Drained implements loop.Handler.
func (m *multiplex) Drained(c *loop.Conn) {
	m.held, m.idleAt = 0, m.w.loop.Now()
	m.busy = true
	m.h2.Resume()
	m.busy = false
	if m.flush() && c.Readable() {
		m.Readable(c) // which may have stopped because so much was waiting
	}
}

// Outgoing implements http2.Handler.
func (m *multiplex) Outgoing() {
	if !m.busy && m.conn != nil {
		m.w.loop.Again(m.conn)
	}
}

// hold begins work for a stream in an event of its backend: what it has to say
// is written by letGo.
func (cl *client) hold() *multiplex {
	if cl.stream == nil || cl.stream.mux.busy {
		return nil
	}
	m := cl.stream.mux
	m.busy = true
	return m
}

// letGo writes at once when nobody else has anything to say in this turn, which
// saves one; otherwise all write together.
func (m *multiplex) letGo() {
	if m == nil || m.conn == nil {
		return
	}
	m.busy = false
	switch {
	case len(m.h2.Output()) == 0 && !m.h2.Finished():
	case m.streams.Len() <= 1:
		m.flush()
	default:
		m.w.loop.Again(m.conn)
	}
}

// GoingAway implements http2.Handler: the client opens no more streams.
func (m *multiplex) GoingAway(http2.Code) {}

// Connected implements loop.Handler; the connection stands already.
func (m *multiplex) Connected(*loop.Conn, error) {}
