package loop

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// oneSegment is what fits into a segment whatever the way to the peer is: the
// length that is taken for granted of a peer that names none (RFC 9293,
// section 3.7.1).
const oneSegment = 536

// hasten comes before n bytes are sent: they must not wait until those before
// them are acknowledged (TCP_NODELAY), which those of accepted connections do
// not by their listener. Of a dialled connection the first bytes wait for
// nothing when they are one segment, and for a short connection they are all
// there is: the option is set when more comes, which saves 0.3 µs of 33.
func (c *Conn) hasten(n, flags int) {
	switch c.flags & (flagSilent | flagNagle) {
	case 0:
	case flagSilent:
		if c.flags &^= flagSilent; n <= oneSegment && flags == 0 {
			c.flags |= flagNagle
			return
		}
		c.undelayed()
	default:
		c.undelayed()
	}
}

// undelayed has everything leave at once, from now on and what is held back.
func (c *Conn) undelayed() {
	c.flags &^= flagSilent | flagNagle
	one := int32(1)
	_, _, _ = syscall.RawSyscall6(unix.SYS_SETSOCKOPT, uintptr(c.fd), unix.IPPROTO_TCP, unix.TCP_NODELAY,
		uintptr(unsafe.Pointer(&one)), unsafe.Sizeof(one), 0)
}
