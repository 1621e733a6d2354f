package loop

import (
	"io"
	"syscall"
)

// Read reads what the socket holds into p, at least one byte. The error is
// ErrDry when there is nothing now, io.EOF when the peer ended its direction,
// or what broke the connection. A read shorter than p drains the socket, so
// the next event is waited for without another call, unless an end or urgent bytes
// came, at which a read stops.
func (c *Conn) Read(p []byte) (int, error) {
	if c.secure != nil {
		return c.secure.unseal(p)
	}
	if c.flags&flagReadable == 0 {
		return 0, c.dry()
	}
	for {
		n, errno := sysRecv(int(c.fd), p)
		switch {
		case errno == 0 && n > 0:
			if n < len(p) && c.flags&(flagEnding|flagUrgent) == 0 {
				c.flags &^= flagReadable
			}
			return n, nil
		case errno == 0:
			return 0, c.end()
		case errno == syscall.EAGAIN:
			c.flags &^= flagReadable
			return 0, c.dry()
		case errno == syscall.EINTR:
		default:
			return 0, errno
		}
	}
}

// end is what Read reports when nothing more comes.
func (c *Conn) end() error {
	if c.err != 0 {
		return c.err
	}
	return io.EOF
}
