package backend

import "github.com/sluicelb/sluice/l7/http2"

// What a backend says on a connection of HTTP/2. It is only noted here, within the
// protocol machine; the exchanges hear of it from dispatch.

// chunkedEnd is how http2 ends a head whose body has no length.
const chunkedEnd = "\r\ntransfer-encoding: chunked\r\n\r\n"

// Head implements http2.Handler: a head of an answer, 1xx ones included.
func (c *h2Conn) Head(h *http2.Stream, head []byte, end bool) {
	s := h.Owner.(*stream)
	n := len(head) - len(chunkedEnd)
	s.pipe.Chunked = n > 0 && string(head[n:]) == chunkedEnd
	if s.tunnel && head[len("HTTP/1.1 ")] == '2' {
		head = s.switched(head)
	}
	s.pipe.BringHead(s.buffers(), head)
	s.notify().readable = true
	if end {
		s.pipe.EndReceived(s.buffers())
	}
}

// Data implements http2.Handler: bytes of the body.
func (c *h2Conn) Data(h *http2.Stream, p []byte, end bool) {
	s := h.Owner.(*stream)
	s.pipe.Bring(s.buffers(), p)
	s.notify().readable = true
	if end {
		s.pipe.EndReceived(s.buffers())
	}
}

// Trailers implements http2.Handler.
func (c *h2Conn) Trailers(h *http2.Stream, lines []byte) {
	s := h.Owner.(*stream)
	s.pipe.BringTrailers(lines)
	s.notify().readable = true
	s.pipe.EndReceived(s.buffers())
}

// Reset implements http2.Handler.
func (c *h2Conn) Reset(h *http2.Stream, code http2.Code, why *http2.Error) {
	s := h.Owner.(*stream)
	s.pipe.H2 = nil
	switch {
	case c.err != nil && h.ID() > c.lastWritten:
		s.err = errUnprocessed // the connection ended before it was sent
	case c.err != nil:
		s.err = c.err
	case h.Unprocessed():
		s.err = errUnprocessed
		c.refused(code)
	case why != nil && !c.h2.HasSettings():
		s.err = errForeign
	case c.h2.Err() != nil: // it was another stream perhaps
		s.err = &Error{Reason: why.Reason, Lost: true, Broke: true}
	case why != nil:
		s.err = &Error{Reason: why.Reason, Broke: true}
	case int(code) < len(resetReasons):
		s.err = resetReasons[code]
	default:
		s.err = resetReasons[http2.CodeInternal]
	}
	s.notify().readable = true
}

// resetReasons are the texts for the codes of RST_STREAM.
var resetReasons = func() (t [14]*Error) {
	for code := range t {
		t[code] = &Error{Reason: "backend reset the stream: " + http2.Code(code).String()}
	}
	return t
}()

// Writable implements http2.Handler.
func (c *h2Conn) Writable(h *http2.Stream) {
	s := h.Owner.(*stream)
	if s.pipe.Push(s.buffers()) {
		s.notify().drained = true
	}
}

// GoingAway implements http2.Handler: no stream is opened any more, those that
// the backend looks at go on.
func (c *h2Conn) GoingAway(http2.Code) {}

// Outgoing implements http2.Handler.
func (c *h2Conn) Outgoing() {
	if !c.busy {
		c.again()
	}
}

// dispatch tells the exchanges what has happened to their streams.
func (c *h2Conn) dispatch() {
	for i := 0; i < len(c.ready); i++ {
		s := c.ready[i]
		c.ready[i] = nil
		if s.conn == c && s.queued { // else it was given back meanwhile
			s.queued = false
			c.deliver(s)
		}
	}
	c.ready = c.ready[:0]
}

// deliver tells the exchange of a stream what has happened to it. What was told
// first may have ended it.
func (c *h2Conn) deliver(s *stream) {
	owner := s.owner
	outcome, expired, drained, readable := s.outcome, s.expired, s.drained, s.readable
	s.outcome, s.expired, s.drained, s.readable = false, false, false, false
	if owner == nil { // its end, or nothing anybody waits for
		s.Discard()
		return
	}
	if outcome {
		c.deliverOutcome(s, owner)
		return
	}
	if expired {
		c.deliverExpired(s, owner)
	}
	if drained && s.owner == owner {
		owner.BackendDrained()
	}
	if readable && s.owner == owner {
		owner.BackendReadable()
	}
}

// deliverExpired tells an exchange that its deadline passed. If the backend is to
// blame its connection may be dead.
func (c *h2Conn) deliverExpired(s *stream, owner Owner) {
	if s.awaitsSettings {
		s.fail(owner, false, errForeign) // it has not even greeted
	} else {
		owner.BackendExpired()
	}
	if s.owner != owner {
		c.probe()
	}
}

// deliverOutcome tells an exchange that has waited for the connection what became
// of it.
func (c *h2Conn) deliverOutcome(s *stream, owner Owner) {
	switch {
	case c.connectErr != nil:
		s.fail(owner, true, c.connectErr)
	case c.err != nil:
		s.fail(owner, true, c.err)
	case s.upgrade && !c.h2.HasSettings():
		s.awaitSettings()
	default:
		first := !c.reported
		c.reported = true
		owner.BackendConnected(max(c.began, s.began), first, nil)
	}
}

// fail tells an exchange that its stream cannot be had, and gives that back.
func (s *stream) fail(owner Owner, own bool, err error) {
	began := max(s.conn.began, s.began)
	s.Discard()
	owner.BackendConnected(began, own, err)
}
