package rules

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/sysnet/nft"
)

// Parameters of the hash: it is smaller than every mark, so that one that was
// not found in a map of marks leads nowhere.
const (
	hashSeed    = 0x5c
	hashModulus = MarkBase
)

// hashed reports whether sessions with keys of those parts are kept by a hash.
func hashed(list []part) bool { return len(list) > 1 && list[0].kind == "ipv6_addr" }

// Clients names the set that holds the keys of a map of sessions that are kept
// by a hash.
func Clients(id nft.ID) nft.ID {
	id.Name = "client" + strings.TrimPrefix(id.Name, "session")
	return id
}

func ClientSet(kind string, owner uint32) *nft.Set {
	return &nft.Set{Type: kind, Learned: true, Owner: owner, Options: fmt.Sprintf("flags dynamic,timeout; size %d; ", maxSessions)}
}

// HashBytes is hashOf for a key as the kernel has it.
func HashBytes(b []byte) uint32 { return uint32(uint64(jhash(b, hashSeed)) * hashModulus >> 32) }

// jhash is that of linux/jhash.h. len(b) is a multiple of four.
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
	if len(b) == 0 {
		return h[2]
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
