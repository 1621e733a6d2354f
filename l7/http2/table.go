package http2

import "slices"

// maxTable is the largest dynamic table in either direction, in the bytes RFC
// 7541 section 4.1 counts: the default, which also suits encoders that do not
// wait for our SETTINGS.
const maxTable = 4096

// entryCost is what an entry counts beyond its name and value.
const entryCost = 32

// table is a dynamic table (RFC 7541 section 2.3.2). The lines of its entries
// lie one behind the other in one array, which is as long as it has to be and
// moved down when its end is reached: no entry is an object of its own.
type table struct {
	arena   []byte
	entries []entry // oldest first
	dead    int     // of entries
	size    uint32
	max     uint32
}

// entry is a field as a line "name: value CRLF". The decoder writes its lines
// that way; those of the encoder may have other blanks around the value.
type entry struct {
	off         uint32 // of the line in the arena
	hash        uint32 // of the line; encoder
	line        uint16 // its length
	name, value uint16 // lengths of the parts
	kind        kind   // decoder
}

func (t *table) len() int { return len(t.entries) - t.dead }

// at gives entry i, the newest is 0; i must be below len.
func (t *table) at(i int) *entry { return &t.entries[len(t.entries)-1-i] }

// line gives the line of an entry, valid until the next add or resize.
func (t *table) line(e *entry) []byte { return t.arena[e.off : e.off+uint32(e.line)] }

// resize sets the size the table may have.
func (t *table) resize(limit uint32) {
	t.max = limit
	t.evict(0)
}

// evict makes room for size more.
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

// add puts a field in front. line, of less than 64 KiB when it fits, must not
// lie in the table. A field that is larger than the table empties it (section
// 4.4).
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

// makeRoom sees to it that n bytes and one entry can be appended without
// growing for ever: what is dead at the front gives way first.
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
		t.arena = slices.Grow(t.arena, n+used/2) // half as much again, so that moving is rare
	}
}
