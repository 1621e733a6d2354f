package choose

import (
	"bytes"
	"encoding/binary"
	"net/netip"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/dns/wire"
	"github.com/sluicelb/sluice/dns/zone"
)

// Sizes of nets with a constant choice, for clients without a client subnet.
const (
	bits4 = 24
	bits6 = 56
)

// net returns the client's net for a constant choice, and sets the scope.
func net(q *wire.Query, p *zone.Pick) netip.Prefix {
	from, bits := q.From(), bits6
	if from.Is4() {
		bits = bits4
	}
	if q.HasSubnet && q.Subnet.Bits() > 0 {
		bits = min(bits, q.Subnet.Bits())
	}
	p.Scope = uint8(bits)
	of, _ := from.Prefix(bits)
	return of
}

// golden spreads similar numbers: 2^64 divided by the golden ratio.
const golden = 0x9e3779b97f4a7c15

// rankOf returns the hash of a backend's key or address. It is the same on every node, and
// does not depend on the order and numbers of backends.
func rankOf(b *farm.Backend) uint64 {
	if b.HashKey == "" {
		a := b.Addr.As16()
		return mixed(binary.LittleEndian.Uint64(a[8:]) ^ mixed(binary.LittleEndian.Uint64(a[:])+golden))
	}
	h := uint64(golden)
	for i := range len(b.HashKey) {
		h = mixed(h ^ uint64(b.HashKey[i]))
	}
	return h
}

// rank orders by a hash of net and backend (rendezvous hashing): if a backend fails, only
// its own clients move. Backends with the same key are ordered by address.
func (c *Chooser) rank(list []backend, of netip.Prefix) {
	a := of.Addr().As16()
	seed := binary.LittleEndian.Uint64(a[:]) ^ binary.LittleEndian.Uint64(a[8:])*golden
	var scores [zone.MaxPicks]uint64
	for j, i := range c.picked[:c.count] {
		scores[j] = mixed(seed ^ list[i].rank)
	}
	above := func(j, k int) bool {
		return scores[j] > scores[k] || scores[j] == scores[k] && bytes.Compare(list[c.picked[j]].bytes[:], list[c.picked[k]].bytes[:]) < 0
	}
	for j := 1; j < c.count; j++ { // few: sorted in place
		for k := j; k > 0 && above(k, k-1); k-- {
			scores[k], scores[k-1] = scores[k-1], scores[k]
			c.picked[k], c.picked[k-1] = c.picked[k-1], c.picked[k]
		}
	}
}

// mixed is the finalizer of splitmix64.
func mixed(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
