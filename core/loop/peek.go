package loop

import (
	"io"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Bytes that precede the protocol of an accepted connection, including TLS, are peeked
// at before they are consumed. The bytes after them stay in the socket for the next
// reader. These methods are only for connections that are (still) plain.

// Peek copies available bytes, at least one, into p without consuming them. It returns
// the same errors as Read.
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

// Skip consumes n bytes that Peek has returned.
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

// WaitMore makes c wait for more bytes than Peek has returned, or the end.
func (c *Conn) WaitMore() error {
	if err := c.watch(); err != nil {
		return err
	}
	c.flags &^= flagReadable
	return nil
}

// The receive buffer may be too small for a low-water mark above largeWait, so it is
// enlarged by waitRoom. The kernel does not advertise a window below one of the peer's
// segments, which are 64 KiB on the loopback device.
const (
	largeWait = 32 << 10
	waitRoom  = 128 << 10
)

// WaitFor is WaitMore for n bytes in total, so that a peer that sends single bytes does
// not wake the loop. The receive buffer is enlarged if necessary. Before any other read
// it must be reset with n = 1.
//
// The kernel wakes early if it is short of memory. To continue waiting for the same n,
// the caller then uses WaitMore, because WaitFor would wake immediately.
func (c *Conn) WaitFor(n int) error {
	if n > largeWait { // the buffer does not shrink again
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

// Proceed passes available bytes to the handler, which may be a new one, or to the
// handshake that Secure requested. It must be a handler's last action.
func (c *Conn) Proceed() {
	if c.flags&(flagReadable|flagClosed) == flagReadable {
		c.readable()
	}
}

// SetPeer replaces the address that Peer returns, e.g. by one from a trusted PROXY
// header.
func (c *Conn) SetPeer(peer netip.AddrPort) { c.peer = peer }

// sysPeek is sysRecv with MSG_PEEK.
func sysPeek(fd int, p []byte) (int, syscall.Errno) {
	n, _, e := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), unix.MSG_PEEK, 0, 0)
	return int(n), e
}

// sysDiscard consumes n bytes of a socket without copying them (tcp(7), MSG_TRUNC).
func sysDiscard(fd, n int) (int, syscall.Errno) {
	m, _, e := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), 0, uintptr(n), unix.MSG_TRUNC, 0, 0)
	return int(m), e
}
