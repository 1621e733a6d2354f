package proxy

import (
	"bytes"
	"io"

	"github.com/sluicelb/sluice/core/list"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/http2"
)

// stream is what a client has that is one stream of a multiplex.
type stream struct {
	mux      *multiplex
	pipe     http2.Pipe
	links    list.Links[client] // among those of the multiplex
	deadline int64
	head     int  // bytes of the request's head
	at       int  // where it lies in the heads of the batch, while it waits there
	full     bool // there was no room
	leaving  bool // the exchange is over, what it sent has not left
	bare     bool // the request is a HEAD
	dirty    bool // body has news for sendBodies
	cut      bool // the response ended without being complete
	waits    bool // in the batch: nothing has been done for it yet
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
	*st = stream{mux: m, pipe: st.pipe, head: len(head)}
	st.pipe.H2, st.pipe.Ended = s, end
	st.bare = bytes.HasPrefix(head, []byte("HEAD "))
	m.heads += st.head
	*cl = client{conn: m.conn, w: w, port: m.port, farm: m.farm, stream: st, began: true}
	s.Owner = cl
	m.streams.PushBack(&st.links, cl)
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
	st.pipe.Chunked = w.req.Body() == http1.BodyChunked
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
	if cl.ex == nil && !st.waits || cl.ex != nil && cl.ex.deaf {
		s.Consumed(len(p)) // it was answered already
		p = nil
	}
	buffers := &m.w.loop.Buffers
	st.pipe.Bring(buffers, p)
	if end {
		st.pipe.EndReceived(buffers)
	}
	st.dirty, m.dirty = true, true
}

// Trailers implements http2.Handler.
func (m *multiplex) Trailers(s *http2.Stream, lines []byte) {
	m.moved = true
	cl := s.Owner.(*client)
	st := cl.stream
	st.pipe.BringTrailers(lines)
	st.pipe.EndReceived(&m.w.loop.Buffers)
	st.dirty, m.dirty = true, true
}

// readStream reads the request body as HTTP/1.1 has it.
func (cl *client) readStream(p []byte) (int, error) {
	pipe := &cl.stream.pipe
	if n := pipe.Read(&cl.w.loop.Buffers, p); n > 0 {
		return n, nil
	}
	if !pipe.Over() {
		return 0, loop.ErrDry
	}
	return 0, io.EOF
}
