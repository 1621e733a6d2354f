package proxy

import (
	"bytes"

	"github.com/sluicelb/sluice/l7/http2"
)

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
