package rules

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/sysnet/claim"
)

// nft up to 1.0.6 aborts on keys of more than 16 bytes where a packet adds an element with a
// value. So sessions by IPv6 address and port are keyed by a hash, and a second set holds
// the keys for display. Two clients with the same hash share only a backend.

// Parameters of the hash. The hash is stored in the mark for the lookup of a session and
// stays there if the lookup fails. It is smaller than every backend mark, so it then
// matches none of them.
const (
	hashSeed    = 0x5c
	hashModulus = uint64(claim.FirstMark)
)

// hashes is the end of nft's hash expressions.
var hashes = fmt.Sprintf("mod %d seed %#x", hashModulus, hashSeed)

// hashed reports whether sessions with keys of these parts are stored by hash.
func hashed(list []part) bool { return len(list) > 1 && list[0].kind == "ipv6_addr" }

// hashOf returns the value of nft's "jhash KEY mod … seed …" (hashes) for a key in the form
// of SessionKey. The parts are in network byte order, each padded to four bytes.
func hashOf(key string) (uint32, error) {
	var b []byte
	for _, text := range strings.Split(key, " . ") {
		if addr, err := netip.ParseAddr(text); err == nil {
			b = append(b, addr.AsSlice()...)
		} else if port, err := strconv.ParseUint(text, 10, 16); err == nil {
			b = append(binary.BigEndian.AppendUint16(b, uint16(port)), 0, 0)
		} else {
			return 0, fmt.Errorf("%q is no part of a key", text)
		}
	}
	return hashBytes(b), nil
}

// hashBytes returns the hash of a key in kernel form.
func hashBytes(b []byte) uint32 { return uint32(uint64(jhash(b, hashSeed)) * hashModulus >> 32) }

// jhash is the function of linux/jhash.h. len(b) is a positive multiple of four.
func jhash(b []byte, seed uint32) uint32 {
	x := 0xdeadbeef + uint32(len(b)) + seed
	h := [3]uint32{x, x, x}
	rot := func(v uint32, n int) uint32 { return v<<n | v>>(32-n) }
	for len(b) > 12 {
		for i := range h {
			h[i] += binary.NativeEndian.Uint32(b[4*i:])
		}
		for i, n := range []int{4, 6, 8, 16, 19, 4} {
			a, mid, last := &h[i%3], h[(i+1)%3], &h[(i+2)%3]
			*a -= *last
			*a ^= rot(*last, n)
			*last += mid
		}
		b = b[12:]
	}
	for i := 0; len(b) > 0; i++ {
		h[i] += binary.LittleEndian.Uint32(b)
		b = b[4:]
	}
	for i, n := range []int{14, 11, 25, 16, 4, 14, 24} {
		to, from := &h[(i+2)%3], h[(i+1)%3]
		*to ^= from
		*to -= rot(from, n)
	}
	return h[2]
}
