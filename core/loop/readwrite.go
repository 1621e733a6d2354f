package loop

import (
	"io"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
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

// What precedes the protocol of an accepted connection, TLS included, is looked
// at before it is taken: what follows it stays in the socket, for whoever reads
// next. All of this is for connections that are plain, or still are.

// Peek copies what the socket holds into p and leaves it there: at least one
// byte, or an error as Read has them.
func (c *Conn) Peek(p []byte) (int, error) {
	if c.flags&flagReadable == 0 {
		return 0, c.dry()
	}
	for {
		n, errno := sysPeek(int(c.fd), p)
		switch {
		case errno == 0 && n > 0:
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

// Skip takes n bytes that Peek has shown.
func (c *Conn) Skip(n int) error {
	for n > 0 {
		m, errno := sysDiscard(int(c.fd), n)
		switch {
		case errno == syscall.EINTR:
		case errno != 0:
			return errno
		case m == 0:
			return io.ErrUnexpectedEOF
		}
		n -= m
	}
	return nil
}

// WaitMore lets c wait until there is more than Peek has shown, or its end.
func (c *Conn) WaitMore() error {
	if err := c.watch(); err != nil {
		return err
	}
	c.flags &^= flagReadable
	return nil
}

// largeWait is from how many bytes on the socket may have too little room for them,
// and waitRoom what is made beyond them: the kernel offers the peer no room that is
// less than one of its segments, which are 64 KiB on the loopback device.
const (
	largeWait = 32 << 10
	waitRoom  = 128 << 10
)

// WaitFor is WaitMore until there are n bytes in all, so that a peer that sends
// them one by one wakes nobody. The socket makes room for them. Undo it with n = 1
// before anything else is read.
//
// The kernel wakes early when it is short of memory: who is woken so and waits on
// for the same n calls WaitMore, because this would wake at once.
func (c *Conn) WaitFor(n int) error {
	if n > largeWait { // room that was made once stays
		if err := c.lowWater(n + waitRoom); err != nil {
			return err
		}
	}
	if err := c.lowWater(n); err != nil || n == 1 {
		return err
	}
	return c.WaitMore()
}

func (c *Conn) lowWater(n int) error {
	return syscall.SetsockoptInt(int(c.fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, n)
}

// Proceed gives what the socket holds to the handler, which may be a new one,
// or to the handshake that Secure asked for. It is the last thing a handler does.
func (c *Conn) Proceed() {
	if c.flags&(flagReadable|flagClosed) == flagReadable {
		c.readable()
	}
}

// SetPeer replaces what Peer returns: somebody who may said on whose behalf the
// connection was made.
func (c *Conn) SetPeer(peer netip.AddrPort) { c.peer = peer }

// sysDiscard takes n bytes from a socket without copying them anywhere (tcp(7),
// MSG_TRUNC).
func sysDiscard(fd, n int) (int, syscall.Errno) {
	m, _, e := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), 0, uintptr(n), unix.MSG_TRUNC, 0, 0)
	return int(m), e
}

// Write sends p, keeping a copy of what the kernel does not take now; the
// caller may reuse p at once. It fails only when the connection is broken.
func (c *Conn) Write(p []byte) error {
	if c.secure != nil {
		return c.secure.write(p, false)
	}
	return c.send(p, 0)
}

// WriteMore is Write for a part that is followed by another at once: the
// kernel may hold it back to fill a segment. A secure connection holds it back
// until the next Write, CloseWrite, Linger or Close, of which one must follow
// before the event is over.
func (c *Conn) WriteMore(p []byte) error {
	if c.secure != nil {
		return c.secure.write(p, true)
	}
	return c.send(p, unix.MSG_MORE)
}

// Push sends what the kernel holds back after WriteMore of a plain connection
// when nothing follows after all.
func (c *Conn) Push() {
	// Setting it, even to what it is, sends what was collected (tcp(7)).
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

func (c *Conn) keep(p []byte) {
	if c.sent > 0 && len(c.out) == c.sent {
		c.out, c.sent = c.out[:0], 0
	}
	c.out = append(c.loop.Buffers.Grow(c.out, len(p)), p...)
	_ = c.watchRoom()
}

// Pending is how many bytes handed to Write have not left yet.
func (c *Conn) Pending() int {
	if c.pipe != nil {
		return len(c.out) - c.sent + c.pipe.held
	}
	return len(c.out) - c.sent
}

// flush sends what is pending and tells the handler when all of it left.
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
		return // the handler has written nothing yet
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

// broke gives up what is pending after the peer refused it. What the peer had
// sent before may still be read, and often is its reason; Read ends with err.
func (c *Conn) broke(err syscall.Errno) {
	c.release()
	c.err = err
	c.flags |= flagBroken | flagReadable | flagWet | flagEnding
}

// Taking reports whether bytes wait for the peer, and how long ago (nanoseconds)
// it took some last: as long as there is room in the kernel, and as long as it
// has none, nobody hears of that. A peer that is gone or has no room takes none,
// though the kernel tries. It is a question to the kernel.
func (c *Conn) Taking() (since int64, waiting bool) {
	info, err := unix.GetsockoptTCPInfo(int(c.fd), unix.SOL_TCP, unix.TCP_INFO)
	if err != nil || info.Unacked == 0 && info.Notsent_bytes == 0 && c.Pending() == 0 {
		return 0, false
	}
	return int64(max(info.Last_data_sent, info.Last_ack_recv)) * int64(time.Millisecond), true
}
