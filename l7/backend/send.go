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
		s.h2 = t.h2.Open(s, b[:n], end)
	}
	if s.h2 == nil {
		s.err = errUnprocessed // it is full, or about to leave
		s.note().moved = true
		return nil
	}
	t.opened = s.h2.ID()
	if end {
		s.sent = true
		return nil
	}
	return s.SendBody(b[n:], done, trailer)
}

// SendBody implements Transport; what finds no room is kept.
func (s *stream) SendBody(p []byte, done bool, trailer []byte) error {
	if s.h2 == nil {
		return errOver
	}
	held := s.conn.hold()
	defer s.conn.letGo(held)
	s.last = done
	s.tail = append(s.tail[:0], trailer...)
	if len(s.out) == 0 {
		p = p[s.h2.Data(p, done && len(trailer) == 0):]
		if len(p) == 0 {
			s.close()
			return nil
		}
	}
	s.out = append(s.conn.pool.loop.Buffers.Grow(s.out, len(p)), p...)
	return nil
}

// push sends what waits for room. It reports whether nothing is left.
func (s *stream) push() bool {
	if len(s.out) > 0 {
		n := s.h2.Data(s.out, s.last && len(s.tail) == 0)
		if n < len(s.out) {
			s.out = s.out[:copy(s.out, s.out[n:])]
			return false
		}
		s.conn.pool.loop.Buffers.Put(s.out)
		s.out = nil
		s.close()
	}
	return true
}

// close ends the request after all bytes of its body were sent.
func (s *stream) close() {
	if !s.last || s.sent {
		return
	}
	s.sent = true
	if len(s.tail) > 0 {
		s.h2.Trailers(s.tail)
	}
	if s.ended {
		s.h2 = nil
	}
}

// Pending implements Transport.
func (s *stream) Pending() int {
	if len(s.out) == 0 && s.h2 != nil && !s.sent && s.h2.Room() == 0 {
		return 1
	}
	return len(s.out)
}
