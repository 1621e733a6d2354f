package proxy

import (
	"io"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/http1"
)

// maxInterim bounds the 1xx answers to one request.
const maxInterim = 16

// BackendReadable implements dial.Owner.
func (ex *exchange) BackendReadable(*dial.Conn) {
	switch ex.phase {
	case phaseHead:
		ex.readHead()
	case phaseBody:
		ex.pumpResponse()
	case phaseTunnel:
		ex.tunnelDown()
	}
}

// readHead takes bytes of the response head, and comes back if there are more.
func (ex *exchange) readHead() {
	up := ex.up
	ex.readHeadOnce()
	if ex.up == up && ex.phase == phaseHead {
		up.Wait()
	}
}

func (ex *exchange) readHeadOnce() {
	l := ex.w.loop
	if ex.ahead == nil {
		n, err := ex.up.Read(l.In)
		if err != nil {
			ex.headEnded(err)
			return
		}
		ex.respond(l.In[:n])
		return
	}
	ex.ahead = l.Buffers.Grow(ex.ahead, max(4096, len(ex.ahead)))
	n, err := ex.up.Read(ex.ahead[len(ex.ahead):cap(ex.ahead)])
	if err != nil {
		ex.headEnded(err)
		return
	}
	ex.ahead = ex.ahead[:len(ex.ahead)+n]
	ex.respond(ex.ahead)
}

// headEnded handles a backend connection that ended before an answer came. On
// a connection that was used before this is most likely the backend's
// keep-alive time-out, so a request that may be repeated is.
func (ex *exchange) headEnded(err error) {
	if err == loop.ErrDry {
		return
	}
	if ex.replayable && ex.ahead == nil && ex.interim == 0 {
		ex.again()
		return
	}
	ex.backendStats().Resets++
	ex.drop()
	ex.fail(502)
}

// BackendFailed implements dial.Owner.
func (ex *exchange) BackendFailed(_ *dial.Conn, err error) {
	up := ex.up
	ex.up = nil
	switch ex.phase {
	case phaseHead:
		ex.headEnded(err)
	case phaseConnect:
		ex.up = up
		ex.BackendConnected(up, err)
	default:
		ex.backendStats().Resets++
		ex.abort()
	}
}

// BackendExpired implements dial.Owner: the backend kept us waiting.
func (ex *exchange) BackendExpired(c *dial.Conn) {
	switch {
	case !ex.request.done() && !ex.deaf && ex.up.Pending() == 0:
		// It waits for the client, as we do: sendBody sets the deadline again.
	case ex.phase == phaseHead:
		s := ex.backendStats()
		s.Timeouts++
		ex.stats().Timeouts++
		ex.drop()
		ex.fail(504)
	case ex.phase == phaseBody && ex.client.conn.Pending() == 0:
		ex.backendStats().Timeouts++
		ex.abort()
	}
}

// respond handles b, the bytes of the answer so far: they are in the loop's
// read buffer or in ex.ahead.
func (ex *exchange) respond(b []byte) {
	w := ex.w
	r := &w.resp
	for {
		if ex.seen > 0 && http1.NeedMore(b, ex.seen) {
			ex.seen = len(b)
			ex.keepAhead(b)
			return
		}
		r.Reset()
		n, err := r.Parse(b)
		switch {
		case err != nil:
			ex.badResponse()
			return
		case n == 0:
			ex.seen = len(b)
			ex.keepAhead(b)
			return
		}
		ex.seen = 0
		switch {
		case r.Status == 101:
			ex.switchProtocol(b, n)
			return
		case r.Status >= 200:
			ex.answer(b, n)
			return
		}
		if !ex.passInterim() {
			return
		}
		if b = b[n:]; len(b) == 0 {
			ex.keepAhead(nil)
			return
		}
	}
}

// keepAhead keeps b, a tail of ex.ahead or of the read buffer, in ex.ahead.
func (ex *exchange) keepAhead(b []byte) {
	buffers := &ex.w.loop.Buffers
	switch {
	case len(b) == 0:
		if ex.ahead != nil {
			buffers.Put(ex.ahead)
			ex.ahead = nil
		}
	case ex.ahead != nil:
		ex.ahead = ex.ahead[:copy(ex.ahead[:cap(ex.ahead)], b)]
	default:
		ex.ahead = append(buffers.Get(len(b)), b...)
	}
}

// passInterim passes a 1xx answer on.
func (ex *exchange) passInterim() bool {
	if ex.interim++; ex.interim > maxInterim {
		ex.badResponse()
		return false
	}
	if ex.oldClient {
		return true // HTTP/1.0 knows none
	}
	w := ex.w
	ex.unsave()
	out := http1.AppendResponse(w.loop.Scratch[:0], &w.resp, &http1.ResponseOptions{})
	if ex.client.conn.Write(out) != nil {
		ex.clientGone()
		return false
	}
	return true
}

// badResponse answers for a backend whose answer breaks the rules. Nothing of
// it has been passed on.
func (ex *exchange) badResponse() {
	ex.backendStats().BadResponses++
	ex.drop()
	ex.fail(502)
}

// answer passes on the final response head, n bytes of b, with as much of the
// body as has come.
func (ex *exchange) answer(b []byte, n int) {
	r := &ex.w.resp
	kind, err := r.Body(ex.verb == http1.VerbHEAD)
	if err != nil {
		ex.badResponse()
		return
	}
	ex.response.start(kind, &r.Head, !ex.oldClient)
	unchunk := kind == http1.BodyChunked && ex.oldClient
	rest := b[n:]
	in, out, err := ex.response.take(rest, unchunk)
	if err != nil || in < len(rest) {
		ex.badResponse() // bad framing, or more than was announced
		return
	}
	ex.settleKeeping(kind, unchunk)
	ex.learn()
	head := ex.rewriteHead(unchunk)
	ex.countAnswer(len(head) + out)
	ex.phase = phaseBody
	if !ex.writeAnswer(head, b, n, out) {
		return
	}
	ex.unsave()
	ex.keepAhead(nil)
	ex.advance()
}

// settleKeeping decides which connections outlive the exchange.
func (ex *exchange) settleKeeping(kind http1.Body, unchunk bool) {
	untilClose := kind == http1.BodyUntilClose
	ex.keepBackend = ex.w.resp.KeepAlive && !untilClose
	if untilClose || unchunk || ex.w.engine.farm(ex.client.port) == nil ||
		(ex.response.done() && !ex.request.done()) {
		ex.keepClient = false
	}
}

// rewriteHead builds the head the client gets in the scratch buffer.
func (ex *exchange) rewriteHead(unchunk bool) []byte {
	w := ex.w
	o := http1.ResponseOptions{
		Close: !ex.keepClient, KeepAlive: ex.keepClient && ex.oldClient, Unchunk: unchunk,
	}
	if w.resp.LocationIndex >= 0 || w.resp.ContentLocationIndex >= 0 {
		ex.rewriteLocations(&o)
	}
	w.loop.Scratch = http1.AppendResponse(w.loop.Scratch[:0], &w.resp, &o)
	return w.loop.Scratch
}

func (ex *exchange) countAnswer(bytes int) {
	class := ex.w.resp.Status/100 - 1
	f, s := ex.stats(), ex.backendStats()
	f.Responses[class]++
	f.BytesOut += uint64(bytes)
	s.Responses[class]++
	s.BytesIn += uint64(bytes)
	ex.arrived()
	took := ex.w.loop.Now() - ex.sent
	s.ResponseNanos += uint64(took)
	if ex.service.tracked {
		ex.backend.load.Observe(took)
	}
}

// writeAnswer sends head and the first out bytes of the body b[n:]. The head
// is put right before the body where that is possible, so that one call sends
// both and only the head moves.
func (ex *exchange) writeAnswer(head, b []byte, n, out int) bool {
	conn := ex.client.conn
	write := (*loop.Conn).Write
	if ex.response.done() && !ex.keepClient {
		write = (*loop.Conn).WriteMore // the end of the connection follows, in the same packet
	}
	var err error
	switch front, ok := ex.front(b, n, len(head)); {
	case out == 0:
		err = write(conn, head)
	case ok:
		copy(front, head)
		err = write(conn, front[:len(head)+out])
	default:
		if err = conn.WriteMore(head); err == nil {
			err = write(conn, b[n:n+out])
		}
	}
	if t := ex.response.trailer(); err == nil && len(t) > 0 {
		err = conn.Write(t)
	}
	if err != nil {
		ex.clientGone()
		return false
	}
	return true
}

// front finds the space before a body that lies in the loop's read buffer.
func (ex *exchange) front(b []byte, n, length int) ([]byte, bool) {
	if ex.ahead != nil {
		return nil, false
	}
	l := ex.w.loop
	at := cap(l.In) - cap(b) + n // b is a slice of l.In
	front, ok := l.Front(at, length)
	if !ok {
		return nil, false
	}
	return front[:cap(front)], true
}

// advance goes on after some of the response was written.
func (ex *exchange) advance() {
	if ex.response.done() {
		ex.finish()
		return
	}
	ex.pumpResponse()
}

// pumpResponse moves the response body on, until it pauses or ends.
func (ex *exchange) pumpResponse() {
	l, conn := ex.w.loop, ex.client.conn
	for range readsPerTurn {
		if conn.Pending() != 0 {
			// clientDrained comes back here; until then the client, not the
			// backend, is on the clock.
			ex.client.await(ex.farm.requestTimeout)
			return
		}
		n, err := ex.up.Read(l.In)
		if err == loop.ErrDry {
			ex.up.SetDeadline(l.Now() + ex.backend.timeout)
			return
		}
		if err != nil {
			ex.bodyEnded(err)
			return
		}
		if !ex.passBody(l.In[:n]) {
			return
		}
	}
	l.Again(ex.up.Conn)
}

// passBody passes on the next bytes of the response body. It reports whether
// more are wanted.
func (ex *exchange) passBody(p []byte) bool {
	in, out, err := ex.response.take(p, ex.oldClient)
	if err != nil {
		ex.backendStats().BadResponses++
		ex.abort()
		return false
	}
	ex.stats().BytesOut += uint64(out)
	ex.backendStats().BytesIn += uint64(in)
	conn := ex.client.conn
	err = conn.Write(p[:out])
	if t := ex.response.trailer(); err == nil && len(t) > 0 {
		err = conn.Write(t)
	}
	switch {
	case err != nil:
		ex.clientGone()
		return false
	case in < len(p):
		ex.keepBackend = false // it sent more than it announced
	}
	if ex.response.done() {
		ex.finish()
		return false
	}
	return true
}

// bodyEnded handles the end of the backend's direction within the body.
func (ex *exchange) bodyEnded(err error) {
	if err == io.EOF && ex.response.kind == http1.BodyUntilClose {
		ex.response.kind = http1.BodyNone
		ex.finish()
		return
	}
	ex.backendStats().Resets++
	ex.abort()
}

// clientDrained goes on when the client has taken what was pending.
func (ex *exchange) clientDrained() {
	switch ex.phase {
	case phaseBody:
		ex.pumpResponse()
	case phaseTunnel:
		ex.tunnelDown()
	}
}
