// Package geoip looks up the location of addresses: country, continent and coordinates
// from the operator's database. mgmt builds a Table from the database (mgmt/geoip) and
// passes its sealed memory to the engine. Both read it in place.
//
// For each IP version, a table holds the first address of each range, in order, and the
// index of its place. IPv6 ranges consist of whole /64 nets. Place 0 means unknown.
package geoip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"net/netip"
	"runtime"
	"strings"

	"github.com/sluicelb/sluice/core/shm"
)

// Place is the location of an address. Unknown fields are zero.
type Place struct {
	Country   Code // ISO 3166-1
	Continent Code // AF, AN, AS, EU, NA, OC, SA
	// Located means that the coordinates are known, in degrees.
	Located             bool
	Latitude, Longitude float32
}

// Code is a two-letter code.
type Code [2]byte

// CodeOf returns the code for two letters in any case, and the zero value for other
// texts.
func CodeOf(text string) (c Code) {
	if len(text) == 2 {
		copy(c[:], strings.ToUpper(text))
	}
	return c
}

// String returns the code as text, empty for the zero value.
func (c Code) String() string { return string(bytes.TrimRight(c[:], "\x00")) }

// String returns the place in the form "DE, EU (51.30, 9.49)", empty if unknown.
func (p Place) String() string {
	var parts []string
	for _, c := range []Code{p.Country, p.Continent} {
		if c != (Code{}) {
			parts = append(parts, c.String())
		}
	}
	text := strings.Join(parts, ", ")
	if p.Located {
		text = strings.TrimSpace(fmt.Sprintf("%s (%.2f, %.2f)", text, p.Latitude, p.Longitude))
	}
	return text
}

// Prefix is the beginning of the Key of tables.
const Prefix = "geoip/"

const (
	magic      = "sluiceGI"
	layout     = 1
	headerSize = 64
	placeSize  = 16
	range4Size = 4 + 4 // first address, place
	range6Size = 8 + 4
)

// Offsets of the header fields.
const (
	atLayout = 8
	atPlaces = 12
	atRange4 = 16
	atRange6 = 20
	atBuilt  = 24
	atDigest = 32 // 16 bytes
)

// Table looks up places. It is immutable and safe for concurrent use.
type Table struct {
	mem     []byte
	places  []byte
	v4, v6  ranges
	mapping *shm.Mapping // of mem; nil if the caller owns mem
}

// ranges holds the ranges of one IP version by the first 64 bits of their addresses.
// IPv4 addresses are the upper 32 bits, followed by zeros.
type ranges struct {
	starts, places []byte
	size           int // size of a start in bytes
}

func (r *ranges) count() int { return len(r.places) / 4 }

func (r *ranges) start(i int) uint64 {
	if r.size == 4 {
		return uint64(binary.LittleEndian.Uint32(r.starts[4*i:])) << 32
	}
	return binary.LittleEndian.Uint64(r.starts[8*i:])
}

func (r *ranges) place(i int) uint32 { return binary.LittleEndian.Uint32(r.places[4*i:]) }

// orderly reports whether ranges are ascending and their places exist.
func (r *ranges) orderly(places int) bool {
	for i := range r.count() {
		if i > 0 && r.start(i) <= r.start(i-1) || r.place(i) >= uint32(places) {
			return false
		}
	}
	return true
}

// ErrLayout means that memory is not a table of this release.
var ErrLayout = errors.New("no table of places that this release reads")

// Open returns a table that reads mem in place. It fails with ErrLayout if mem is not a
// valid table.
func Open(mem []byte) (*Table, error) {
	if len(mem) < headerSize || string(mem[:len(magic)]) != magic || binary.LittleEndian.Uint32(mem[atLayout:]) != layout {
		return nil, ErrLayout
	}
	n, n4, n6 := int(binary.LittleEndian.Uint32(mem[atPlaces:])), int(binary.LittleEndian.Uint32(mem[atRange4:])), int(binary.LittleEndian.Uint32(mem[atRange6:]))
	if n < 1 || len(mem) != headerSize+n*placeSize+n4*range4Size+n6*range6Size {
		return nil, fmt.Errorf("%w: %d bytes for %d places and %d + %d ranges", ErrLayout, len(mem), n, n4, n6)
	}
	t, rest := &Table{mem: mem}, mem[headerSize:]
	take := func(size int) (part []byte) {
		part, rest = rest[:size:size], rest[size:]
		return part
	}
	t.places = take(n * placeSize)
	t.v4 = ranges{take(n4 * 4), take(n4 * 4), 4}
	t.v6 = ranges{take(n6 * 8), take(n6 * 4), 8}
	if !t.v4.orderly(n) || !t.v6.orderly(n) {
		return nil, fmt.Errorf("%w: its ranges are out of order", ErrLayout)
	}
	return t, nil
}

// Map opens a table in sealed memory, which is unmapped when the table is garbage
// collected.
func Map(m *shm.Mapping) (*Table, error) {
	t, err := Open(m.Bytes())
	if err != nil {
		_ = m.Close()
		return nil, err
	}
	t.mapping = m
	runtime.AddCleanup(t, func(m *shm.Mapping) { _ = m.Close() }, m)
	return t, nil
}

// Key returns the name of the table's sealed memory between mgmt and the engine. It
// contains a digest, so different tables have different keys.
func (t *Table) Key() string {
	defer runtime.KeepAlive(t)
	return fmt.Sprintf("%s%x", Prefix, t.mem[atDigest:atDigest+16])
}

// Built returns the build time of the database in Unix seconds; 0 means unknown.
func (t *Table) Built() int64 {
	defer runtime.KeepAlive(t)
	return int64(binary.LittleEndian.Uint64(t.mem[atBuilt:]))
}

// Ranges returns the number of ranges of each IP version.
func (t *Table) Ranges() (v4, v6 int) { return t.v4.count(), t.v6.count() }

// Countries returns the number of different countries; located reports whether any
// place has coordinates.
func (t *Table) Countries() (n int, located bool) {
	seen := map[Code]bool{}
	for i := range len(t.places) / placeSize {
		p := t.place(uint32(i))
		seen[p.Country], located = true, located || p.Located
	}
	delete(seen, Code{})
	runtime.KeepAlive(t)
	return len(seen), located
}

func (t *Table) place(i uint32) Place {
	b := t.places[int(i)*placeSize:]
	return Place{
		Country: Code(b[:2]), Continent: Code(b[2:4]), Located: b[4] != 0,
		Latitude:  math.Float32frombits(binary.LittleEndian.Uint32(b[8:])),
		Longitude: math.Float32frombits(binary.LittleEndian.Uint32(b[12:])),
	}
}

// Find returns the place of an address and the prefix length for which it is valid:
// every address with the same first known bits has the same place.
//
// Hot path: 0 allocations.
func (t *Table) Find(a netip.Addr) (p Place, known int) {
	a = a.Unmap()
	at := uint32(0)
	switch {
	case a.Is4():
		b := a.As4()
		at, known = t.v4.find(uint64(binary.BigEndian.Uint32(b[:])) << 32)
	case a.Is6():
		b := a.As16()
		at, known = t.v6.find(binary.BigEndian.Uint64(b[:8]))
	}
	p = t.place(at)
	runtime.KeepAlive(t) // the memory is unmapped with the table
	return p, known
}

// find returns the place of the range that contains a, and the prefix length for which
// it is valid. That is one bit more than a shares with the address before the range or
// the one after it.
func (r *ranges) find(a uint64) (place uint32, known int) {
	low, behind := 0, r.count()
	for low < behind { // the first range that begins after a
		if mid := (low + behind) / 2; r.start(mid) > a {
			behind = mid
		} else {
			low = mid + 1
		}
	}
	if behind < r.count() {
		known = bits.LeadingZeros64(a^r.start(behind)) + 1
	}
	if behind == 0 {
		return 0, known
	}
	if start := r.start(behind - 1); start > 0 {
		known = max(known, bits.LeadingZeros64(a^(start-1))+1)
	}
	return r.place(behind - 1), known
}
