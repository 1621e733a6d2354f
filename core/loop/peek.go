package loop

import (
	"io"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

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

// sysPeek is sysRecv that leaves the bytes where they are.
func sysPeek(fd int, p []byte) (int, syscall.Errno) {
	n, _, e := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), unix.MSG_PEEK, 0, 0)
	return int(n), e
}

// sysDiscard takes n bytes from a socket without copying them anywhere (tcp(7),
// MSG_TRUNC).
func sysDiscard(fd, n int) (int, syscall.Errno) {
	m, _, e := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), 0, uintptr(n), unix.MSG_TRUNC, 0, 0)
	return int(m), e
}
