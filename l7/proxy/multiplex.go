package proxy

import (
	"errors"
	"io"
	"net/netip"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/http2"
)

// multiplex is one client connection that speaks HTTP/2. Its streams are
// clients of their own to everybody else; what they answer leaves together, in
// one write per turn of the loop.
type multiplex struct {
	conn    *loop.Conn
	w       *worker
	port    *port
	h2      *http2.Conn
	streams streams
	farm    uint32 // whose Established counts the connection
	held    int    // bytes that had not left at the last look
	idleAt  int64  // since when there has been no stream
	began   bool   // a stream was opened
	busy    bool   // in receive, which writes at its end
}

const (
	// framesRead is how much is read at once from a client that speaks HTTP/2.
	framesRead = 64 << 10
	// streamTick is how often the deadlines of streams are looked at.
	streamTick = second
	// writesPerTurn bounds what one connection may write in a turn, in outputs.
	writesPerTurn = 8
)

// multiplexed makes the client's connection one of HTTP/2. b is what was read
// of it.
func (cl *client) multiplexed(b []byte) {
	w, c := cl.w, cl.conn
	m := &multiplex{conn: c, w: w, port: cl.port, farm: cl.farm, idleAt: w.loop.Now()}
	m.h2 = http2.NewServer(w.http2(), m)
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
	for range readsPerTurn {
		n, err := c.Read(m.w.frames)
		switch {
		case err == loop.ErrDry:
			m.flush()
			return
		case err != nil:
			if err == io.EOF && m.streams.count > 0 {
				m.flush()
			}
			m.close()
			return
		case !m.receive(m.w.frames[:n]):
			return
		}
	}
	if m.flush() {
		m.w.loop.Again(c)
	}
}

// receive handles bytes of the client. It reports whether the connection goes on.
func (m *multiplex) receive(b []byte) bool {
	m.busy = true
	err := m.h2.Receive(b)
	m.busy = false
	if m.conn == nil {
		return false
	}
	if err != nil {
		m.refused(err)
		return false
	}
	return true
}

// refused ends a connection that broke the rules; GOAWAY says which.
func (m *multiplex) refused(err error) {
	m.w.shard.Farm(m.farm).BadRequests++
	m.note(err)
	if m.conn.Pending() == 0 {
		_ = m.conn.Write(m.h2.Output())
		m.h2.Written()
	}
	m.linger()
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
	if m.conn.Pending() == 0 && len(m.h2.Output()) > 0 {
		m.w.loop.Again(m.conn)
	}
	if m.h2.Finished() && m.conn.Pending() == 0 && len(m.h2.Output()) == 0 {
		m.linger()
		return false
	}
	return true
}

// Drained implements loop.Handler.
func (m *multiplex) Drained(*loop.Conn) {
	m.held = 0
	m.h2.Resume()
	m.flush()
}

// Outgoing implements http2.Handler.
func (m *multiplex) Outgoing() {
	if !m.busy && m.conn != nil {
		m.w.loop.Again(m.conn)
	}
}

// GoingAway implements http2.Handler: the client opens no more streams.
func (m *multiplex) GoingAway(http2.Code) {}

// Expired implements loop.Handler: time to look after the streams.
func (m *multiplex) Expired(c *loop.Conn) {
	now := m.w.loop.Now()
	for cl := m.streams.first(); cl != nil; {
		next := m.streams.after(cl)
		if at := cl.stream.deadline; at != 0 && at <= now {
			cl.stream.deadline = 0
			cl.expired()
		}
		cl = next
		if m.conn == nil {
			return
		}
	}
	timeout := m.timeout()
	switch {
	case m.streams.count == 0 && m.idleAt != 0 && now-m.idleAt >= timeout:
		m.h2.Finish()
		if m.flush() {
			m.linger()
		}
		return
	case c.Pending() != 0 && m.stalled(now, timeout):
		m.close()
		return
	}
	c.SetDeadline(now + streamTick)
	m.flush()
}

// stalled reports whether the client has taken nothing for too long.
func (m *multiplex) stalled(now, timeout int64) bool {
	if m.held != m.conn.Pending() {
		m.held, m.idleAt = m.conn.Pending(), now
		return false
	}
	return now-m.idleAt >= 2*timeout
}

func (m *multiplex) timeout() int64 {
	if f := m.w.engine.farm(m.port); f != nil {
		return f.requestTimeout
	}
	return int64(defaultGrace) / 2
}

// leave asks the client to open no more streams; those there are end first.
func (m *multiplex) leave() {
	m.h2.Shutdown()
	if m.streams.count == 0 {
		m.h2.Finish()
	}
	m.flush()
}

// Connected implements loop.Handler; the connection stands already.
func (m *multiplex) Connected(*loop.Conn, error) {}

// settle brings the connection in line with a new table.
func (m *multiplex) settle(t *table) {
	for cl := m.streams.first(); cl != nil; {
		next := m.streams.after(cl)
		if cl.ex != nil && cl.ex.backend != nil && cut(t, cl.ex.backend.id) {
			cl.ex.abort()
		}
		cl = next
	}
	if t.farm(m.port) == nil {
		m.leave()
	}
}

// note logs why the connection was refused.
func (m *multiplex) note(err error) {
	reason := "broken frames"
	if why, ok := errors.AsType[*http2.Error](err); ok {
		reason = why.Reason
	}
	name := ""
	if f := m.w.engine.farm(m.port); f != nil {
		name = f.name
	}
	m.w.note(badRequest, 0, name, reason, m.conn.Peer(), netip.AddrPort{})
}

// Failed implements loop.Handler.
func (m *multiplex) Failed(*loop.Conn, error) { m.forget() }

// close ends the connection at once.
func (m *multiplex) close() {
	c := m.conn
	m.forget()
	c.Close()
}

// linger ends the connection once the client has read what was written.
func (m *multiplex) linger() {
	c := m.conn
	m.forget()
	c.Linger(lingerTime)
}

// forget lets go of the connection, ends its streams and counts it out.
func (m *multiplex) forget() {
	if m.conn == nil {
		return
	}
	m.conn = nil
	m.h2.Close()
	s := m.w.shard.Farm(m.farm)
	s.Established--
	if !m.began {
		s.Pending--
	}
}
