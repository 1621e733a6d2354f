package loop

import (
	"context"
	"crypto/tls"
	"io"
	"syscall"
	"time"
)

// alertTime is how long (in nanoseconds) a connection lingers after a failed handshake,
// so that the peer can read the alert.
const alertTime = 1_000_000_000

// handshakeRecord is the first byte of a TLS connection: the type of the record with
// the ClientHello (RFC 8446, section 5.1).
const handshakeRecord = 0x16

// handshake is a handshake in progress, or one that has not started yet.
type handshake struct {
	s        *secured
	security Security
	client   bool // dialled
	flies    bool // is in Loop.shakes.flying
	waits    bool // is in Loop.shakes.waiting
	running  bool // the coroutine is executing
	dead     bool // aborted
	since    int64
	co       *coroutine // nil before launch
	job      *job       // current job of a worker
	err      error

	next, prev *handshake // in Loop.shakes
}

// run performs the handshake in the coroutine.
func (h *handshake) run() {
	defer func() {
		if r := recover(); r != nil {
			h.s.conn.loop.panicked(r) // here the stack still shows the cause
			h.err = ErrPanic
		}
	}()
	h.err = h.s.tls.HandshakeContext((*shakeContext)(h))
}

// shakeContext passes the handshake to the callbacks of a tls.Config.
type shakeContext handshake

type shakeKey struct{}

func (*shakeContext) Deadline() (time.Time, bool) { return time.Time{}, false }
func (*shakeContext) Done() <-chan struct{}       { return nil }
func (*shakeContext) Err() error                  { return nil }

func (s *shakeContext) Value(key any) any {
	if key == (shakeKey{}) {
		return (*handshake)(s)
	}
	return nil
}

// shakeOf returns the handshake that a callback serves, or nil if it is not a loop's.
func shakeOf(ctx context.Context) *handshake {
	h, _ := ctx.Value(shakeKey{}).(*handshake)
	return h
}

// shake continues the handshake after a readiness event.
func (c *Conn) shake() {
	switch h := c.secure.shake; {
	case h.job != nil: // a worker is busy
	case h.co != nil:
		c.resume()
	case h.client:
		c.launch()
	case h.waits:
		if c.Broken() {
			c.unshaken(io.ErrUnexpectedEOF, false)
		}
	default:
		c.firstByte()
	}
}

// firstByte peeks at the first byte of an accepted connection to detect TLS.
func (c *Conn) firstByte() {
	first := c.loop.In[:1]
	n, errno := sysPeek(int(c.fd), first)
	for errno == syscall.EINTR {
		n, errno = sysPeek(int(c.fd), first)
	}
	switch {
	case errno == syscall.EAGAIN:
		c.flags &^= flagReadable | flagWet
		_ = c.watch()
	case errno != 0:
		c.unshaken(errno, false)
	case n == 0:
		c.unshaken(io.EOF, false)
	case first[0] != handshakeRecord:
		c.plain()
	default:
		c.loop.shakes.enter(c)
	}
}

// plain reverts an accepted connection to a plain one.
func (c *Conn) plain() {
	*c.loop.count.PlainOnTLS++
	c.unsecure()
	c.handler.Connected(c, ErrPlain)
	if c.flags&(flagReadable|flagClosed) == flagReadable {
		c.readable()
	}
}

// launch starts the handshake.
func (c *Conn) launch() {
	s := c.secure
	h := s.shake
	if h.client {
		s.tls = tls.Client((*wire)(s), h.security.named())
	} else {
		s.tls = tls.Server((*wire)(s), h.security.Config)
	}
	h.co = c.loop.coroutine()
	h.co.shake = h
	c.resume()
}

// resume runs the handshake until it parks or ends, and sends its output.
func (c *Conn) resume() {
	h := c.secure.shake
	c.loop.sealed = c.loop.sealed[:0] // a panic may have left bytes
	parked := h.step()
	if h.dead {
		h.end()
		return
	}
	said := len(c.loop.sealed) != 0
	err := c.push(0)
	switch {
	case parked && err != nil:
		c.unshaken(err, false)
	case parked:
	case h.err != nil:
		c.unshaken(h.err, said && err == nil)
	default:
		c.shaken()
	}
}

// shaken hands the connection to its handler after a complete handshake.
func (c *Conn) shaken() {
	s, l := c.secure, c.loop
	h := s.shake
	l.shakes.leave(h)
	s.shake = nil
	s.agree()
	l.countShaken(h.client, s.agreed.Resumed)
	c.flags = c.flags&^(flagHandshake|flagReadable) | flagReadable&s.strip()
	if h.client {
		c.SetDeadline(0)
	}
	c.handler.Connected(c, nil)
	if c.secure != s {
		return // closed or lingering
	}
	s.catchUp()
	if c.flags&(flagReadable|flagClosed) == flagReadable {
		c.readable()
	}
}

// unshaken ends a connection whose handshake failed. If an alert was sent the
// connection lingers, because closing at once could destroy the alert.
func (c *Conn) unshaken(err error, alerted bool) {
	handler := c.handler
	switch h := c.secure.shake; {
	case h.client:
		err = &HandshakeError{err}
	case err != io.EOF:
		*c.loop.count.HandshakesFailed++
	}
	if alerted {
		c.unsecure()
		c.Linger(alertTime)
	} else {
		c.Close()
	}
	handler.Connected(c, err)
}
