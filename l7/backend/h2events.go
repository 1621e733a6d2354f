package backend

import "github.com/sluicelb/sluice/l7/http2"

// Events of an HTTP/2 connection. The protocol machine only records them here; dispatch
// delivers them to the exchanges.

// chunkedEnd is the end of a head from package http2 if the body has no length.
const chunkedEnd = "\r\ntransfer-encoding: chunked\r\n\r\n"

// Head implements http2.Handler for response heads, including 1xx.
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

// Data implements http2.Handler.
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
		s.err = errUnprocessed // the connection ended before the stream was sent
	case c.err != nil:
		s.err = c.err
	case h.Unprocessed():
		s.err = errUnprocessed
		c.refused(code)
	case why != nil && !c.h2.HasSettings():
		s.err = errForeign
	case c.h2.Err() != nil: // another stream may be at fault
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

// resetReasons holds the texts for the codes of RST_STREAM.
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

// GoingAway implements http2.Handler. No more streams are opened; streams that the backend
// processes continue.
func (c *h2Conn) GoingAway(http2.Code) {}

// Outgoing implements http2.Handler.
func (c *h2Conn) Outgoing() {
	if !c.busy {
		c.again()
	}
}

// dispatch delivers the recorded events to the exchanges.
func (c *h2Conn) dispatch() {
	for i := 0; i < len(c.ready); i++ {
		s := c.ready[i]
		c.ready[i] = nil
		if s.conn == c && s.queued { // else it was released meanwhile
			s.queued = false
			c.deliver(s)
		}
	}
	c.ready = c.ready[:0]
}

// deliver delivers the events of a stream to its exchange. Each event may end the stream.
func (c *h2Conn) deliver(s *stream) {
	owner := s.owner
	outcome, expired, drained, readable := s.outcome, s.expired, s.drained, s.readable
	s.outcome, s.expired, s.drained, s.readable = false, false, false, false
	if owner == nil { // the stream has ended, or nobody waits for the event
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

// deliverExpired notifies an exchange that its deadline passed. If the backend is at fault,
// the connection may be dead.
func (c *h2Conn) deliverExpired(s *stream, owner Owner) {
	if s.awaitsSettings {
		s.fail(owner, false, errForeign) // the backend has not even sent SETTINGS
	} else {
		owner.BackendExpired()
	}
	if s.owner != owner {
		c.probe()
	}
}

// deliverOutcome notifies an exchange of the outcome of the connect.
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

// fail reports err to the owner and discards the stream.
func (s *stream) fail(owner Owner, own bool, err error) {
	began := max(s.conn.began, s.began)
	s.Discard()
	owner.BackendConnected(began, own, err)
}
