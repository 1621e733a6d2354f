package rules

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/sysnet/claim"
)

// nft up to 1.0.6 takes no key of more than 16 bytes where a packet adds an
// element with a value (it aborts). Sessions by IPv6 address and port are
// therefore kept by a hash of that, and a set beside the map holds the keys
// themselves, for people. Two clients with one hash share a backend, nothing
// else.

// Parameters of the hash: it is smaller than every mark, so that one that was
// not found in a map of marks leads nowhere.
const (
	hashSeed    = 0x5c
	hashModulus = uint64(claim.FirstMark)
)

// hashes ends what nft hashes.
var hashes = fmt.Sprintf("mod %d seed %#x", hashModulus, hashSeed)

// hashed reports whether sessions with keys of those parts are kept by a hash.
func hashed(list []part) bool { return len(list) > 1 && list[0].kind == "ipv6_addr" }

// hashOf is what nft's "jhash KEY mod … seed …" (hashes) makes of a key as
// SessionKey writes it: the parts in network byte order, each filled up to four
// bytes.
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

// hashBytes is the hash of a key as the kernel has it.
func hashBytes(b []byte) uint32 { return uint32(uint64(jhash(b, hashSeed)) * hashModulus >> 32) }

// jhash is that of linux/jhash.h. len(b) is a multiple of four, and not 0.
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
