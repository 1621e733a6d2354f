package proxyproto

import (
	"bytes"
	"net/netip"
	"unsafe"
)

// readLine parses version 1 after its signature, including its end:
//
//	TCP4 192.0.2.1 198.51.100.2 40000 443 CRLF
//	UNKNOWN anything CRLF
func (h *Header) readLine(line []byte) error {
	line, ok := bytes.CutSuffix(line, []byte("\r\n"))
	if !ok || bytes.IndexByte(line, '\r') >= 0 {
		return ErrLine
	}
	kind, rest, more := bytes.Cut(line, []byte(" "))
	switch string(kind) {
	case "UNKNOWN":
		return nil
	case "TCP4", "TCP6":
	default:
		return ErrLine
	}
	if !more {
		return ErrLine
	}
	var part [4][]byte
	for i := range part {
		var last bool
		part[i], rest, last = cut(rest)
		if last != (i == len(part)-1) {
			return ErrLine
		}
	}
	source, ok := readAddr(part[0], kind[3] == '4')
	if !ok {
		return ErrAddress
	}
	destination, ok := readAddr(part[1], kind[3] == '4')
	if !ok {
		return ErrAddress
	}
	from, ok := readPort(part[2])
	if !ok {
		return ErrAddress
	}
	to, ok := readPort(part[3])
	if !ok {
		return ErrAddress
	}
	h.Source, h.Destination = netip.AddrPortFrom(source, from), netip.AddrPortFrom(destination, to)
	return nil
}

// cut returns the part before a space; last reports that none follows.
func cut(b []byte) (part, rest []byte, last bool) {
	part, rest, more := bytes.Cut(b, []byte(" "))
	return part, rest, !more
}

// readAddr parses an address of the given family, without a zone.
func readAddr(b []byte, v4 bool) (netip.Addr, bool) {
	if len(b) == 0 || bytes.IndexByte(b, '%') >= 0 {
		return netip.Addr{}, false
	}
	a, err := netip.ParseAddr(unsafe.String(&b[0], len(b))) // a view: only the error retains it
	if err != nil || a.Is4() != v4 {
		return netip.Addr{}, false
	}
	return a.Unmap(), true
}

// readPort parses 0 to 65535 without a sign or leading zeros.
func readPort(b []byte) (uint16, bool) {
	if len(b) == 0 || len(b) > 5 || b[0] == '0' && len(b) > 1 {
		return 0, false
	}
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return uint16(n), n <= 65535
}
