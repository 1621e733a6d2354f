package http2

import "slices"

// maxTable is the maximum dynamic table size in both directions, in bytes of RFC 7541
// section 4.1. It is the default and thus also suits encoders that do not wait for our
// SETTINGS.
const maxTable = 4096

// entryCost is the size of an entry in addition to its name and value.
const entryCost = 32

// table is a dynamic table (RFC 7541 section 2.3.2). The lines of its entries are
// concatenated in one array, which grows on demand and is compacted when its end is reached.
// Entries are not separate objects.
type table struct {
	arena   []byte
	entries []entry // oldest first
	dead    int     // leading entries already evicted
	size    uint32
	max     uint32
}

// entry is a field as a line "name: value CRLF". In lines of the encoder, the blanks around
// the value may differ.
type entry struct {
	off         uint32 // offset of the line in the arena
	hash        uint32 // hash of the line; encoder only
	line        uint16 // length of the line
	name, value uint16 // lengths of the parts
	kind        kind   // decoder only
}

func (t *table) len() int { return len(t.entries) - t.dead }

// at returns entry i, where 0 is the newest; i must be below len.
func (t *table) at(i int) *entry { return &t.entries[len(t.entries)-1-i] }

// line returns the line of an entry, valid until the next add or resize.
func (t *table) line(e *entry) []byte { return t.arena[e.off : e.off+uint32(e.line)] }

// resize sets the maximum size.
func (t *table) resize(limit uint32) {
	t.max = limit
	t.evict(0)
}

// evict makes room for size bytes.
func (t *table) evict(size uint32) {
	for t.size+size > t.max && t.len() > 0 {
		e := &t.entries[t.dead]
		t.size -= uint32(e.name) + uint32(e.value) + entryCost
		t.dead++
	}
	if t.len() == 0 {
		t.entries, t.dead, t.arena = t.entries[:0], 0, t.arena[:0]
	}
}

// add adds the newest field. line must not lie in the table and is shorter than 64 KiB if it
// fits. A field larger than the table empties it (section 4.4).
func (t *table) add(line []byte, name, value int, k kind, hash uint32) {
	size := uint32(name + value + entryCost)
	t.evict(min(size, t.max+1))
	if size > t.max {
		return
	}
	t.makeRoom(len(line))
	t.entries = append(t.entries, entry{
		off: uint32(len(t.arena)), hash: hash, line: uint16(len(line)), name: uint16(name), value: uint16(value), kind: k,
	})
	t.arena = append(t.arena, line...)
	t.size += size
}

// makeRoom makes room for n bytes and one entry. It first reclaims evicted space at the
// front, so that the arrays stay bounded.
func (t *table) makeRoom(n int) {
	if len(t.entries) == cap(t.entries) && t.dead > 0 {
		t.entries = t.entries[:copy(t.entries, t.entries[t.dead:])]
		t.dead = 0
	}
	if cap(t.arena)-len(t.arena) >= n || t.len() == 0 {
		return
	}
	live := t.entries[t.dead:]
	from := live[0].off
	t.arena = t.arena[:copy(t.arena, t.arena[from:])]
	for i := range live {
		live[i].off -= from
	}
	if used := len(t.arena); cap(t.arena)-used < n {
		t.arena = slices.Grow(t.arena, n+used/2) // half as much again, so that moves are rare
	}
}
