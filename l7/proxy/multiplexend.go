package proxy

import (
	"net/netip"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/refusal"
	"github.com/sluicelb/sluice/l7/http2"
	"github.com/sluicelb/sluice/l7/refused"
	"github.com/sluicelb/sluice/l7/table"
)

// Expired implements loop.Handler: time to look after the streams.
func (m *multiplex) Expired(c *loop.Conn) {
	now := m.w.loop.Now()
	m.busy = true
	for cl := m.streams.First(); cl != nil; {
		next := cl.stream.links.Next()
		if at := cl.stream.deadline; at != 0 && at <= now {
			cl.stream.deadline = 0
			cl.expired()
		}
		cl = next
	}
	m.h2.Tick()
	m.busy = false
	timeout := m.timeout()
	switch {
	case c.Pending() != 0:
		if m.stalled(now, 2*timeout) {
			m.late("answer not taken in time")
			m.close()
			return
		}
	case m.streams.Len() == 0 && now-m.idleAt >= timeout:
		if m.stuckAt != 0 {
			m.late("frame not complete in time")
		}
		m.farewell()
		return
	case m.stuckAt != 0 && now-m.stuckAt >= timeout:
		m.late("frame not complete in time")
		m.farewell()
		return
	}
	c.SetDeadline(now + streamTick)
	m.flush()
}

// stalled reports whether the client has taken nothing for so long.
func (m *multiplex) stalled(now, timeout int64) bool {
	if n := m.conn.Pending(); m.held != n {
		m.held, m.heldAt = n, now
		return false
	}
	return now-m.heldAt >= timeout
}

// late counts a client that kept us waiting.
func (m *multiplex) late(reason string) {
	m.w.shard.Farm(m.farm).Timeouts++
	m.note(refused.Timeout, reason)
}

// farewell ends the connection in order; streams there still are end with it.
func (m *multiplex) farewell() {
	m.h2.Finish()
	if m.flush() {
		m.linger()
	}
}

func (m *multiplex) timeout() int64 {
	if f := m.w.engine.farm(m.port); f != nil {
		return f.RequestTimeout
	}
	return int64(defaultGrace) / 2
}

// refused ends a connection that broke the rules; GOAWAY says which.
func (m *multiplex) refused() {
	m.tellRefused()
	if m.h2.Err().Code == http2.CodeEnhanceYourCalm {
		m.w.engine.penalties.charge(m.farm, m.conn.Peer().Addr(), m.w.clock())
	}
	if m.conn.Write(m.h2.Output()) != nil {
		m.close()
		return
	}
	m.h2.Written()
	m.linger()
}

// tellRefused counts what of the connection was refused before an exchange came
// of it: frames, malformed requests, floods.
func (m *multiplex) tellRefused() {
	m.w.learn(func(why *http2.Error) {
		switch {
		case why == http2.ErrHeadTooLong: // answered 431, and counted there
		case why.Code == http2.CodeEnhanceYourCalm || why.Code == http2.CodeRefusedStream:
			m.note(refused.Flood, why.Reason)
		default:
			m.w.shard.Farm(m.farm).BadRequests++
			m.note(refused.BadRequest, why.Reason)
		}
	})
}

// learn calls fn for each refusal of HTTP/2 since the last time.
func (w *worker) learn(fn func(*http2.Error)) {
	for i, why := range http2.Errors() {
		for n := w.shared.Count(why); w.refusedBefore[i] < n; w.refusedBefore[i]++ {
			fn(why)
		}
	}
}

// leave asks the client to open no more streams; those there are end first.
func (m *multiplex) leave() {
	m.h2.Shutdown()
	if m.streams.Len() == 0 {
		m.h2.Finish()
	}
	m.flush()
}

// settle brings the connection in line with a new table.
func (m *multiplex) settle(t *table.Table) {
	for cl := m.streams.First(); cl != nil; {
		next := cl.stream.links.Next()
		if cl.ex != nil && cl.ex.backend != nil && t.Cut(cl.ex.backend.ID) {
			cl.ex.abort()
		}
		cl = next
	}
	m.kept.Drop(t.Lost)
	if t.Farm(m.port) == nil {
		m.leave()
	}
}

// note leaves a line of what the connection, no stream of it, is refused for.
func (m *multiplex) note(class refusal.Class, reason string) {
	name := ""
	if f := m.w.engine.table.Load().Farms[m.farm]; f != nil {
		name = f.Name
	}
	m.w.shard.Refusals(m.farm)[class]++
	m.w.note(class, 0, name, reason, m.conn.Peer(), netip.AddrPort{})
}

// Failed implements loop.Handler: a panic in work for one of the streams. The
// connection is counted out before its exchanges end, because one of them may
// be what is broken; each is given up on its own.
func (m *multiplex) Failed(c *loop.Conn, _ error) {
	first := m.streams.First()
	for cl := first; cl != nil; cl = cl.stream.links.Next() {
		if s := cl.stream.pipe.H2; s != nil {
			s.Owner, cl.stream.pipe.H2 = nil, nil // its end is not news any more
		}
	}
	m.forget()
	for cl := first; cl != nil; {
		next := cl.stream.links.Next()
		giveUp(c, cl)
		cl = next
	}
}

// giveUp lets a client go and then its exchange; a panic costs nobody else.
func giveUp(c *loop.Conn, cl *client) {
	defer c.Contain()
	ex := cl.ex
	cl.release()
	if ex != nil {
		ex.end()
	}
}

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
	if m.place != nil {
		m.place.Leave()
	}
	s := m.w.shard.Farm(m.farm)
	s.Established--
	if !m.began {
		s.Pending--
	}
	m.h2.Close()
	m.batch.drop(&m.w.loop.Buffers)
	m.kept.Close()
}
