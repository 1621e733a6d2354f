package http2

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// appendHuffman appends the decoded form of src, a string in Huffman code. It returns false
// for EOS within the string and for padding that is longer than seven bits or not a prefix
// of EOS (RFC 7541 section 5.2).
func appendHuffman(dst, src []byte) ([]byte, bool) {
	at := len(dst)
	dst = slices.Grow(dst, len(src)*8/5+1) // codes have at least five bits
	out := dst[:cap(dst)]
	acc, n := uint64(0), 0 // the next n bits, left-aligned and followed by zeros
	for {
		acc, n, src = refill(acc, n, src)
		for n >= 5 {
			symbol, length := nextSymbol(acc)
			if length == 0 {
				return dst, false
			}
			if length > n {
				break
			}
			out[at] = symbol
			at++
			acc <<= length
			n -= length
		}
		if len(src) == 0 {
			return out[:at], padding(acc, n)
		}
	}
}

// refill moves bytes from src to the n bits of acc, which then holds at least 57 bits or all
// that are left.
func refill(acc uint64, n int, src []byte) (uint64, int, []byte) {
	if len(src) >= 8 {
		acc |= binary.BigEndian.Uint64(src) >> n
		taken := (63 - n) >> 3
		n += taken << 3
		return acc & (^uint64(0) << (64 - n)), n, src[taken:]
	}
	for n <= 56 && len(src) > 0 {
		acc |= uint64(src[0]) << (56 - n)
		src, n = src[1:], n+8
	}
	return acc, n, src
}

// nextSymbol returns the symbol at the front of acc and the length of its code, or 0 for
// EOS. A length beyond the available bits means that the code is incomplete.
func nextSymbol(acc uint64) (symbol byte, length int) {
	if e := huffmanShort[acc>>(64-shortBits)]; e != 0 {
		return byte(e), int(e >> 8)
	}
	x := uint32(acc >> 32)
	for length = shortBits + 1; length <= 30; length++ {
		if l := &huffmanLong[length]; x < l.end {
			return l.symbols[(x-l.first)>>(32-length)], length
		}
	}
	return 0, 0
}

// padding reports whether the remaining n bits are valid padding.
func padding(acc uint64, n int) bool { return n < 8 && bits.LeadingZeros64(^acc) >= n }
