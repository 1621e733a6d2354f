package loop

import (
	"io"
	"net"
	"syscall"
	"time"
)

// wire is the net.Conn that crypto/tls uses below a secure connection. It transports
// ciphertext and belongs to the loop.
//
// Write always succeeds: bytes collect in Loop.sealed and leave after the call into
// crypto/tls. Read on a dry socket parks the coroutine during a handshake, because
// crypto/tls treats handshake errors as final. Afterwards it returns a temporary error,
// for which crypto/tls keeps the state of a partial record.
type wire secured

// passing is the temporary error of a dry socket.
type passing struct{}

func (passing) Error() string   { return "no more ciphertext now" }
func (passing) Timeout() bool   { return true }
func (passing) Temporary() bool { return true }

var errPassing net.Error = passing{}

// recvMost is the size of the lent buffer and bounds one recv of ciphertext: four full
// records.
const recvMost = 64 << 10

// recvLeast is the minimum size of a recv: room for one full record. It bounds the
// ciphertext left behind by a reader with a small buffer.
const recvLeast = 17 << 10

// Read is used mainly by handshakes. Afterwards the loop places whole records into the
// buffer of crypto/tls.
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

// recv reads ciphertext from the socket. Apart from io.EOF and the socket's error it
// returns errPassing if no bytes are available.
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

// Close is unused: the loop closes connections.
func (w *wire) Close() error { return nil }

func (w *wire) LocalAddr() net.Addr  { return net.TCPAddrFromAddrPort(w.conn.Local()) }
func (w *wire) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(w.conn.Peer()) }

// Deadlines are handled by the loop.
func (w *wire) SetDeadline(time.Time) error      { return nil }
func (w *wire) SetReadDeadline(time.Time) error  { return nil }
func (w *wire) SetWriteDeadline(time.Time) error { return nil }

var _ interface {
	net.Conn
	io.ReadWriter
} = (*wire)(nil)
