package backend

import (
	"bytes"

	"github.com/sluicelb/sluice/l7/http2"
)

// Send implements Transport.
func (s *stream) Send(b []byte, done bool, trailer []byte) error {
	n := bytes.Index(b, []byte("\r\n\r\n")) + 4
	t := s.conn
	end := done && n == len(b) && len(trailer) == 0
	held := t.hold()
	defer t.letGo(held)
	if s.upgrade {
		if key, yes := http2.WebSocket(b[:n]); yes {
			s.openTunnel(b[:n], key)
			return nil
		}
	}
	if t.h2 != nil {
		s.pipe.H2 = t.h2.Open(s, b[:n], end)
	}
	if s.pipe.H2 == nil {
		s.err = errUnprocessed // it is full, or about to leave
		s.note().moved = true
		return nil
	}
	t.opened = s.pipe.H2.ID()
	if end {
		s.pipe.Sent = true
		return nil
	}
	return s.SendBody(b[n:], done, trailer)
}

// SendBody implements Transport; what finds no room is kept.
func (s *stream) SendBody(p []byte, done bool, trailer []byte) error {
	if s.pipe.H2 == nil {
		return errOver
	}
	held := s.conn.hold()
	defer s.conn.letGo(held)
	s.pipe.Send(s.buffers(), p, done, trailer)
	return nil
}

// Pending implements Transport.
func (s *stream) Pending() int {
	n, h2 := s.pipe.Waiting(), s.pipe.H2
	if n == 0 && h2 != nil && !s.pipe.Sent && h2.Room() == 0 {
		return 1
	}
	return n
}
