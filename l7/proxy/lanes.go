package proxy

import "github.com/sluicelb/sluice/l7/http2"

// What a backend says on a trunk. It is only noted here, within the protocol
// machine; the exchanges hear of it from dispatch. So a mistake in one of them
// cannot leave the machine in the middle of something.

// chunkedEnd is how http2 ends a head whose body has no length.
const chunkedEnd = "\r\ntransfer-encoding: chunked\r\n\r\n"

// Head implements http2.Handler: a head of an answer, 1xx ones included.
func (t *trunk) Head(s *http2.Stream, head []byte, end bool) {
	ln := s.Owner.(*lane)
	if ln.ex == nil {
		return // cannot be: a lane that awaits its end has had its head
	}
	n := len(head) - len(chunkedEnd)
	ln.chunked = n > 0 && string(head[n:]) == chunkedEnd
	ln.bare = ln.ex.unframed()
	if ln.tunnel && head[len("HTTP/1.1 ")] == '2' {
		head = ln.switched(head)
	}
	ln.bring(head)
	ln.lines = len(ln.in)
	ln.note().moved = true
	if end {
		ln.endReceived()
	}
}

// Data implements http2.Handler: bytes of the body.
func (t *trunk) Data(s *http2.Stream, p []byte, end bool) {
	ln := s.Owner.(*lane)
	if len(p) > 0 {
		ln.bring(p)
	}
	ln.note().moved = true
	if end {
		ln.endReceived()
	}
}

// Trailers implements http2.Handler.
func (t *trunk) Trailers(s *http2.Stream, lines []byte) {
	ln := s.Owner.(*lane)
	ln.trailers = append(ln.trailers[:0], lines...)
	ln.note().moved = true
	ln.endReceived()
}

// endReceived notes that the whole answer has come. A stream is gone when both
// its directions ended.
func (ln *lane) endReceived() {
	ln.ended = true
	if ln.sent {
		ln.h2 = nil
	}
	ln.finishChunks()
}

// Reset implements http2.Handler.
func (t *trunk) Reset(s *http2.Stream, code http2.Code, why *http2.Error) {
	ln := s.Owner.(*lane)
	ln.h2 = nil
	switch {
	case t.why != nil && s.ID() > t.written:
		ln.err = errUnprocessed // the connection ended before it was sent
	case t.why != nil:
		ln.err = t.why
	case s.Unprocessed():
		ln.err = errUnprocessed
		t.refused(code)
	case why != nil && !t.h2.Settled():
		ln.err = errForeign
	case t.h2.Err() != nil: // it was another stream perhaps
		ln.err = &laneError{reason: why.Reason, lost: true, broke: true}
	case why != nil:
		ln.err = &laneError{reason: why.Reason, broke: true}
	case int(code) < len(resetReasons):
		ln.err = resetReasons[code]
	default:
		ln.err = resetReasons[http2.CodeInternal]
	}
	ln.note().moved = true
}

// Writable implements http2.Handler.
func (t *trunk) Writable(s *http2.Stream) {
	ln := s.Owner.(*lane)
	if ln.push() {
		ln.note().drained = true
	}
}

// GoingAway implements http2.Handler: no stream is opened any more, those that
// the backend looks at go on.
func (t *trunk) GoingAway(http2.Code) {}

// Outgoing implements http2.Handler.
func (t *trunk) Outgoing() {
	if !t.busy {
		t.again()
	}
}

// dispatch tells the exchanges what has happened to their lanes.
func (t *trunk) dispatch() {
	for i := 0; i < len(t.news); i++ {
		ln := t.news[i]
		t.news[i] = nil
		if ln.trunk == t && ln.news { // else it was given back meanwhile
			ln.news = false
			t.tell(ln)
		}
	}
	t.news = t.news[:0]
}

// tell tells the exchange of a lane what has happened to it. What was told
// first may have ended it.
func (t *trunk) tell(ln *lane) {
	ex := ln.ex
	stands, expired, drained, moved := ln.stands, ln.expired, ln.drained, ln.moved
	ln.stands, ln.expired, ln.drained, ln.moved = false, false, false, false
	if ex == nil {
		if ln.ended || ln.err != nil || expired || ln.at < len(ln.in) {
			ln.Discard()
		}
		return
	}
	if stands {
		t.tellOutcome(ln, ex)
		return
	}
	if expired {
		t.tellExpired(ln, ex)
	}
	if drained && ln.ex == ex {
		ex.BackendDrained(nil)
	}
	if moved && ln.ex == ex {
		ex.BackendReadable(nil)
	}
}

// tellExpired tells an exchange that its deadline passed. If the backend is to
// blame its connection may be dead.
func (t *trunk) tellExpired(ln *lane, ex *exchange) {
	if ex.phase == phaseConnect {
		ex.foreign(errForeign) // it has not even greeted
	} else {
		ex.BackendExpired(nil)
	}
	if ln.ex != ex {
		t.doubt()
	}
}

// tellOutcome tells an exchange that has waited for the connection what became
// of it.
func (t *trunk) tellOutcome(ln *lane, ex *exchange) {
	switch {
	case t.failed != nil:
		ln.release()
		ex.connected(max(t.began, ex.began), true, t.failed)
	case t.why != nil:
		ex.foreign(t.why)
	case ex.upgrade && !t.h2.Settled():
		ln.await()
	default:
		first := !t.used
		t.used = true
		ex.connected(max(t.began, ex.began), first, nil)
	}
}

// foreign answers for a backend that does not speak HTTP/2.
func (ex *exchange) foreign(why *laneError) {
	defer ex.client.conn.Contain()
	ex.badResponse(why.reason)
}
