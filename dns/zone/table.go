package zone

import (
	"bytes"
	"encoding/binary"

	"github.com/sluicelb/sluice/core/rdata"
	"github.com/sluicelb/sluice/dns/sign"
	"github.com/sluicelb/sluice/dns/wire"
)

// Table is the zones of a farm, compiled. Nothing of it changes.
type Table struct {
	index index
	// names holds what belongs to each name (see node). Nothing is at 0, and nameless at 1.
	names []byte
	zones []Zone

	// edits is where in names the nodes of Update begin, 0 for none. Nodes that they
	// replace, or that are gone, lie in names still, but not in the index.
	edits node
	lists [][]list // of the records of each zone
	arena *arena
}

// Zone is what answers need of a zone as a whole.
type Zone struct {
	Name   string // without a dot at its end
	Serial uint32
	apex   node
	// first and end are where its names lie.
	first, end node
	ownTTL     uint32 // of its SOA record
	length     int    // of its name in messages
	soa        []byte // the data of its SOA record
	soaTTL     uint32 // of negative answers (RFC 2308 §5)
	keys       *sign.Keys
	parent     int // the zone of the farm it is delegated from, noParent when that is elsewhere
}

const noParent = -1

// Zones are those of the table.
func (t *Table) Zones() []Zone { return t.zones }

// node is where a name lies in Table.names:
//
//	length 1, name in lower case, flags 1, zone 2, other node 4, number of sets 1, sets
type node uint32

// Bits of a name.
const (
	isCut       = 1 << iota // delegated: it has NS records and is no apex
	isBelow                 // below such a name, or below one that is redirected
	hasWildcard             // the other node is *.name
	isApex
	isRedirected // names below it are others: it has a DNAME record (RFC 6672)
	hasBelow     // there are, or were, names below it in its zone
)

// set is the records of a name that have one type:
//
//	type 2, time to live 4, count 2, length of what follows 4, records
//
// and each record, whose data may end with a name:
//
//	length 2, where a name begins 1 (none), where in it the zone's 1 (none), its node 4, data
//
// The data of DYNA is the position of a service, 2 bytes.
type set struct {
	kind  uint16
	ttl   uint32
	count int
	list  []byte
}

const (
	none       = 255
	setHead    = 12
	recordHead = 8
)

// hash is that of a name, from its end on: those of the names above it come up on
// the way.
const hashStart, hashStep = uint32(2166136261), uint32(16777619)

func hashOf(name []byte) uint32 {
	h := hashStart
	for i := len(name) - 1; i >= 0; i-- {
		h = (h ^ uint32(name[i])) * hashStep
	}
	return h
}

// at finds a name whose hash is known, 0 when it is not in the table.
func (t *Table) at(name []byte, hash uint32) node {
	for i := mixed(hash); ; i++ {
		s := t.index.slot(i)
		if s.at == 0 {
			return 0
		}
		if s.hash == hash && bytes.Equal(t.name(node(s.at)), name) {
			return node(s.at)
		}
	}
}

// mixed spreads what is in the upper bits of a hash.
func mixed(h uint32) uint32 { return h ^ h>>15 }

// name is that of a node.
func (t *Table) name(n node) []byte {
	return t.names[n+1:][:t.names[n]]
}

func (t *Table) rest(n node) []byte { return t.names[uint32(n)+1+uint32(t.names[n]):] }

func (t *Table) flags(n node) byte { return t.rest(n)[0] }

func (t *Table) zoneOf(n node) *Zone { return &t.zones[binary.LittleEndian.Uint16(t.rest(n)[1:])] }

// other is the node a name refers to: of a name with a wildcard that, of one that is
// delegated, or below it, the delegated one.
func (t *Table) other(n node) node {
	other := node(binary.LittleEndian.Uint32(t.rest(n)[3:]))
	if t.edits == 0 {
		return other
	}
	return t.current(other)
}

// current returns the node that a name has now, 0 for none.
func (t *Table) current(n node) node {
	name := t.name(n)
	return t.at(name, hashOf(name))
}

// targetOf returns the node of the name in a record of a set, 0 where there is none, or
// where clients find it without being told its addresses.
func (t *Table) targetOf(kind uint16, r *record) node {
	if t.edits == 0 {
		return r.target
	}
	if r.name < 0 || kind == wire.TypeCNAME || kind == wire.TypePTR {
		return 0
	}
	var space [wire.MaxName]byte
	name := wire.AppendLower(space[:0], nameOf(r.data[r.name:]))
	n := t.at(name, hashOf(name))
	if n == 0 || t.flags(n)&isBelow != 0 && t.flags(t.other(n))&isRedirected != 0 {
		return 0
	}
	return n
}

const nodeHead = 8 // behind the name

// find is the set of one type, or of CNAME where there is none and a type is asked
// for that follows it.
func (t *Table) find(n node, kind uint16) (s set, ok bool) {
	rest := t.rest(n)
	sets, rest := rest[7], rest[nodeHead:]
	for ; sets > 0; sets-- {
		length := binary.LittleEndian.Uint32(rest[8:])
		if binary.LittleEndian.Uint16(rest) == kind {
			return set{kind, binary.LittleEndian.Uint32(rest[2:]), int(binary.LittleEndian.Uint16(rest[6:])), rest[setHead : setHead+length]}, true
		}
		rest = rest[setHead+length:]
	}
	return set{}, false
}

// record is one of a set.
type record struct {
	data         []byte
	name, zoneAt int // none: -1
	target       node
}

func (s *set) next() (r record, ok bool) {
	if len(s.list) == 0 {
		return record{}, false
	}
	n := int(binary.LittleEndian.Uint16(s.list))
	r = record{data: s.list[recordHead : recordHead+n], name: -1, zoneAt: -1, target: node(binary.LittleEndian.Uint32(s.list[4:]))}
	if at := s.list[2]; at != none {
		r.name = int(at)
	}
	if at := s.list[3]; at != none {
		r.zoneAt = int(at)
	}
	s.list = s.list[recordHead+n:]
	return r, true
}

// found is what a table knows of a name.
type found struct {
	node  node // of the name, or the closest one above it
	exact bool
	above int // how many labels of the name are not in the node's
}

// lookup finds a name: the labels begin in it where starts says.
func (t *Table) lookup(name []byte, starts *[wire.MaxLabels + 1]uint8, labels int) (f found) {
	var hashes [wire.MaxLabels + 1]uint32
	h, i := hashStart, len(name)-1
	for l := labels; l >= 0; l-- {
		for ; i >= int(starts[l]); i-- {
			h = (h ^ uint32(name[i])) * hashStep
		}
		hashes[l] = h
	}
	for l := 0; l <= labels; l++ {
		if n := t.at(name[starts[l]:], hashes[l]); n != 0 {
			return found{n, l == 0, l}
		}
	}
	return found{}
}

// kindText is what a type is called.
func kindText(kind uint16) string {
	if kind == KindDYNA {
		return "DYNA"
	}
	return rdata.TypeText(kind)
}
