package loop

import (
	"io"
	"net"
	"syscall"
	"time"
)

// wire is the side of a secure connection that crypto/tls sees: a net.Conn
// that carries ciphertext. It belongs to the loop like everything else.
//
// Writing always succeeds: the bytes gather in Loop.sealed and leave when the
// call into crypto/tls is over. Reading a dry socket parks a handshake, whose
// errors are final, and is a passing error afterwards: crypto/tls keeps the
// state of a half-read record when an error says that it is temporary.
type wire secured

// passing is the error of a dry socket, made for crypto/tls.
type passing struct{}

func (passing) Error() string   { return "no more ciphertext now" }
func (passing) Timeout() bool   { return true }
func (passing) Temporary() bool { return true }

var errPassing net.Error = passing{}

// recvMost bounds one recv of ciphertext, and is the size of the lent buffer:
// four full records.
const recvMost = 64 << 10

// recvLeast is the room for one full record: what a reader with a small
// buffer leaves is at most that.
const recvLeast = 17 << 10

// Read is what a handshake reads with; afterwards the loop puts whole records
// where crypto/tls finds them, and Read has little to do.
func (w *wire) Read(p []byte) (int, error) {
	s := (*secured)(w)
	if s.shake == nil {
		return s.recv(p[:min(len(p), max(s.want, recvLeast))])
	}
	for {
		n, err := s.recv(p)
		if err != errPassing {
			return n, err
		}
		if !s.shake.park() {
			return 0, ErrClosed
		}
	}
}

// recv reads ciphertext; it is Conn.Read for those who look below.
func (s *secured) recv(p []byte) (int, error) {
	c := s.conn
	for c.flags&flagWet != 0 {
		n, errno := sysRecv(int(c.fd), p)
		switch {
		case errno == 0 && n > 0:
			if n < len(p) && c.flags&(flagEnding|flagUrgent) == 0 {
				c.flags &^= flagWet
			}
			return n, nil
		case errno == 0:
			s.finished = true
			return 0, c.end()
		case errno == syscall.EAGAIN:
			c.flags &^= flagWet
		case errno == syscall.EINTR:
		default:
			return 0, errno
		}
	}
	if c.watch() != nil {
		return 0, c.err
	}
	return 0, errPassing
}

func (w *wire) Write(p []byte) (int, error) {
	l := w.conn.loop
	l.sealed = append(l.sealed, p...)
	return len(p), nil
}

// Close is not called: the loop closes connections.
func (w *wire) Close() error { return nil }

func (w *wire) LocalAddr() net.Addr  { return net.TCPAddrFromAddrPort(w.conn.Local()) }
func (w *wire) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(w.conn.Peer()) }

// The loop has deadlines of its own.
func (w *wire) SetDeadline(time.Time) error      { return nil }
func (w *wire) SetReadDeadline(time.Time) error  { return nil }
func (w *wire) SetWriteDeadline(time.Time) error { return nil }

var _ interface {
	net.Conn
	io.ReadWriter
} = (*wire)(nil)
