package loop

import (
	"io"

	"golang.org/x/sys/unix"
)

const (
	// holdMost is the maximum number of bytes held back for the next write: one record.
	holdMost = 16 << 10
	// sealMost is the maximum number of bytes encrypted before a send. Handlers write
	// no more than this at once, so a write reaches the kernel in one call.
	sealMost = 512 << 10
)

// write is Conn.Write for a secure connection. more announces that another write
// follows at once; a small p is then held back to share records with it.
func (s *secured) write(p []byte, more bool) error {
	c := s.conn
	if s.shake != nil || more && len(c.out) == 0 && len(s.held)+len(p) <= holdMost {
		s.held = append(c.loop.Buffers.Grow(s.held, len(p)), p...)
		return nil
	}
	flags := 0
	if more {
		flags = unix.MSG_MORE
	}
	for {
		part := p[:min(len(p), sealMost)]
		p = p[len(part):]
		if err := s.seal(part); err != nil {
			return err
		}
		if err := c.push(flags); err != nil || len(p) == 0 {
			return err
		}
	}
}

// seal encrypts the held bytes and p into Loop.sealed.
func (s *secured) seal(p []byte) error {
	l := s.conn.loop
	l.sealed = l.sealed[:0]
	if h := s.held; h != nil {
		n := max(0, min(len(p), holdMost-len(h)))
		h = append(l.Buffers.Grow(h, n), p[:n]...)
		p = p[n:]
		s.held = nil
		_, err := s.tls.Write(h)
		l.Buffers.Put(h)
		if err != nil {
			return err
		}
	}
	if len(p) == 0 {
		return nil
	}
	_, err := s.tls.Write(p)
	return err
}

// push sends the output of crypto/tls in Loop.sealed.
func (c *Conn) push(flags int) error {
	b := c.loop.sealed
	if len(b) == 0 {
		return nil
	}
	c.loop.sealed = b[:0]
	return c.send(b, flags)
}

// sealEnd encrypts the held bytes and close_notify, which marks this direction as
// complete (RFC 8446, section 6.1).
func (s *secured) sealEnd() {
	if s.notified {
		return
	}
	s.notified = true
	if s.seal(nil) == nil {
		_ = s.tls.CloseWrite()
	}
}

// bye tries once to send close_notify on a connection that is being closed, then
// releases s. It sends none if bytes are pending, because these are lost and the data
// would be incomplete.
func (s *secured) bye() {
	c := s.conn
	if s.shake == nil && !s.notified && len(c.out) == 0 && c.err == 0 && !c.Broken() && (s.fail == nil || s.fail == io.EOF) {
		s.sealEnd()
		_, _ = sysSend(int(c.fd), c.loop.sealed, 0)
		c.loop.sealed = c.loop.sealed[:0]
	}
	s.letGo()
}
