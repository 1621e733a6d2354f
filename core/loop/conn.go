package loop

import (
	"io"
	"net/netip"
	"syscall"

	"github.com/panjf2000/gnet/v2/pkg/netpoll"
	"golang.org/x/sys/unix"
)

type flags uint16

const (
	flagReadable   flags = 1 << iota // the socket may hold bytes, an end or an error
	flagEnding                       // the peer ended a direction: a short read is not the last
	flagBroken                       // both directions ended, or an error waits
	flagConnecting                   // Dial is under way
	flagClosed
	flagShutdown // send FIN when drained
	flagLinger   // throw away what arrives, close at its end
	flagAgain    // waits in the loop's run queue
	flagHungUp   // FIN was sent
	flagWatched  // the poller reports it
)

// Conn is one TCP connection on a loop. See Handler for its events.
type Conn struct {
	loop    *Loop
	handler Handler
	out     []byte // what the kernel did not take, from out[sent:]
	sent    int
	peer    netip.AddrPort
	timer   Timer
	fd      int32
	flags   flags
	err     syscall.Errno // why writing failed
}

// open makes a connection of a descriptor; the poller does not know it yet.
func (l *Loop) open(fd int, peer netip.AddrPort, h Handler, fl flags) *Conn {
	c := l.values.Get()
	*c = Conn{loop: l, handler: h, peer: peer, fd: int32(fd), flags: fl}
	c.timer.target = c
	for fd >= len(l.conns) {
		l.conns = append(l.conns, make([]*Conn, max(64, len(l.conns)/2))...)
	}
	l.conns[fd] = c
	return c
}

// watch makes the poller report the connection, from what it is ready for now
// on. An accepted connection is watched from the first time it has to wait for
// its client: one that is served and closed at once never is, which saves a
// twentieth of such an exchange.
func (c *Conn) watch() error {
	if c.flags&flagWatched != 0 {
		return nil
	}
	pa := netpoll.PollAttachment{FD: int(c.fd)}
	if err := c.loop.poller.AddReadWrite(&pa, true); err != nil {
		c.err = syscall.ENOMEM
		c.flags |= flagBroken
		c.SetDeadline(c.loop.now)
		return err
	}
	c.flags = c.flags&^flagReadable | flagWatched
	return nil
}

// Wait says that the handler has read enough for now and wants Readable when
// there is more, at once if there is some already.
func (c *Conn) Wait() {
	switch {
	case c.flags&flagWatched == 0:
		_ = c.watch()
	case c.flags&flagReadable != 0:
		c.loop.Again(c)
	}
}

// Loop returns the loop the connection lives on.
func (c *Conn) Loop() *Loop { return c.loop }

// Peer is the other side's address.
func (c *Conn) Peer() netip.AddrPort { return c.peer }

// SetHandler gives the connection's events to h from now on.
func (c *Conn) SetHandler(h Handler) { c.handler = h }

// Handler returns who gets the connection's events, nil once it lingers.
func (c *Conn) Handler() Handler { return c.handler }

// Closed reports whether Close or Abort was called.
func (c *Conn) Closed() bool { return c.flags&flagClosed != 0 }

// Connecting reports whether Dial has no outcome yet.
func (c *Conn) Connecting() bool { return c.flags&flagConnecting != 0 }

// Readable reports whether Read is worth a try.
func (c *Conn) Readable() bool { return c.flags&flagReadable != 0 }

// Ending reports whether the peer has ended a direction or reset the
// connection; Read tells which once the bytes before it are read.
func (c *Conn) Ending() bool { return c.flags&flagEnding != 0 }

// Broken reports whether both directions ended or the connection was reset:
// nothing written to it arrives.
func (c *Conn) Broken() bool { return c.flags&flagBroken != 0 }

// hungUp asks the kernel whether the connection is broken: the event that said
// so may be about an earlier connection with the same descriptor.
func (c *Conn) hungUp() bool {
	p := c.loop.poll[:]
	p[0] = unix.PollFd{Fd: c.fd}
	n, err := unix.Poll(p, 0)
	return err == nil && n == 1 && p[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
}

// Local asks the kernel for this side's address.
func (c *Conn) Local() netip.AddrPort {
	sa := &c.loop.addr
	size := uint32(unix.SizeofSockaddrAny)
	if sysGetsockname(int(c.fd), sa, &size) != 0 {
		return netip.AddrPort{}
	}
	return decodeAddr(sa)
}

// Read reads what the socket holds into p, at least one byte. The error is
// ErrDry when there is nothing now, io.EOF when the peer ended its direction,
// or what broke the connection. A read shorter than p drains the socket, so
// the next event is waited for without another call.
func (c *Conn) Read(p []byte) (int, error) {
	if c.flags&flagReadable == 0 {
		return 0, c.dry()
	}
	for {
		n, errno := sysRecv(int(c.fd), p)
		switch {
		case errno == 0 && n > 0:
			if n < len(p) && c.flags&flagEnding == 0 {
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

// dry is what Read reports when there is nothing now; from then on the poller
// tells when there is.
func (c *Conn) dry() error {
	if c.watch() != nil {
		return c.err
	}
	return ErrDry
}

// Write sends p, keeping a copy of what the kernel does not take now; the
// caller may reuse p at once. It fails only when the connection is broken.
func (c *Conn) Write(p []byte) error { return c.write(p, 0) }

// WriteMore is Write for a part that is followed by another at once: the
// kernel may hold it back to fill a segment.
func (c *Conn) WriteMore(p []byte) error { return c.write(p, unix.MSG_MORE) }

func (c *Conn) write(p []byte, flags int) error {
	if len(c.out) != 0 || c.flags&flagConnecting != 0 {
		c.keep(p)
		return nil
	}
	for len(p) > 0 {
		n, errno := sysSend(int(c.fd), p, flags)
		switch {
		case errno == 0:
			// A short write means the socket is full: the event comes when it
			// has room, trying again now would only cost an EAGAIN.
			if p = p[n:]; len(p) > 0 {
				c.keep(p)
			}
			return nil
		case errno == syscall.EAGAIN:
			c.keep(p)
			return nil
		case errno == syscall.EINTR:
		default:
			c.err = errno // the kernel reports it once; Read must not take the end for an orderly one
			return errno
		}
	}
	return nil
}

// end is what Read reports when nothing more comes.
func (c *Conn) end() error {
	if c.err != 0 {
		return c.err
	}
	return io.EOF
}

func (c *Conn) keep(p []byte) {
	if c.sent > 0 && len(c.out) == c.sent {
		c.out, c.sent = c.out[:0], 0
	}
	c.out = append(c.loop.Buffers.Grow(c.out, len(p)), p...)
	_ = c.watch()
}

// Pending is how many bytes handed to Write have not left yet.
func (c *Conn) Pending() int { return len(c.out) - c.sent }

// flush sends what is pending and tells the handler when all of it left.
func (c *Conn) flush() {
	for c.sent < len(c.out) {
		n, errno := sysSend(int(c.fd), c.out[c.sent:], 0)
		if errno == syscall.EINTR {
			continue
		}
		if errno == syscall.EAGAIN {
			return
		}
		if errno != 0 {
			c.broke(errno)
			return
		}
		c.sent += n
	}
	c.release()
	if c.flags&flagShutdown != 0 {
		c.hangUp()
	}
	if c.flags&flagLinger == 0 {
		c.handler.Drained(c)
	}
}

func (c *Conn) release() {
	if c.out != nil {
		c.loop.Buffers.Put(c.out)
		c.out, c.sent = nil, 0
	}
}

// broke gives up what is pending after the peer refused it. What the peer had
// sent before may still be read, and often is its reason; Read ends with err.
func (c *Conn) broke(err syscall.Errno) {
	c.release()
	c.err = err
	c.flags |= flagBroken | flagReadable | flagEnding
}

func (c *Conn) readable() {
	if c.flags&flagLinger != 0 {
		c.discard()
		return
	}
	c.handler.Readable(c)
}

// CloseWrite ends this side's direction after everything pending was sent.
// The other direction stays open.
func (c *Conn) CloseWrite() {
	if c.flags&(flagClosed|flagShutdown|flagHungUp) != 0 {
		return
	}
	if len(c.out) != 0 || c.flags&flagConnecting != 0 {
		c.flags |= flagShutdown
		return
	}
	c.hangUp()
}

func (c *Conn) hangUp() {
	c.flags = c.flags&^flagShutdown | flagHungUp
	sysShutdown(int(c.fd), unix.SHUT_WR)
}

// Linger sends what is pending, ends this side's direction and throws away
// what still arrives, until the peer ends too or the time (nanoseconds) is
// up. Closing at once instead would answer late bytes with a reset, which may
// destroy the last answer before the peer read it. The handler hears nothing
// of c any more.
func (c *Conn) Linger(nanos int64) {
	if c.flags&flagClosed != 0 {
		return
	}
	c.flags |= flagLinger
	c.handler = nil
	c.CloseWrite()
	c.SetDeadline(c.loop.now + nanos)
	if c.watch() == nil && c.flags&flagReadable != 0 {
		c.discard()
	}
}

// discardPerTurn bounds what one lingering connection may take of a turn.
const discardPerTurn = 4

func (c *Conn) discard() {
	for range discardPerTurn {
		switch _, err := c.Read(c.loop.In); err {
		case nil:
		case ErrDry:
			return
		default:
			c.Close()
			return
		}
	}
	c.loop.Again(c)
}

// SetDeadline calls Handler.Expired once now passed deadline (nanoseconds on
// the loop's clock), to the tenth of a second; 0 unsets it. Moving it later
// costs one store.
func (c *Conn) SetDeadline(deadline int64) {
	if deadline == 0 {
		c.timer.deadline = 0
		return
	}
	c.loop.setTimer(&c.timer, deadline)
}

func (c *Conn) expire() {
	switch {
	case c.flags&flagLinger != 0:
		c.Close()
	case c.flags&flagConnecting != 0:
		h := c.handler
		c.Close()
		h.Connected(c, ErrTimeout)
	default:
		c.handler.Expired(c)
	}
}

// Close closes the connection at once; pending bytes are lost. Closing twice
// is fine. The Conn may be looked at until the current event ends; then the
// loop uses it for another connection, so its owner lets go of it.
func (c *Conn) Close() {
	if c.flags&flagClosed != 0 {
		return
	}
	l := c.loop
	c.flags = c.flags&^flagAgain | flagClosed
	l.wheel.drop(&c.timer)
	c.release()
	l.conns[c.fd] = nil
	sysClose(int(c.fd))
	l.values.Put(c)
}

// Abort closes the connection with a reset, so that the peer cannot take the
// end for a complete answer.
func (c *Conn) Abort() {
	if c.flags&flagClosed != 0 {
		return
	}
	_ = unix.SetsockoptLinger(int(c.fd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	c.Close()
}
