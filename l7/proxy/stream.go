package proxy

import (
	"bytes"
	"io"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/http2"
)

// stream is what a client has that is one stream of a multiplex.
type stream struct {
	mux        *multiplex
	h2         *http2.Stream // nil once it is over
	next, prev *client
	body       []byte // of the request, not sent on yet; pooled
	trailers   []byte // of the request, lines
	out        []byte // of the response, waits for room; pooled
	tail       []byte // trailers of the response, wait for out
	deadline   int64
	head       int  // bytes of the request's head
	chunked    bool // the request body is sent on in chunks
	ended      bool // the whole request has come
	told       bool // its last chunk was sent on
	full       bool // there was no room
	last       bool // out, and tail, are the end of the response
	leaving    bool // the exchange is over, out is not
	sent       bool // the end of the response was sent
	bare       bool // the request is a HEAD
	dirty      bool // body has news for sendBodies
	cut        bool // the response ended without being complete
}

// Head implements http2.Handler: a request begins.
func (m *multiplex) Head(s *http2.Stream, head []byte, end bool) {
	w := m.w
	f := w.engine.farm(m.port)
	m.moved = true
	if f == nil || m.heads+len(head) > maxHeads {
		s.Reset(http2.CodeRefusedStream) // which tells the client that it may ask again, or elsewhere
		return
	}
	if !m.began {
		m.began = true
		w.shard.Farm(m.farm).Pending--
	}
	w.shard.Loop().HTTP2Streams++
	cl := w.clients.Get()
	st := w.streams.Get()
	*st = stream{mux: m, h2: s, ended: end, head: len(head), trailers: st.trailers[:0], tail: st.tail[:0]}
	st.bare = bytes.HasPrefix(head, []byte("HEAD "))
	m.heads += st.head
	*cl = client{conn: m.conn, w: w, port: m.port, farm: m.farm, stream: st, began: true}
	s.Owner = cl
	m.streams.add(cl)
	w.req.Reset()
	n, err := w.req.Parse(head)
	switch {
	case head == nil:
		err = http1.ErrHeadTooLong
	case err == nil && n != len(head):
		err = http1.ErrHeadTooLong // http2 hands over whole heads: it is beyond the bound of http1
	}
	if err != nil {
		cl.refuse(err)
		return
	}
	st.chunked = w.req.Body() == http1.BodyChunked
	cl.busy = true
	w.begin(cl, head, nil)
	if cl.stream != st {
		return // over
	}
	cl.busy = false
	if cl.ex == nil {
		cl.leave()
		return
	}
	cl.ex.pumpRequest() // nothing of a body has come yet: this sets its deadline
}

// Data implements http2.Handler: bytes of a request body.
func (m *multiplex) Data(s *http2.Stream, p []byte, end bool) {
	m.moved = true
	cl := s.Owner.(*client)
	st := cl.stream
	if end {
		st.endReceived()
	}
	if cl.ex == nil || cl.ex.deaf {
		s.Consumed(len(p)) // it was answered already
		return
	}
	if len(p) > 0 {
		st.body = append(m.w.loop.Buffers.Grow(st.body, len(p)), p...)
	}
	st.dirty, m.dirty = true, true
}

// Trailers implements http2.Handler.
func (m *multiplex) Trailers(s *http2.Stream, lines []byte) {
	m.moved = true
	cl := s.Owner.(*client)
	st := cl.stream
	st.endReceived()
	st.trailers = append(st.trailers[:0], lines...)
	st.dirty, m.dirty = true, true
}

// endReceived notes that the whole request has come. A stream is gone when both
// its directions ended.
func (st *stream) endReceived() {
	st.ended = true
	if st.sent {
		st.h2 = nil
	}
}

// endSent notes that the end of the response was sent.
func (st *stream) endSent() {
	st.sent = true
	if st.ended {
		st.h2 = nil
	}
}

// respond sends a head; end tells that nothing follows.
func (st *stream) respond(head []byte, end bool) {
	st.h2.Respond(head, end)
	if end {
		st.endSent()
	}
}

// data sends bytes of the response and gives how many were taken.
func (st *stream) data(p []byte, end bool) int {
	n := st.h2.Data(p, end)
	if end && n == len(p) {
		st.endSent()
	}
	return n
}

// Reset implements http2.Handler: the client, or its connection, is gone.
func (m *multiplex) Reset(s *http2.Stream, _ http2.Code, _ *http2.Error) {
	cl, ok := s.Owner.(*client)
	if !ok {
		return // given up already
	}
	cl.stream.h2 = nil
	if cl.ex != nil {
		cl.ex.clientGone()
		return
	}
	cl.release()
}

// Writable implements http2.Handler.
func (m *multiplex) Writable(s *http2.Stream) {
	cl := s.Owner.(*client)
	if !cl.push() {
		return
	}
	cl.held, cl.stream.full = 0, false
	if cl.ex != nil {
		cl.ex.clientDrained()
	}
}

// push sends what waits for room. It reports whether nothing is left of it and
// the client is still there.
func (cl *client) push() bool {
	st := cl.stream
	if len(st.out) > 0 {
		n := st.data(st.out, st.last && len(st.tail) == 0)
		if n < len(st.out) {
			st.out = st.out[:copy(st.out, st.out[n:])]
			return false
		}
		cl.w.loop.Buffers.Put(st.out)
		st.out = nil
	}
	if st.leaving {
		cl.leave()
		return false
	}
	return true
}

// writeStream sends p, bytes of a response body, or keeps what finds no room.
// last ends the response.
func (cl *client) writeStream(p []byte, last bool) {
	st := cl.stream
	st.last = st.last || last
	if st.h2 == nil {
		return
	}
	if len(st.out) == 0 {
		n := st.data(p, last)
		if n == len(p) {
			return
		}
		p = p[n:]
	}
	st.out = append(cl.w.loop.Buffers.Grow(st.out, len(p)), p...)
}

// beginStream sends the head of a response and what has come of its body.
func (cl *client) beginStream(head, part []byte, done bool, trailer []byte) {
	end := done && len(part) == 0 && len(trailer) == 0
	cl.stream.last = end
	cl.stream.respond(head, end)
	if !end {
		cl.endStream(part, done, trailer)
	}
}

// endStream sends bytes of a response body; when they are done the trailer is
// kept for leave.
func (cl *client) endStream(p []byte, done bool, trailer []byte) {
	if len(p) > 0 {
		cl.writeStream(p, done && len(trailer) == 0)
	}
	cl.stream.tail = append(cl.stream.tail, trailer...)
}

// expired handles the deadline of a stream.
func (cl *client) expired() {
	switch {
	case cl.ex != nil:
		cl.ex.clientExpired()
	case cl.stream.leaving && cl.stalled(cl.requestTimeout()):
		cl.stats().Timeouts++
		cl.note(timeout, 0, "answer not taken in time")
		cl.reset(http2.CodeCancel)
	}
}

// answerStream sends a whole answer, head and body in one piece.
func (cl *client) answerStream(b []byte) {
	st := cl.stream
	n := bytes.Index(b, []byte("\r\n\r\n")) + 4
	end := n == len(b) || st.bare // a head that is refused is answered as if it were no HEAD
	st.last = true
	st.respond(b[:n], end)
	if !end {
		cl.writeStream(b[n:], true)
	}
}

// readStream reads the request body as HTTP/1.1 has it.
func (cl *client) readStream(p []byte) (int, error) {
	st := cl.stream
	switch {
	case len(st.body) > 0:
		const frame = 32 // around a chunk
		part := st.body[:min(len(st.body), len(p)-frame)]
		var n int
		if st.chunked {
			n = len(http2.AppendChunk(p[:0], part))
		} else {
			n = copy(p, part)
		}
		st.body = st.body[:copy(st.body, st.body[len(part):])]
		if st.h2 != nil {
			st.h2.Consumed(len(part))
		}
		return n, nil
	case !st.ended:
		return 0, loop.ErrDry
	case st.chunked && !st.told:
		st.told = true
		return len(http2.AppendLastChunk(p[:0], st.trailers)), nil
	}
	return 0, io.EOF
}

// leave ends the stream after a complete answer; what finds no room yet leaves
// first.
func (cl *client) leave() {
	st := cl.stream
	if st.cut {
		cl.reset(http2.CodeCancel)
		return
	}
	if len(st.out) > 0 {
		st.leaving, st.last = true, true
		cl.await(cl.requestTimeout())
		return
	}
	if st.h2 != nil && !st.sent {
		if len(st.tail) > 0 {
			st.h2.Trailers(st.tail)
			st.endSent()
		} else {
			st.data(nil, true)
		}
	}
	if st.h2 != nil {
		st.h2.Reset(http2.CodeNo) // nobody reads the rest of the request
	}
	cl.release()
}

// reset ends the stream before its answer is complete.
func (cl *client) reset(code http2.Code) {
	if s := cl.stream.h2; s != nil {
		s.Reset(code)
	}
	cl.release()
}

// keepLines is the largest array for trailers a stream keeps while it rests.
const keepLines = 1 << 10

// release gives the client of a stream back.
func (cl *client) release() {
	st, w := cl.stream, cl.w
	m := st.mux
	m.streams.remove(cl)
	m.heads -= st.head
	if m.streams.count == 0 {
		m.idleAt = w.loop.Now()
	}
	cl.yield()
	buffers := &w.loop.Buffers
	for _, b := range [...]*[]byte{&st.body, &st.out} {
		if *b != nil {
			buffers.Put(*b)
			*b = nil
		}
	}
	for _, b := range [...]*[]byte{&st.trailers, &st.tail} {
		if cap(*b) > keepLines {
			*b = nil
		}
	}
	st.mux, st.h2, st.next, st.prev = nil, nil, nil, nil
	*cl = client{w: w, farm: cl.farm}
	w.streams.Put(st)
	w.clients.Put(cl)
}
