package loop

import (
	"io"
	"net/netip"
	"syscall"
	"unsafe"

	"github.com/panjf2000/gnet/v2/pkg/netpoll"
	"golang.org/x/sys/unix"
)

type flags uint16

const (
	flagReadable   flags = 1 << iota // the socket may hold bytes, an end or an error
	flagEnding                       // the peer ended a direction: a short read does not mean that the socket is dry
	flagBroken                       // both directions ended, or the socket has an error
	flagConnecting                   // Dial is under way
	flagClosed
	flagShutdown  // send FIN when all pending bytes have left
	flagLinger    // discard input and close at its end
	flagAgain     // is in Loop.again
	flagHungUp    // FIN sent
	flagWatched   // registered with the poller
	flagWet       // flagReadable of the socket itself, below TLS
	flagHandshake // a handshake was requested and is not over
	flagHup       // an event reported EPOLLHUP or EPOLLERR, not verified yet
	flagRoom      // registered for EPOLLOUT, too
	flagUrgent    // urgent bytes arrived (tcp(7)): no splicing; reads stop there, so a short one does not mean dry
	flagUnread    // with flagLinger: input stays in the socket
)

// Conn is one TCP connection on a loop. See Handler for its events.
type Conn struct {
	loop    *Loop
	handler Handler
	out     []byte // bytes the kernel has not accepted, from out[sent:]
	sent    int
	peer    netip.AddrPort
	timer   Timer
	fd      int32
	flags   flags
	err     syscall.Errno // cause of a failed write
	secure  *secured      // nil for a plain connection
	pipe    *pipe         // spliced bytes that have not left; nil if none
}

// Loop returns the loop the connection lives on.
func (c *Conn) Loop() *Loop { return c.loop }

// Peer returns the address of the peer.
func (c *Conn) Peer() netip.AddrPort { return c.peer }

// Local returns the local address. Each call costs a system call.
func (c *Conn) Local() netip.AddrPort {
	sa := &c.loop.addr
	size := uint32(unix.SizeofSockaddrAny)
	if sysGetsockname(int(c.fd), sa, &size) != 0 {
		return netip.AddrPort{}
	}
	return decodeAddr(sa)
}

// SetHandler makes h the receiver of the connection's events.
func (c *Conn) SetHandler(h Handler) { c.handler = h }

// Handler returns the receiver of the connection's events, or nil while it lingers.
func (c *Conn) Handler() Handler { return c.handler }

// Closed reports whether the handler receives no more events: Close, Abort or Linger
// was called, or the handshake failed.
func (c *Conn) Closed() bool { return c.flags&(flagClosed|flagLinger) != 0 }

// Connecting reports whether Dial is still in progress, including its TLS handshake.
func (c *Conn) Connecting() bool {
	return c.flags&flagConnecting != 0 || c.flags&flagHandshake != 0 && c.secure.shake.client
}

// Readable reports whether Read may return bytes, an end or an error.
func (c *Conn) Readable() bool { return c.flags&flagReadable != 0 }

// Secured reports whether the connection uses TLS or is about to.
func (c *Conn) Secured() bool { return c.secure != nil }

// Watched reports whether the poller reports the peer's actions. Anything the peer did
// before registration is reported right after it.
func (c *Conn) Watched() bool { return c.flags&flagWatched != 0 }

// Read reads available bytes, at least one, into p. It returns ErrDry if there are none
// now, io.EOF if the peer has ended its direction, or the error that broke the
// connection. A read shorter than p means that the socket is dry, so no further call is
// made before the next event. The exceptions are an end and urgent bytes, at which
// reads stop.
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

// end returns the error with which Read reports the end of the connection.
func (c *Conn) end() error {
	if c.err != 0 {
		return c.err
	}
	return io.EOF
}

// dry returns the error with which Read reports that there are no bytes now. It
// registers the connection with the poller.
func (c *Conn) dry() error {
	if c.watch() != nil {
		return c.err
	}
	return ErrDry
}

// Write sends p. Bytes that the kernel does not accept now are copied, so the caller
// may reuse p at once. It fails only if the connection is broken.
func (c *Conn) Write(p []byte) error {
	if c.secure != nil {
		return c.secure.write(p, false)
	}
	return c.send(p, 0)
}

// WriteMore is Write for a part that is followed immediately by another: the kernel may
// hold it back to fill a segment (MSG_MORE). A secure connection holds it back until
// the next Write, CloseWrite, Linger or Close. One of these must follow within the
// event.
func (c *Conn) WriteMore(p []byte) error {
	if c.secure != nil {
		return c.secure.write(p, true)
	}
	return c.send(p, unix.MSG_MORE)
}

// Push sends bytes that the kernel holds back after WriteMore on a plain connection, if
// nothing follows after all.
func (c *Conn) Push() {
	// Setting TCP_NODELAY, even to its present value, flushes held bytes (tcp(7)).
	_ = unix.SetsockoptInt(int(c.fd), unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
}

func (c *Conn) send(p []byte, flags int) error {
	if len(c.out) != 0 || c.pipe != nil || c.flags&flagConnecting != 0 {
		c.keep(p)
		return nil
	}
	for len(p) > 0 {
		n, errno := sysSend(int(c.fd), p, flags)
		switch {
		case errno == 0:
			// A short write means that the socket is full. An event reports when it has
			// room again. Another try now would only return EAGAIN.
			if p = p[n:]; len(p) > 0 {
				c.keep(p)
			}
			return nil
		case errno == syscall.EAGAIN:
			c.keep(p)
			return nil
		case errno == syscall.EINTR:
		default:
			c.err = errno // the kernel reports it once; Read must return it instead of io.EOF
			return errno
		}
	}
	return nil
}

func (c *Conn) keep(p []byte) {
	if c.sent > 0 && len(c.out) == c.sent {
		c.out, c.sent = c.out[:0], 0
	}
	c.out = append(c.loop.Buffers.Grow(c.out, len(p)), p...)
	_ = c.watchRoom()
}

// Pending returns the number of bytes passed to Write or Splice that have not left yet.
func (c *Conn) Pending() int {
	if c.pipe != nil {
		return len(c.out) - c.sent + c.pipe.held
	}
	return len(c.out) - c.sent
}

// flush sends pending bytes and calls Drained once all have left.
func (c *Conn) flush() {
	if c.pipe != nil {
		switch errno := c.drain(); errno {
		case 0:
		case syscall.EAGAIN:
			return
		default:
			c.broke(errno)
			return
		}
	}
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
	if c.flags&flagHandshake != 0 {
		return // the handler has not written anything yet
	}
	if c.flags&flagShutdown != 0 {
		c.hangUp()
	}
	if c.flags&flagLinger == 0 {
		c.handler.Drained(c)
	}
}

func (c *Conn) release() {
	c.releasePipe()
	if c.out != nil {
		c.loop.Buffers.Put(c.out)
		c.out, c.sent = nil, 0
	}
}

// broke drops pending bytes after a failed write. Bytes that the peer sent before can
// still be read, and often explain the failure. Read ends with err.
func (c *Conn) broke(err syscall.Errno) {
	c.release()
	c.err = err
	c.flags |= flagBroken | flagReadable | flagWet | flagEnding
}

// Wait requests a Readable event when more can be read, immediately if that is the case
// already. Handlers call it after they stopped reading early.
func (c *Conn) Wait() {
	switch {
	case c.flags&flagWatched == 0:
		if c.watch() == nil && c.secure != nil && c.flags&flagReadable != 0 {
			c.loop.Again(c)
		}
	case c.flags&flagReadable != 0:
		c.loop.Again(c)
	}
}

// watch registers the connection for read events, including those for bytes already
// present. An accepted connection is registered when it first has to wait for its
// client. One that is served and closed at once is not registered, which saves a system
// call and an event. Write events are registered only when needed (watchRoom), because
// a new socket has room and would cause a useless event.
func (c *Conn) watch() error {
	if c.flags&flagWatched != 0 {
		return nil
	}
	pa := netpoll.PollAttachment{FD: int(c.fd)}
	if err := c.loop.poller.AddRead(&pa, true); err != nil {
		return c.unwatched(err)
	}
	c.watched()
	return nil
}

// watchRoom registers the connection for read and write events because bytes are
// pending.
func (c *Conn) watchRoom() error {
	if c.flags&flagRoom != 0 {
		return nil
	}
	pa, known := netpoll.PollAttachment{FD: int(c.fd)}, c.flags&flagWatched != 0
	add := c.loop.poller.AddReadWrite
	if known {
		add = c.loop.poller.ModReadWrite
	}
	if err := add(&pa, true); err != nil {
		return c.unwatched(err)
	}
	c.flags |= flagRoom
	if !known {
		c.watched()
	}
	return nil
}

// unwatched marks a connection that could not be registered as broken and lets its
// deadline expire at once.
func (c *Conn) unwatched(err error) error {
	c.err = syscall.ENOMEM
	c.flags |= flagBroken
	c.SetDeadline(c.loop.Now())
	return err
}

// watched records that the poller reports readiness to read.
func (c *Conn) watched() {
	if c.secure == nil {
		c.flags &^= flagReadable // a secure connection may hold plaintext
	}
	c.flags = c.flags&^flagWet | flagWatched
}

// open returns a new connection for fd that is not registered with the poller yet.
func (l *Loop) open(fd int, peer netip.AddrPort, h Handler, fl flags) *Conn {
	c := l.values.Get()
	*c = Conn{loop: l, handler: h, peer: peer, fd: int32(fd), flags: fl}
	c.timer.target = c
	for fd >= len(l.conns) {
		l.conns = append(l.conns, make([]*Conn, max(64, len(l.conns)/2))...)
	}
	l.conns[fd] = c
	descriptors.conns.Add(1)
	return c
}

// The calls below are raw on purpose. All descriptors are non-blocking, so the calls
// return at once. Notifying the Go scheduler of each would cost a tenth of a whole
// request (0.94 instead of 0.85 of HAProxy's CPU time). Only the poller's wait blocks,
// and that is an ordinary system call.

func sysRecv(fd int, p []byte) (int, syscall.Errno) {
	n, _, e := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), 0, 0, 0)
	return int(n), e
}

func sysSend(fd int, p []byte, flags int) (int, syscall.Errno) {
	n, _, e := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), uintptr(flags|unix.MSG_NOSIGNAL), 0, 0)
	return int(n), e
}
