package proxyproto

import (
	"encoding/binary"
	"hash/crc32"
	"net/netip"
)

// Layout of version 2, lengths in bytes, numbers in network order:
//
//	signature 12 | version and command 1 | family and protocol 1 | length 2
//	addresses    | TCP over IPv4 4+4+2+2, over IPv6 16+16+2+2, others are skipped
//	TLVs         | each type 1, length 2, value; to the end of length
const (
	sizeHead = 16
	sizeIPv4 = 12
	sizeIPv6 = 36
	sizeUnix = 216
)

// Values of the second byte of the head (version and command) and the third (family and
// protocol).
const (
	commandLocal = 0x20
	commandProxy = 0x21

	familyNone = 0x00
	familyTCP4 = 0x11
	familyTCP6 = 0x21
)

// typeCRC32C is the TLV with the checksum of the header, computed with its value set to
// zero.
const typeCRC32C = 0x03

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// v2 is the parser state of version 2.
type v2 struct {
	left   int    // bytes until the end of the header
	skip   int    // of these, bytes of a value or of addresses to skip
	crc    uint32 // of the bytes so far
	sum    uint32 // the checksum in the header
	summed bool   // the header has a checksum
	local  bool   // LOCAL: bytes after the head are ignored
	tlv    [3]byte
	have   uint8 // bytes of tlv read
	sumAt  uint8 // bytes of the checksum still missing
}

func (v *v2) begin(signature []byte) { v.crc = crc32.Update(0, castagnoli, signature) }

// readFixed reads version 2 up to the end of its addresses.
func (p *Parser) readFixed(b []byte) (n int, err error) {
	want := sizeHead
	if p.fixed >= sizeHead {
		want += addressSize(p.line[13])
	}
	n = copy(p.line[p.fixed:want], b)
	p.fixed += uint8(n)
	p.v2.crc = crc32.Update(p.v2.crc, castagnoli, b[:n])
	switch {
	case int(p.fixed) < want:
		return n, nil
	case want == sizeHead:
		return n, p.readHead()
	}
	p.v2.left -= want - sizeHead
	p.header.readAddresses(p.line[sizeHead:want])
	p.enterTLVs()
	return n, nil
}

// readHead parses the 16 bytes that every header of version 2 has.
func (p *Parser) readHead() error {
	command, family := p.line[12], p.line[13]
	v := &p.v2
	v.left = int(binary.BigEndian.Uint16(p.line[14:]))
	switch {
	case command != commandLocal && command != commandProxy:
		return ErrVersion
	case sizeHead+v.left > MaxV2:
		return ErrLong
	case command == commandLocal:
		v.local = true // the rest must be ignored
		v.skip = v.left
		p.enterTLVs()
		return nil
	case family>>4 > 3 || family&15 > 2:
		return ErrVersion
	}
	size := addressSize(family)
	switch {
	case size != 0 && v.left < size:
		return ErrLength
	case size != 0:
		return nil // the addresses follow
	}
	if v.skip = otherSize(family); v.skip > v.left {
		return ErrLength
	}
	p.enterTLVs()
	return nil
}

// enterTLVs continues after the addresses.
func (p *Parser) enterTLVs() {
	p.state = stateTLVs
	if p.v2.left == 0 {
		p.state = stateDone
	}
}

// addressSize returns the length of addresses that are parsed, 0 for others.
func addressSize(family byte) int {
	switch family {
	case familyTCP4:
		return sizeIPv4
	case familyTCP6:
		return sizeIPv6
	}
	return 0
}

// otherSize returns the length of addresses that are skipped.
func otherSize(family byte) int {
	switch family >> 4 {
	case 1:
		return sizeIPv4
	case 2:
		return sizeIPv6
	case 3:
		return sizeUnix
	}
	return 0
}

func (h *Header) readAddresses(b []byte) {
	size := (len(b) - 4) / 2
	source, _ := netip.AddrFromSlice(b[:size])
	destination, _ := netip.AddrFromSlice(b[size : 2*size])
	h.Source = netip.AddrPortFrom(source.Unmap(), binary.BigEndian.Uint16(b[2*size:]))
	h.Destination = netip.AddrPortFrom(destination.Unmap(), binary.BigEndian.Uint16(b[2*size+2:]))
}

// readTLVs reads bytes after the addresses up to the end of the header.
func (p *Parser) readTLVs(b []byte) (n int, err error) {
	v := &p.v2
	b = b[:min(len(b), v.left)]
	for n < len(b) {
		used, err := v.read(b[n:])
		if err != nil {
			return 0, err
		}
		n += used
	}
	if v.left -= n; v.left > 0 {
		return n, nil
	}
	if !v.local {
		switch {
		case v.have != 0 || v.skip != 0 || v.sumAt != 0:
			return 0, ErrTLV
		case v.summed && v.sum != v.crc:
			return 0, ErrChecksum
		}
	}
	p.state = stateDone
	return n, nil
}

var zeros [4]byte

// read consumes bytes of one TLV.
func (v *v2) read(b []byte) (n int, err error) {
	switch {
	case v.skip > 0:
		n = min(len(b), v.skip)
		v.skip -= n
	case v.sumAt > 0:
		v.sum = v.sum<<8 | uint32(b[0])
		v.sumAt--
		v.crc = crc32.Update(v.crc, castagnoli, zeros[:1])
		return 1, nil
	default:
		v.tlv[v.have] = b[0]
		n = 1
		if v.have++; int(v.have) == len(v.tlv) {
			v.have = 0
			err = v.enter(v.tlv[0], int(binary.BigEndian.Uint16(v.tlv[1:])))
		}
	}
	v.crc = crc32.Update(v.crc, castagnoli, b[:n])
	return n, err
}

// enter starts the value of a TLV.
func (v *v2) enter(kind byte, size int) error {
	switch {
	case kind != typeCRC32C:
		v.skip = size
	case size != len(zeros):
		return ErrTLV
	case v.summed:
		return ErrChecksum
	default:
		v.summed, v.sumAt = true, uint8(size)
	}
	return nil
}
