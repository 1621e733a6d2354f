package loop

import (
	"encoding/binary"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Ancillary messages (cmsg(3)) hold the metadata of datagrams: addresses, the segment
// size of coalesced datagrams, and ICMP errors.

const headerSize = int(unsafe.Sizeof(unix.Cmsghdr{}))

func aligned(n int) int {
	const a = int(unsafe.Sizeof(uintptr(0)))
	return (n + a - 1) &^ (a - 1)
}

// readControl reads the ancillary messages of one datagram.
func (c *Datagram) readControl(b []byte) {
	for len(b) >= headerSize {
		h := (*unix.Cmsghdr)(unsafe.Pointer(unsafe.SliceData(b)))
		n := int(h.Len)
		if n < headerSize || n > len(b) {
			return
		}
		c.note(h, b[headerSize:n])
		b = b[min(aligned(n), len(b)):]
	}
}

func (c *Datagram) note(h *unix.Cmsghdr, data []byte) {
	switch {
	case h.Level == unix.SOL_UDP && h.Type == unix.UDP_GRO && len(data) >= 4:
		if size := int(binary.NativeEndian.Uint32(data)); size > 0 && size < len(c.Data) {
			c.Segment = size
		}
	case h.Level == unix.SOL_IP && h.Type == unix.IP_PKTINFO && len(data) >= unix.SizeofInet4Pktinfo:
		info := (*unix.Inet4Pktinfo)(unsafe.Pointer(unsafe.SliceData(data)))
		c.To.kind = 4
		copy(c.To.addr[:4], info.Spec_dst[:])
	case h.Level == unix.SOL_IPV6 && h.Type == unix.IPV6_PKTINFO && len(data) >= unix.SizeofInet6Pktinfo:
		info := (*unix.Inet6Pktinfo)(unsafe.Pointer(unsafe.SliceData(data)))
		c.To.kind, c.To.addr = 6, info.Addr
		if linkLocal(info.Addr) {
			c.To.scope = info.Ifindex
		}
	}
}

// linkLocal reports whether an IPv6 address is in fe80::/10.
func linkLocal(a [16]byte) bool { return a[0] == 0xfe && a[1]&0xc0 == 0x80 }

// pktinfo appends the ancillary message that sets e as the source address. b must have
// sufficient capacity.
func pktinfo(b []byte, e *Endpoint) []byte {
	at := len(b)
	if e.kind == 4 {
		b = b[:at+aligned(headerSize+unix.SizeofInet4Pktinfo)]
		setHeader(b[at:], unix.SOL_IP, unix.IP_PKTINFO, unix.SizeofInet4Pktinfo)
		info := (*unix.Inet4Pktinfo)(unsafe.Pointer(&b[at+headerSize]))
		*info = unix.Inet4Pktinfo{Spec_dst: [4]byte(e.addr[:4])}
		return b
	}
	b = b[:at+aligned(headerSize+unix.SizeofInet6Pktinfo)]
	setHeader(b[at:], unix.SOL_IPV6, unix.IPV6_PKTINFO, unix.SizeofInet6Pktinfo)
	info := (*unix.Inet6Pktinfo)(unsafe.Pointer(&b[at+headerSize]))
	*info = unix.Inet6Pktinfo{Addr: e.addr, Ifindex: e.scope}
	return b
}

func setHeader(b []byte, level, kind int32, size int) {
	h := (*unix.Cmsghdr)(unsafe.Pointer(unsafe.SliceData(b)))
	h.Level, h.Type = level, kind
	h.SetLen(headerSize + size)
}

// readErrorQueue empties the error queue (ip(7), IP_RECVERR). It returns the first
// error that means that the peer is unreachable, or 0.
func (c *UDPConn) readErrorQueue() (found syscall.Errno) {
	d := c.loop.udp
	for range datagramBatch {
		h := unix.Msghdr{Control: &d.errors[0]}
		h.SetControllen(len(d.errors))
		if _, _, e := syscall.RawSyscall(unix.SYS_RECVMSG, uintptr(c.fd), uintptr(unsafe.Pointer(&h)), unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT); e != 0 {
			break
		}
		if errno := queuedErrno(d.errors[:h.Controllen]); found == 0 && unreachable(errno) {
			found = errno
		}
	}
	// The socket error (SO_ERROR) is pending even if the queue holds the same error.
	n, err := unix.GetsockoptInt(int(c.fd), unix.SOL_SOCKET, unix.SO_ERROR)
	if errno := syscall.Errno(n); err == nil && found == 0 && unreachable(errno) {
		found = errno
	}
	return found
}

// queuedErrno returns the errno in the ancillary message of an error (ip(7),
// IP_RECVERR), or 0 if there is none.
func queuedErrno(b []byte) syscall.Errno {
	for len(b) >= headerSize {
		h := (*unix.Cmsghdr)(unsafe.Pointer(unsafe.SliceData(b)))
		n := int(h.Len)
		if n < headerSize || n > len(b) {
			return 0
		}
		if (h.Level == unix.SOL_IP && h.Type == unix.IP_RECVERR || h.Level == unix.SOL_IPV6 && h.Type == unix.IPV6_RECVERR) && n >= headerSize+4 {
			return syscall.Errno(binary.NativeEndian.Uint32(b[headerSize:]))
		}
		b = b[min(aligned(n), len(b)):]
	}
	return 0
}

// unreachable reports whether an error means that the peer cannot be reached, as
// opposed to a problem with one datagram.
func unreachable(errno syscall.Errno) bool {
	switch errno {
	case syscall.ECONNREFUSED, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EHOSTDOWN, syscall.ENOPROTOOPT, syscall.ENONET, syscall.ENETDOWN, syscall.EADDRNOTAVAIL:
		return true
	}
	return false
}
