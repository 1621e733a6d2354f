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
	at         int  // where it lies in the heads of the batch, while it waits there
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
	waits      bool // in the batch: nothing has been done for it yet
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
	if head != nil && (m.batch.count > 0 || m.h2.More()) {
		m.postpone(cl, head)
		return
	}
	m.begin(cl, head)
}

// begin serves the request of a stream.
func (m *multiplex) begin(cl *client, head []byte) {
	w, st := m.w, cl.stream
	m.batch.begun++
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
	if cl.ex == nil && !st.waits || cl.ex != nil && cl.ex.deaf {
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
