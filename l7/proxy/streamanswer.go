package proxy

import (
	"bytes"

	"github.com/sluicelb/sluice/l7/http2"
)

// respond sends a head; end tells that nothing follows.
func (st *stream) respond(head []byte, end bool) {
	if st.pipe.H2 == nil {
		return
	}
	st.pipe.H2.Respond(head, end)
	if end {
		st.pipe.EndSent()
	}
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
	if !cl.stream.pipe.Push(&cl.w.loop.Buffers) {
		return false
	}
	if cl.stream.leaving {
		cl.leave()
		return false
	}
	return true
}

// beginStream sends the head of a response and what has come of its body.
func (cl *client) beginStream(head, part []byte, done bool, trailer []byte) {
	end := done && len(part) == 0 && len(trailer) == 0
	cl.stream.respond(head, end)
	if !end {
		cl.writeStream(part, done, trailer)
	}
}

// writeStream sends bytes of a response body, or keeps what finds no room. done
// says that they are the last, but for the trailer.
func (cl *client) writeStream(p []byte, done bool, trailer []byte) {
	cl.stream.pipe.Send(&cl.w.loop.Buffers, p, done, trailer)
}

// answerStream sends a whole answer, head and body in one piece.
func (cl *client) answerStream(b []byte) {
	st := cl.stream
	n := bytes.Index(b, []byte("\r\n\r\n")) + 4
	end := n == len(b) || st.bare // a head that is refused is answered as if it were no HEAD
	st.respond(b[:n], end)
	if !end {
		cl.writeStream(b[n:], true, nil)
	}
}
