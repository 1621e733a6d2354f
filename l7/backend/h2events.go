package backend

import "github.com/sluicelb/sluice/l7/http2"

// What a backend says on a connection of HTTP/2. It is only noted here, within the
// protocol machine; the exchanges hear of it from dispatch.

// chunkedEnd is how http2 ends a head whose body has no length.
const chunkedEnd = "\r\ntransfer-encoding: chunked\r\n\r\n"

// Head implements http2.Handler: a head of an answer, 1xx ones included.
func (t *h2Conn) Head(h *http2.Stream, head []byte, end bool) {
	s := h.Owner.(*stream)
	if s.owner == nil {
		return // cannot be: a stream that awaits its end has had its head
	}
	n := len(head) - len(chunkedEnd)
	s.pipe.Chunked = n > 0 && string(head[n:]) == chunkedEnd
	if s.tunnel && head[len("HTTP/1.1 ")] == '2' {
		head = s.switched(head)
	}
	s.pipe.BringHead(s.buffers(), head)
	s.note().moved = true
	if end {
		s.pipe.EndReceived(s.buffers())
	}
}

// Data implements http2.Handler: bytes of the body.
func (t *h2Conn) Data(h *http2.Stream, p []byte, end bool) {
	s := h.Owner.(*stream)
	s.pipe.Bring(s.buffers(), p)
	s.note().moved = true
	if end {
		s.pipe.EndReceived(s.buffers())
	}
}

// Trailers implements http2.Handler.
func (t *h2Conn) Trailers(h *http2.Stream, lines []byte) {
	s := h.Owner.(*stream)
	s.pipe.BringTrailers(lines)
	s.note().moved = true
	s.pipe.EndReceived(s.buffers())
}

// Reset implements http2.Handler.
func (t *h2Conn) Reset(h *http2.Stream, code http2.Code, why *http2.Error) {
	s := h.Owner.(*stream)
	s.pipe.H2 = nil
	switch {
	case t.why != nil && h.ID() > t.written:
		s.err = errUnprocessed // the connection ended before it was sent
	case t.why != nil:
		s.err = t.why
	case h.Unprocessed():
		s.err = errUnprocessed
		t.refused(code)
	case why != nil && !t.h2.Settled():
		s.err = errForeign
	case t.h2.Err() != nil: // it was another stream perhaps
		s.err = &Error{Reason: why.Reason, Lost: true, Broke: true}
	case why != nil:
		s.err = &Error{Reason: why.Reason, Broke: true}
	case int(code) < len(resetReasons):
		s.err = resetReasons[code]
	default:
		s.err = resetReasons[http2.CodeInternal]
	}
	s.note().moved = true
}

// Writable implements http2.Handler.
func (t *h2Conn) Writable(h *http2.Stream) {
	s := h.Owner.(*stream)
	if s.pipe.Push(s.buffers()) {
		s.note().drained = true
	}
}

// GoingAway implements http2.Handler: no stream is opened any more, those that
// the backend looks at go on.
func (t *h2Conn) GoingAway(http2.Code) {}

// Outgoing implements http2.Handler.
func (t *h2Conn) Outgoing() {
	if !t.busy {
		t.again()
	}
}

// dispatch tells the exchanges what has happened to their streams.
func (t *h2Conn) dispatch() {
	for i := 0; i < len(t.news); i++ {
		s := t.news[i]
		t.news[i] = nil
		if s.conn == t && s.news { // else it was given back meanwhile
			s.news = false
			t.tell(s)
		}
	}
	t.news = t.news[:0]
}

// tell tells the exchange of a stream what has happened to it. What was told
// first may have ended it.
func (t *h2Conn) tell(s *stream) {
	owner := s.owner
	outcome, expired, drained, moved := s.outcome, s.expired, s.drained, s.moved
	s.outcome, s.expired, s.drained, s.moved = false, false, false, false
	if owner == nil {
		if s.pipe.Ended || s.err != nil || expired || s.pipe.Unread() > 0 {
			s.Discard()
		}
		return
	}
	if outcome {
		t.tellOutcome(s, owner)
		return
	}
	if expired {
		t.tellExpired(s, owner)
	}
	if drained && s.owner == owner {
		owner.BackendDrained()
	}
	if moved && s.owner == owner {
		owner.BackendReadable()
	}
}

// tellExpired tells an exchange that its deadline passed. If the backend is to
// blame its connection may be dead.
func (t *h2Conn) tellExpired(s *stream, owner Owner) {
	if s.waits {
		s.fail(owner, false, errForeign) // it has not even greeted
	} else {
		owner.BackendExpired()
	}
	if s.owner != owner {
		t.doubt()
	}
}

// tellOutcome tells an exchange that has waited for the connection what became
// of it.
func (t *h2Conn) tellOutcome(s *stream, owner Owner) {
	switch {
	case t.failed != nil:
		s.fail(owner, true, t.failed)
	case t.why != nil:
		s.fail(owner, true, t.why)
	case s.upgrade && !t.h2.Settled():
		s.await()
	default:
		first := !t.used
		t.used = true
		owner.BackendConnected(max(t.began, s.began), first, nil)
	}
}

// fail tells an exchange that its stream cannot be had, and gives that back.
func (s *stream) fail(owner Owner, own bool, err error) {
	began := max(s.conn.began, s.began)
	s.Discard()
	owner.BackendConnected(began, own, err)
}
