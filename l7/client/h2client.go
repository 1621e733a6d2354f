package client

import (
	"bytes"
	"io"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/http2"
)

// From implements Client.
func (s *stream) From() *Peer { return &s.conn.Peer }

// Serve implements Client.
func (s *stream) Serve(ex Exchange) { s.ex = ex }

// ReadBody implements Client.
func (s *stream) ReadBody(p []byte) (int, error) {
	if n := s.pipe.Read(s.buffers(), p); n > 0 {
		return n, nil
	}
	if !s.pipe.Over() {
		return 0, loop.ErrDry
	}
	return 0, io.EOF
}

func (s *stream) buffers() *loop.BufferPool { return &s.conn.server.loop.Buffers }

// Unread implements Client. Nothing follows the body of a stream.
func (s *stream) Unread([]byte) {}

// Again implements Client. The rest is bounded by the window.
func (s *stream) Again() { s.ex.ClientReadable() }

// respond sends a head; end means that nothing follows.
func (s *stream) respond(head []byte, end bool) {
	if s.pipe.H2 == nil {
		return
	}
	s.pipe.H2.Respond(head, end)
	if end {
		s.pipe.EndSent()
	}
}

// write sends bytes of the response body and keeps those without room.
func (s *stream) write(p []byte, done bool, trailer []byte) {
	s.pipe.Send(s.buffers(), p, done, trailer)
}

// Interim implements Client.
func (s *stream) Interim(head []byte) error {
	s.respond(head, false)
	return nil
}

// Respond implements Client.
func (s *stream) Respond(head, part []byte, done, _ bool, trailer []byte) error {
	end := done && len(part) == 0 && len(trailer) == 0
	s.respond(head, end)
	if !end {
		s.write(part, done, trailer)
	}
	return nil
}

// WriteBody implements Client.
func (s *stream) WriteBody(p []byte, done bool, trailer []byte) error {
	s.write(p, done, trailer)
	return nil
}

// EndTunnel implements Client.
func (s *stream) EndTunnel(reset bool) {
	if reset {
		s.cut = true
		return
	}
	s.write(nil, true, nil)
}

// WantsTunnel implements Client.
func (s *stream) WantsTunnel() bool { return s.pipe.H2 != nil && s.pipe.H2.Tunnel() }

// Room implements Client.
func (s *stream) Room(most int) int {
	if s.pipe.H2 == nil || s.pipe.Waiting() > 0 {
		return 0
	}
	n := s.pipe.H2.Room()
	s.full = n == 0
	return min(n, most)
}

// Pending implements Client. A full window counts as one byte.
func (s *stream) Pending() int {
	if s.full {
		return s.pipe.Waiting() + 1
	}
	return s.pipe.Waiting()
}

// SetDeadline implements Client.
func (s *stream) SetDeadline(t int64) { s.deadline = t }

// Await implements Client.
func (s *stream) Await(timeout int64) { s.await(s, timeout) }

// Stalled implements Client.
func (s *stream) Stalled(timeout int64) bool { return s.stalled(s, timeout) }

// Listen implements Client. Streams report their end themselves.
func (s *stream) Listen(bool) {}

// Hear implements Client, see Listen.
func (s *stream) Hear() {}

// Answer implements Client. The connection continues, regardless of last.
func (s *stream) Answer(b []byte, _ bool) {
	n := bytes.Index(b, []byte("\r\n\r\n")) + 4
	end := n == len(b) || s.bare // the response to a refused head always has a body
	s.respond(b[:n], end)
	if !end {
		s.write(b[n:], true, nil)
	}
	if !s.busy {
		s.leave()
	}
}

// Finish implements Client.
func (s *stream) Finish(_, _ bool) { s.leave() }

// Abort implements Client.
func (s *stream) Abort(bool) { s.reset(http2.CodeInternal) }

// RequireHTTP1 implements Client.
func (s *stream) RequireHTTP1() { s.reset(http2.CodeHTTP11Required) }

// Close implements Client.
func (s *stream) Close(bool) { s.reset(http2.CodeCancel) }
