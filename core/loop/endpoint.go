package loop

import (
	"encoding/binary"
	"net/netip"
)

// Endpoint is an address and port in a form suited to datagrams: comparable, without
// pointers, and with the interface of a link-local address. The zero value is invalid.
type Endpoint struct {
	addr  [16]byte // IPv4 uses the first four bytes
	scope uint32   // interface index of a link-local IPv6 address, else 0
	port  uint16
	kind  uint8 // 4, 6 or 0
}

// EndpointOf returns the endpoint of ap. It ignores the zone.
func EndpointOf(ap netip.AddrPort) (e Endpoint) {
	switch a := ap.Addr(); {
	case a.Is4() || a.Is4In6():
		v4 := a.As4()
		copy(e.addr[:], v4[:])
		e.kind = 4
	case a.Is6():
		e.addr, e.kind = a.As16(), 6
	}
	e.port = ap.Port()
	return e
}

// IsValid reports whether e is not the zero value.
func (e *Endpoint) IsValid() bool { return e.kind != 0 }

// Addr returns the address without its zone.
func (e *Endpoint) Addr() netip.Addr {
	switch e.kind {
	case 4:
		return netip.AddrFrom4([4]byte(e.addr[:4]))
	case 6:
		return netip.AddrFrom16(e.addr)
	}
	return netip.Addr{}
}

// Port returns the port.
func (e *Endpoint) Port() uint16 { return e.port }

// AddrPort returns the address, without its zone, and the port.
func (e *Endpoint) AddrPort() netip.AddrPort { return netip.AddrPortFrom(e.Addr(), e.port) }

// AppendTo appends the bytes that identify e: the address (4 or 16 bytes) and the port
// in network order.
func (e *Endpoint) AppendTo(dst []byte) []byte {
	n := 4
	if e.kind == 6 {
		n = 16
	}
	return binary.BigEndian.AppendUint16(append(dst, e.addr[:n]...), e.port)
}
