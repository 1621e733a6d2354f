package accesslog

import (
	cryptorand "crypto/rand"
	"encoding/binary"
	"math/rand/v2"
)

// RequestIDSize is the length of a generated request ID: 128 bits in hexadecimal.
const RequestIDSize = 32

// IDs generates request IDs for one loop. They are unpredictable: they come from
// ChaCha8 with a random seed from the kernel.
type IDs struct{ random *rand.ChaCha8 }

// NewIDs returns a generator with its own seed.
func NewIDs() *IDs {
	var seed [32]byte
	_, _ = cryptorand.Read(seed[:]) // never fails
	return &IDs{rand.NewChaCha8(seed)}
}

// Append appends a new ID. It does not allocate if dst has room.
func (g *IDs) Append(dst []byte) []byte {
	dst = appendHex(dst, g.random.Uint64())
	return appendHex(dst, g.random.Uint64())
}

// OneIn returns true once in n calls on average; always if n is 0 or 1.
func (g *IDs) OneIn(n uint32) bool { return n == 0 || uint32(g.random.Uint64()>>32)%n == 0 }

func appendHex(dst []byte, n uint64) []byte {
	dst = binary.BigEndian.AppendUint64(dst, digits(n>>32))
	return binary.BigEndian.AppendUint64(dst, digits(n&(1<<32-1)))
}

// digits converts each nibble of a 32-bit number to its hexadecimal digit.
func digits(v uint64) uint64 {
	v = (v | v<<16) & 0x0000ffff0000ffff
	v = (v | v<<8) & 0x00ff00ff00ff00ff
	v = (v | v<<4) & 0x0f0f0f0f0f0f0f0f
	over := (v + 0x0606060606060606) >> 4 & 0x0101010101010101 // 1 where the digit is a letter
	return v + '0'*0x0101010101010101 + over*('a'-'0'-10)
}

// ValidID reports whether a request ID from outside may be adopted: letters, digits and
// - . _ ~ + / = : @, at most MaxRequestID bytes.
func ValidID(b []byte) bool {
	if len(b) == 0 || len(b) > MaxRequestID {
		return false
	}
	for _, c := range b {
		if idByte[c>>6]>>(c&63)&1 == 0 {
			return false
		}
	}
	return true
}

var idByte = func() (set [4]uint64) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~+/=:@") {
		set[c>>6] |= 1 << (c & 63)
	}
	return set
}()
