// Package geoip tells where addresses are: country, continent and coordinates, as an
// operator's database has them. mgmt makes a Table of the database (mgmt/geoip) and hands
// the engine its sealed memory; both read it in place.
//
// A table has, for each version of IP, the first address of each range in order, and which
// place the range is. Ranges of IPv6 are whole nets of 64 bits. Place 0 is none.
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

// Place is where addresses are. What is not known is zero.
type Place struct {
	Country   Code // ISO 3166-1
	Continent Code // AF, AN, AS, EU, NA, OC, SA
	// Located says that the coordinates are known, in degrees.
	Located             bool
	Latitude, Longitude float32
}

// Code is two letters.
type Code [2]byte

// CodeOf makes a code of two letters, of any case; others are none.
func CodeOf(text string) (c Code) {
	if len(text) == 2 {
		copy(c[:], strings.ToUpper(text))
	}
	return c
}

// String is the code as text, empty for none.
func (c Code) String() string { return string(bytes.TrimRight(c[:], "\x00")) }

// String says the place as people write it: "DE, EU (51.30, 9.49)"; empty for none.
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

// Prefix begins the Key of tables.
const Prefix = "geoip/"

const (
	magic      = "sluiceGI"
	layout     = 1
	headerSize = 64
	placeSize  = 16
	range4Size = 4 + 4 // first address, place
	range6Size = 8 + 4
)

// Where the header says what.
const (
	atLayout = 8
	atPlaces = 12
	atRange4 = 16
	atRange6 = 20
	atBuilt  = 24
	atDigest = 32 // 16 bytes
)

// Table finds places. Nothing of it changes; any goroutine may ask.
type Table struct {
	mem     []byte
	places  []byte
	v4, v6  ranges
	mapping *shm.Mapping // of mem, nil where it is the caller's
}

// ranges are those of one version, by the first 64 bits of addresses; IPv4 has 32, and
// zeros behind them.
type ranges struct {
	starts, places []byte
	size           int // bytes of a start
}

func (r *ranges) count() int { return len(r.places) / 4 }

func (r *ranges) start(i int) uint64 {
	if r.size == 4 {
		return uint64(binary.LittleEndian.Uint32(r.starts[4*i:])) << 32
	}
	return binary.LittleEndian.Uint64(r.starts[8*i:])
}

func (r *ranges) place(i int) uint32 { return binary.LittleEndian.Uint32(r.places[4*i:]) }

// orderly reports whether ranges follow each other, and are at places there are.
func (r *ranges) orderly(places int) bool {
	for i := range r.count() {
		if i > 0 && r.start(i) <= r.start(i-1) || r.place(i) >= uint32(places) {
			return false
		}
	}
	return true
}

// ErrLayout is for memory that is no table, or one of another release.
var ErrLayout = errors.New("no table of places that this release reads")

// Open reads a table in place. It fails with ErrLayout for what it would not find its way
// in.
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

// Map opens a table in sealed memory, which is unmapped once nobody has the table.
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

// Key is what the sealed memory of the table is called on its way from mgmt to the engine:
// a digest tells tables from each other.
func (t *Table) Key() string {
	defer runtime.KeepAlive(t)
	return fmt.Sprintf("%s%x", Prefix, t.mem[atDigest:atDigest+16])
}

// Built is when the database was made, in seconds since 1970; 0 is not known.
func (t *Table) Built() int64 {
	defer runtime.KeepAlive(t)
	return int64(binary.LittleEndian.Uint64(t.mem[atBuilt:]))
}

// Ranges is how many ranges of each version there are.
func (t *Table) Ranges() (v4, v6 int) { return t.v4.count(), t.v6.count() }

// Countries is how many different ones there are; located says that any place has
// coordinates.
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

// Find is the place of an address, and how many of its first bits tell that: every address
// that begins with them is there, too.
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
	runtime.KeepAlive(t) // the memory goes with the table
	return p, known
}

// find is the place of the range an address is in, and how many bits tell that: one more
// than it shares with the address before the range, and with the one behind.
func (r *ranges) find(a uint64) (place uint32, known int) {
	low, behind := 0, r.count()
	for low < behind { // the first range that begins behind a
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
