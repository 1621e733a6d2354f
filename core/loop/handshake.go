package loop

import (
	"context"
	"crypto/tls"
	"io"
	"syscall"
	"time"
)

// alertTime is how long the peer of a failed handshake may take to read why.
const alertTime = 1_000_000_000

// handshakeRecord is the first byte of whoever speaks TLS: the type of the
// record that carries a ClientHello (RFC 8446, section 5.1).
const handshakeRecord = 0x16

// handshake is a handshake under way, or one that is to come.
type handshake struct {
	s        *secured
	security Security
	client   bool // dialled
	flies    bool // is in Loop.shakes.flying
	waits    bool // is in Loop.shakes.waiting
	running  bool // the coroutine is what runs now
	dead     bool // given up
	since    int64
	co       *coroutine // nil before launch
	job      *job       // what a worker does for it
	err      error

	next, prev *handshake // in Loop.shakes
}

// run is what the coroutine does.
func (h *handshake) run() {
	defer func() {
		if r := recover(); r != nil {
			h.s.conn.loop.panicked(r) // here, where the stack shows what happened
			h.err = ErrPanic
		}
	}()
	h.err = h.s.tls.HandshakeContext((*shakeContext)(h))
}

// shakeContext tells the callbacks of a tls.Config which handshake they serve.
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

// shakeOf returns the handshake a callback serves, nil when it is not a loop's.
func shakeOf(ctx context.Context) *handshake {
	h, _ := ctx.Value(shakeKey{}).(*handshake)
	return h
}

// shake goes on with the handshake: there may be bytes.
func (c *Conn) shake() {
	switch h := c.secure.shake; {
	case h.job != nil: // a worker is at it
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

// firstByte looks what an accepted connection speaks, and leaves it unread.
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

// plain makes an accepted connection what it was before Secure.
func (c *Conn) plain() {
	*c.loop.count.PlainOnTLS++
	c.unsecure()
	c.handler.Connected(c, ErrPlain)
	if c.flags&(flagReadable|flagClosed) == flagReadable {
		c.readable()
	}
}

// launch begins the handshake.
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

// resume runs the handshake until it parks or is over, and sends what it said.
func (c *Conn) resume() {
	h := c.secure.shake
	c.loop.sealed = c.loop.sealed[:0] // a panic may have left something
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

// shaken opens the connection for its handler: the handshake is complete.
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
		return // closed, or left to linger
	}
	s.catchUp()
	if c.flags&(flagReadable|flagClosed) == flagReadable {
		c.readable()
	}
}

// unshaken ends a connection whose handshake failed. The peer gets the time to
// read the alert that was sent, if one was: closing at once could destroy it.
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
