package client

import (
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/http2"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/table"
)

// Expired implements loop.Handler. It checks the deadlines of the streams.
func (c *h2Conn) Expired(conn *loop.Conn) {
	now := c.server.loop.Now()
	c.busy = true
	for s := c.streams.First(); s != nil; {
		next := s.links.Next()
		if at := s.deadline; at != 0 && at <= now {
			s.deadline = 0
			s.expired()
		}
		s = next
	}
	c.resetExhausted(now)
	if now >= c.tickAt {
		c.h2.Tick()
		c.tickAt = now + streamTick
	}
	c.busy = false
	timeout := c.timeout()
	switch {
	case conn.Pending() != 0:
		if c.stalled(now, 2*timeout) {
			c.late("answer not taken in time")
			c.close()
			return
		}
	case c.streams.Len() == 0 && now-c.idleAt >= timeout:
		if c.stuckAt != 0 {
			c.late("frame not complete in time")
		}
		c.farewell()
		return
	case c.stuckAt != 0 && now-c.stuckAt >= timeout:
		c.late("frame not complete in time")
		c.farewell()
		return
	}
	c.setNextDeadline()
	c.flush()
}

// resetExhausted resets uploads whose window is used up, once the client has had time to read the
// response.
func (c *h2Conn) resetExhausted(now int64) {
	switch {
	case c.resetAt == 0 || now < c.resetAt:
	case c.Conn.Pending() != 0:
		c.resetAt = now + resetDelay
	default:
		c.resetAt = 0
		c.h2.ResetExhausted()
	}
}

// setNextDeadline sets the time of the next Expired.
func (c *h2Conn) setNextDeadline() {
	at := c.tickAt
	if c.resetAt != 0 {
		at = min(at, c.resetAt)
	}
	c.Conn.SetDeadline(at)
}

// stalled reports whether the client read nothing for that time.
func (c *h2Conn) stalled(now, timeout int64) bool {
	if n := c.Conn.Pending(); c.held != n {
		c.held, c.heldAt = n, now
		return false
	}
	return now-c.heldAt >= timeout
}

// late counts a timeout of the client.
func (c *h2Conn) late(reason string) {
	c.Stats().Timeouts++
	c.Note(rejected.Timeout, 0, reason)
}

// farewell ends the connection in order, with its remaining streams.
func (c *h2Conn) farewell() {
	c.h2.Finish()
	if c.flush() {
		c.linger()
	}
}

// refused ends a connection after a protocol violation; GOAWAY has the code.
func (c *h2Conn) refused() {
	c.tellRefused()
	if c.h2.Err().Code == http2.CodeEnhanceYourCalm {
		c.server.penalties.charge(c.FarmID, c.Conn.Peer().Addr(), c.server.Clock())
	}
	if c.Conn.Write(c.h2.Output()) != nil {
		c.close()
		return
	}
	c.h2.Written()
	c.forget()
	c.Conn.LingerUnread(lingerTime)
}

// tellRefused counts refusals that did not become an exchange: frames, malformed requests,
// floods.
func (c *h2Conn) tellRefused() {
	c.server.learn(func(why *http2.Error) {
		switch {
		case why == http2.ErrHeadTooLong:
			rejected.Count(c.Stats(), rejected.HeadTooLong)
			c.Note(rejected.HeadTooLong, 0, why.Reason)
		case why.Code == http2.CodeEnhanceYourCalm || why.Code == http2.CodeRefusedStream:
			c.Note(rejected.Flood, 0, why.Reason)
		default:
			c.Stats().BadRequests++
			c.Note(rejected.BadRequest, 0, why.Reason)
		}
	})
}

// learn calls fn for each HTTP/2 refusal since the previous call.
func (s *Server) learn(fn func(*http2.Error)) {
	for i, why := range http2.Errors() {
		for n := s.shared.Count(why); s.refusedBefore[i] < n; s.refusedBefore[i]++ {
			fn(why)
		}
	}
}

func (c *h2Conn) exchanges(fn func(Exchange)) {
	for s := c.streams.First(); s != nil; {
		next := s.links.Next()
		if s.ex != nil {
			fn(s.ex)
		}
		s = next
	}
}

// reconcile implements conn. If the farm is gone, the client is asked to open no more
// streams, and the existing ones finish.
func (c *h2Conn) reconcile(t *table.Table) {
	c.kept.Drop(t.Lost)
	if t.On(c.port) != nil {
		return
	}
	c.h2.Shutdown()
	if c.streams.Len() == 0 {
		c.h2.Finish()
	}
	c.flush()
}

func (c *h2Conn) forceClose() { c.close() }

// Failed implements loop.Handler after a panic in work for a stream. The connection is
// counted out before its exchanges end, because one of them may be broken. Each is ended
// separately.
func (c *h2Conn) Failed(conn *loop.Conn, _ error) {
	first := c.streams.First()
	for s := first; s != nil; s = s.links.Next() {
		if of := s.pipe.H2; of != nil {
			of.Owner, s.pipe.H2 = nil, nil // its end needs no event any more
		}
	}
	c.forget()
	for s := first; s != nil; {
		next := s.links.Next()
		s.giveUp(conn)
		s = next
	}
}

// giveUp releases a stream and then its exchange. A panic affects no other stream.
func (s *stream) giveUp(conn *loop.Conn) {
	defer conn.Contain()
	ex := s.ex
	s.release()
	if ex != nil {
		ex.End()
	}
}

// close ends the connection at once.
func (c *h2Conn) close() {
	c.forget()
	c.Conn.Close()
}

// linger ends the connection once the client has read all output.
func (c *h2Conn) linger() {
	c.forget()
	c.Conn.LingerActive(lingerTime, lingerMost)
}

// forget releases the connection, ends its streams and updates the counters.
func (c *h2Conn) forget() {
	if c.over {
		return
	}
	c.over = true
	c.countOut()
	c.h2.Close()
	c.batch.drop(&c.server.loop.Buffers)
	c.kept.Close()
}
