package snapshot

import "encoding/binary"

// elements returns the number of elements of all arrays in b together, which
// must be one well-formed CBOR item without indefinite lengths (RFC 8949 §3).
// The library bounds each array; only the sum bounds the memory a body takes,
// because one byte of it can stand for a whole struct.
func elements(b []byte) (n uint64) {
	for len(b) > 0 {
		major, arg, rest := head(b)
		switch major {
		case 2, 3: // byte and text strings: arg bytes follow
			rest = rest[min(arg, uint64(len(rest))):]
		case 4: // arg elements follow, which are heads of their own
			n += arg
		}
		b = rest
	}
	return n
}

// head splits the first item head off b, which is not empty.
func head(b []byte) (major byte, arg uint64, rest []byte) {
	major, low := b[0]>>5, b[0]&0x1f
	b = b[1:]
	if low < 24 {
		return major, uint64(low), b
	}
	size := 1 << min(low-24, 3) // 24 … 27: 1, 2, 4 or 8 bytes follow
	if len(b) < size {          // not well-formed
		return major, 0, nil
	}
	var wide [8]byte
	copy(wide[8-size:], b)
	return major, binary.BigEndian.Uint64(wide[:]), b[size:]
}
