package icmp

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Message is an ICMP error about a quoted packet.
//
//	IP From → To | ICMP type, code, sum, rest (8) | IP Src → Dst | ports … of the quoted packet
//	             body                             inner          transport
type Message struct {
	// From is the sender of the error. To is its destination, the sender of the quoted
	// packet.
	From, To netip.Addr
	// Protocol, Src and Dst are from the quoted packet.
	Protocol uint8
	Src, Dst netip.AddrPort

	packet                 []byte // from the IP header on, without padding
	body, inner, transport int
}

// Protocols with ports (IANA protocol numbers).
const (
	TCP  = unix.IPPROTO_TCP
	UDP  = unix.IPPROTO_UDP
	SCTP = unix.IPPROTO_SCTP
)

// Sizes of headers, in bytes.
const (
	head4, head6 = 20, 40
	headICMP     = 8
	portsSize    = 4
)

// Parse parses an IP packet. ok is true only for an ICMP error with valid checksums that
// quotes a packet with ports. The message takes ownership of packet.
func Parse(packet []byte) (m *Message, ok bool) {
	if len(packet) == 0 {
		return nil, false
	}
	m = &Message{}
	switch packet[0] >> 4 {
	case 4:
		ok = m.outer4(packet) && m.inner4()
	case 6:
		ok = m.outer6(packet) && m.inner6()
	}
	return m, ok && m.ports()
}

func (m *Message) outer4(p []byte) bool {
	if len(p) < head4 || p[9] != unix.IPPROTO_ICMP || binary.BigEndian.Uint16(p[6:])&0x3fff != 0 { // a fragment
		return false
	}
	size, whole := headSize(p), int(binary.BigEndian.Uint16(p[2:]))
	if size < head4 || whole > len(p) || whole < size+headICMP {
		return false
	}
	m.packet, m.body, m.inner = p[:whole], size, size+headICMP
	m.From, m.To = netip.AddrFrom4([4]byte(p[12:16])), netip.AddrFrom4([4]byte(p[16:20]))
	return isError4(p[size]) && sum(m.packet[size:], 0) == 0xffff && sum(p[:size], 0) == 0xffff
}

func isError4(kind byte) bool {
	switch kind {
	case 3, 11, 12: // unreachable, time exceeded, parameter problem (RFC 792)
		return true
	}
	return false
}

func (m *Message) inner4() bool {
	p := m.packet[m.inner:]
	if len(p) < head4 || p[0]>>4 != 4 || binary.BigEndian.Uint16(p[6:])&0x1fff != 0 { // only the first fragment has ports
		return false
	}
	size := headSize(p)
	m.Protocol, m.transport = p[9], m.inner+size
	m.Src, m.Dst = netip.AddrPortFrom(netip.AddrFrom4([4]byte(p[12:16])), 0), netip.AddrPortFrom(netip.AddrFrom4([4]byte(p[16:20])), 0)
	return size >= head4
}

// headSize returns the length field of an IPv4 header, in bytes.
func headSize(p []byte) int { return int(p[0]&15) * 4 }

func (m *Message) outer6(p []byte) bool {
	if len(p) < head6+headICMP || p[6] != unix.IPPROTO_ICMPV6 {
		return false
	}
	whole := head6 + int(binary.BigEndian.Uint16(p[4:]))
	if whole > len(p) || whole < head6+headICMP {
		return false
	}
	m.packet, m.body, m.inner = p[:whole], head6, head6+headICMP
	m.From, m.To = netip.AddrFrom16([16]byte(p[8:24])), netip.AddrFrom16([16]byte(p[24:40]))
	kind := p[head6] // 1 to 4: unreachable, too big, time exceeded, parameter problem (RFC 4443)
	return kind >= 1 && kind <= 4 && sum(m.packet[head6:], m.pseudo()) == 0xffff
}

// pseudo returns the sum of the pseudo-header for ICMPv6 (RFC 8200 §8.1).
func (m *Message) pseudo() uint32 {
	s := uint32(len(m.packet)-head6) + unix.IPPROTO_ICMPV6
	return s + uint32(sum(m.packet[8:40], 0))
}

func (m *Message) inner6() bool {
	p := m.packet[m.inner:]
	if len(p) < head6 || p[0]>>4 != 6 {
		return false
	}
	m.Src, m.Dst = netip.AddrPortFrom(netip.AddrFrom16([16]byte(p[8:24])), 0), netip.AddrPortFrom(netip.AddrFrom16([16]byte(p[24:40])), 0)
	next, at := p[6], head6
	for {
		switch next {
		case unix.IPPROTO_HOPOPTS, unix.IPPROTO_ROUTING, unix.IPPROTO_DSTOPTS, unix.IPPROTO_FRAGMENT:
		default:
			m.Protocol, m.transport = next, m.inner+at
			return true
		}
		if len(p) < at+8 {
			return false
		}
		size := int(p[at+1])*8 + 8
		if next == unix.IPPROTO_FRAGMENT {
			if binary.BigEndian.Uint16(p[at+2:])&^7 != 0 {
				return false
			}
			size = 8
		}
		next, at = p[at], at+size
	}
}

func (m *Message) ports() bool {
	switch m.Protocol {
	case TCP, UDP, SCTP:
	default:
		return false
	}
	if len(m.packet) < m.transport+portsSize {
		return false
	}
	p := m.packet[m.transport:]
	m.Src = netip.AddrPortFrom(m.Src.Addr(), binary.BigEndian.Uint16(p))
	m.Dst = netip.AddrPortFrom(m.Dst.Addr(), binary.BigEndian.Uint16(p[2:]))
	return true
}

// Packet returns the original packet, which must not be modified.
func (m *Message) Packet() []byte { return m.packet }
