package proxyproto

import (
	"encoding/binary"
	"hash/crc32"
	"net/netip"
)

// Version 2, lengths in bytes, numbers in network order:
//
//	signature 12 | version and command 1 | family and protocol 1 | length 2
//	addresses    | TCP over IPv4 4+4+2+2, over IPv6 16+16+2+2, others none we know
//	TLVs         | each type 1, length 2, value; to the end of length
const (
	sizeHead = 16
	sizeIPv4 = 12
	sizeIPv6 = 36
	sizeUnix = 216
)

// The second byte of the head: version and command; the third: family and
// protocol.
const (
	commandLocal = 0x20
	commandProxy = 0x21

	familyNone = 0x00
	familyTCP4 = 0x11
	familyTCP6 = 0x21
)

// typeCRC32C is the TLV whose value is the checksum of the header with that
// value taken for zero.
const typeCRC32C = 0x03

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// v2 is what reading version 2 takes.
type v2 struct {
	left   int    // bytes until the end of the header
	skip   int    // of these, bytes of a value or of addresses we do not look at
	crc    uint32 // of what has come
	sum    uint32 // the checksum in the header
	summed bool   // there is one
	local  bool   // LOCAL: nothing behind the head counts
	tlv    [3]byte
	have   uint8 // bytes of tlv
	sumAt  uint8 // bytes of the checksum still to come
}

func (v *v2) begin(signature []byte) { v.crc = crc32.Update(0, castagnoli, signature) }

// readFixed takes bytes of version 2 until the end of its addresses.
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

// readHead reads the 16 bytes every header of version 2 has.
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
		v.local = true // the rest is to be thrown away, whatever it is
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
		return nil // the addresses are next
	}
	if v.skip = otherSize(family); v.skip > v.left {
		return ErrLength
	}
	p.enterTLVs()
	return nil
}

// enterTLVs goes on with what follows the addresses, if anything does.
func (p *Parser) enterTLVs() {
	p.state = stateTLVs
	if p.v2.left == 0 {
		p.state = stateDone
	}
}

// addressSize is the length of the addresses that are looked at.
func addressSize(family byte) int {
	switch family {
	case familyTCP4:
		return sizeIPv4
	case familyTCP6:
		return sizeIPv6
	}
	return 0
}

// otherSize is the length of addresses that are not.
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

// readTLVs takes bytes behind the addresses until the end of the header.
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

// read takes bytes of one TLV.
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

// enter begins the value of a TLV.
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
