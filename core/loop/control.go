package loop

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Ancillary messages (cmsg(3)) tell what does not stand in a datagram.

const headerSize = int(unsafe.Sizeof(unix.Cmsghdr{}))

func aligned(n int) int {
	const a = int(unsafe.Sizeof(uintptr(0)))
	return (n + a - 1) &^ (a - 1)
}

// readControl reads the ancillary messages (cmsg(3)) of one datagram.
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

// linkLocal reports whether an IPv6 address is one of fe80::/10.
func linkLocal(a [16]byte) bool { return a[0] == 0xfe && a[1]&0xc0 == 0x80 }

// pktinfo appends the ancillary message that makes a datagram leave from e; b
// has room for it.
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
