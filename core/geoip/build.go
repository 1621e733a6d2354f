package geoip

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"net/netip"
)

// Builder makes the memory of a table. Nets come in the order of their addresses, those of
// one version together, and none holds another.
type Builder struct {
	places []byte
	known  map[Place]uint32
	v4, v6 added
}

// added are the ranges of one version.
type added struct {
	starts, places []byte
	next           uint64 // the address behind the last
	full           bool   // there is none behind
	last           uint32
	any            bool
}

// ErrOrder is for nets that do not come in order.
var ErrOrder = errors.New("nets are not in order")

// NewBuilder returns a builder of a table without ranges.
func NewBuilder() *Builder {
	return &Builder{places: make([]byte, placeSize), known: map[Place]uint32{{}: 0}}
}

// Add says where the addresses of a net are. Nets of IPv6 that are longer than 64 bits are
// taken for what holds them, where that is nothing yet.
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

// number is the position of a place.
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
	if first > r.next { // nobody knows of what lies between
		r.begin(r.next, 0, size)
	}
	r.begin(first, place, size)
	r.next = first + 1<<(width-bits) // 0 for all of 64 bits
	r.full = r.next == 0 || width == 32 && r.next > math.MaxUint32
	return nil
}

// begin begins a range, unless it goes on with the place before.
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

// Memory is the table; built is when the database was made, in seconds since 1970.
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
