package icmp

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"
)

// Rewrite returns the message for its receiver with the addresses from and to. The quoted
// packet gets the addresses src and dst. All must have the address family of the message.
// Correct checksums stay correct.
func (m *Message) Rewrite(from, to netip.Addr, src, dst netip.AddrPort) []byte {
	p := slices.Clone(m.packet)
	if m.From.Is4() {
		putAddrs(p[12:], from, to)
		m.resum(p, src, dst, 12)
		binary.BigEndian.PutUint16(p[10:], 0)
		binary.BigEndian.PutUint16(p[10:], ^sum(p[:m.body], 0))
		binary.BigEndian.PutUint16(p[m.body+2:], 0)
		binary.BigEndian.PutUint16(p[m.body+2:], ^sum(p[m.body:], 0))
		return p
	}
	putAddrs(p[8:], from, to)
	m.resum(p, src, dst, 8)
	now := &Message{packet: p}
	binary.BigEndian.PutUint16(p[m.body+2:], 0)
	binary.BigEndian.PutUint16(p[m.body+2:], ^sum(p[m.body:], now.pseudo()))
	return p
}

// resum writes the addresses, at the offset at, and ports of the quoted packet. It
// updates its checksums incrementally (RFC 1624), so wrong checksums stay wrong.
func (m *Message) resum(p []byte, src, dst netip.AddrPort, at int) {
	addrs := p[m.inner+at:]
	before := sum(addrs[:2*src.Addr().BitLen()/8], 0)
	putAddrs(addrs, src.Addr(), dst.Addr())
	after := sum(addrs[:2*src.Addr().BitLen()/8], 0)
	if src.Addr().Is4() {
		adjust(p[m.inner+10:], before, after)
	}
	ports := p[m.transport : m.transport+portsSize]
	portsBefore := sum(ports, 0)
	binary.BigEndian.PutUint16(ports, src.Port())
	binary.BigEndian.PutUint16(ports[2:], dst.Port())
	where := 0
	switch m.Protocol { // the checksum of SCTP does not cover addresses and cannot be adjusted
	case unix.IPPROTO_TCP:
		where = m.transport + 16
	case unix.IPPROTO_UDP:
		where = m.transport + 6
	}
	if where == 0 || len(p) < where+2 || m.Protocol == unix.IPPROTO_UDP && binary.BigEndian.Uint16(p[where:]) == 0 {
		return
	}
	adjust(p[where:], before, after)
	adjust(p[where:], portsBefore, sum(ports, 0))
	if m.Protocol == unix.IPPROTO_UDP && binary.BigEndian.Uint16(p[where:]) == 0 {
		binary.BigEndian.PutUint16(p[where:], 0xffff) // zero means no checksum (RFC 768)
	}
}

func putAddrs(b []byte, first, second netip.Addr) {
	n := copy(b, first.AsSlice())
	copy(b[n:], second.AsSlice())
}

// adjust updates a checksum after the sum of some fields changed from before to after.
func adjust(b []byte, before, after uint16) {
	s := uint32(^binary.BigEndian.Uint16(b)) + uint32(^before) + uint32(after)
	binary.BigEndian.PutUint16(b, ^fold(s))
}

// sum returns the ones' complement sum of b (RFC 1071), added to start.
func sum(b []byte, start uint32) uint16 {
	for ; len(b) > 1; b = b[2:] {
		start += uint32(b[0])<<8 | uint32(b[1])
	}
	if len(b) == 1 {
		start += uint32(b[0]) << 8
	}
	return fold(start)
}

func fold(s uint32) uint16 {
	for s > 0xffff {
		s = s&0xffff + s>>16
	}
	return uint16(s)
}
