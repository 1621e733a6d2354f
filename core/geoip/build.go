package geoip

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"net/netip"
)

// Builder builds the memory of a table. Nets must be added in address order, grouped by
// IP version, without overlaps.
type Builder struct {
	places []byte
	known  map[Place]uint32
	v4, v6 added
}

// added holds the ranges of one IP version.
type added struct {
	starts, places []byte
	next           uint64 // first address after the last net
	full           bool   // the last net ends the address space
	last           uint32
	any            bool
}

// ErrOrder is returned for nets out of order.
var ErrOrder = errors.New("nets are not in order")

// NewBuilder returns an empty builder.
func NewBuilder() *Builder {
	return &Builder{places: make([]byte, placeSize), known: map[Place]uint32{{}: 0}}
}

// Add sets the place of a net. An IPv6 net longer than /64 sets the place of its whole
// /64 unless that has one.
func (b *Builder) Add(net netip.Prefix, p Place) error {
	a := net.Masked().Addr()
	if a.Is4() {
		four := a.As4()
		return b.v4.add(uint64(binary.BigEndian.Uint32(four[:])), 32, net.Bits(), b.number(p), 4)
	}
	sixteen := a.As16()
	first := binary.BigEndian.Uint64(sixteen[:8])
	if net.Bits() > 64 && b.v6.any && (b.v6.full || first < b.v6.next) {
		return nil
	}
	return b.v6.add(first, 64, min(net.Bits(), 64), b.number(p), 8)
}

// number returns the index of a place and adds it if necessary.
func (b *Builder) number(p Place) uint32 {
	n, known := b.known[p]
	if known {
		return n
	}
	n = uint32(len(b.known))
	b.known[p] = n
	var one [placeSize]byte
	copy(one[:2], p.Country[:])
	copy(one[2:4], p.Continent[:])
	if p.Located {
		one[4] = 1
	}
	binary.LittleEndian.PutUint32(one[8:], math.Float32bits(p.Latitude))
	binary.LittleEndian.PutUint32(one[12:], math.Float32bits(p.Longitude))
	b.places = append(b.places, one[:]...)
	return n
}

func (r *added) add(first uint64, width, bits int, place uint32, size int) error {
	if r.full || first < r.next {
		return ErrOrder
	}
	if first > r.next { // a gap has no place
		r.begin(r.next, 0, size)
	}
	r.begin(first, place, size)
	r.next = first + 1<<(width-bits) // 0 after the end of 64 bits
	r.full = r.next == 0 || width == 32 && r.next > math.MaxUint32
	return nil
}

// begin starts a range unless the place is that of the previous range.
func (r *added) begin(first uint64, place uint32, size int) {
	if r.any && r.last == place {
		return
	}
	r.any, r.last = true, place
	if size == 4 {
		r.starts = binary.LittleEndian.AppendUint32(r.starts, uint32(first))
	} else {
		r.starts = binary.LittleEndian.AppendUint64(r.starts, first)
	}
	r.places = binary.LittleEndian.AppendUint32(r.places, place)
}

// Memory returns the encoded table. built is the build time of the database in Unix
// seconds.
func (b *Builder) Memory(built int64) []byte {
	for _, r := range []struct {
		of   *added
		size int
	}{{&b.v4, 4}, {&b.v6, 8}} {
		if r.of.any && !r.of.full {
			r.of.begin(r.of.next, 0, r.size)
		}
	}
	mem := make([]byte, headerSize, headerSize+len(b.places)+len(b.v4.starts)*2+len(b.v6.starts)+len(b.v6.places))
	copy(mem, magic)
	binary.LittleEndian.PutUint32(mem[atLayout:], layout)
	binary.LittleEndian.PutUint32(mem[atPlaces:], uint32(len(b.places)/placeSize))
	binary.LittleEndian.PutUint32(mem[atRange4:], uint32(len(b.v4.starts)/4))
	binary.LittleEndian.PutUint32(mem[atRange6:], uint32(len(b.v6.starts)/8))
	binary.LittleEndian.PutUint64(mem[atBuilt:], uint64(built))
	for _, part := range [][]byte{b.places, b.v4.starts, b.v4.places, b.v6.starts, b.v6.places} {
		mem = append(mem, part...)
	}
	sum := sha256.Sum256(mem)
	copy(mem[atDigest:atDigest+16], sum[:])
	return mem
}
