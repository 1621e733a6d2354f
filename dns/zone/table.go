package zone

import (
	"bytes"
	"encoding/binary"

	"github.com/sluicelb/sluice/core/rdata"
	"github.com/sluicelb/sluice/dns/sign"
	"github.com/sluicelb/sluice/dns/wire"
)

// Table holds the compiled zones of a farm. It is immutable.
type Table struct {
	index index
	// names holds the nodes (see node). Offset 0 is unused; nameless is at 1.
	names []byte
	zones []Zone

	// edits is the offset in names where the nodes added by Update begin, 0 for none.
	// Replaced and removed nodes remain in names but not in the index.
	edits node
	lists [][]list // of each zone, the packed runs of records
	arena *arena
}

// Zone holds the data of a zone that answers need.
type Zone struct {
	Name   string // without a trailing dot
	Serial uint32
	apex   node
	// first and end delimit the zone's nodes.
	first, end node
	ownTTL     uint32 // of the SOA record
	length     int    // of the apex in wire format
	soa        []byte // data of the SOA record
	soaTTL     uint32 // for negative answers (RFC 2308 §5)
	keys       *sign.Keys
	parent     int // position of the parent zone in this farm, or noParent
}

const noParent = -1

// Zones returns the zones of the table.
func (t *Table) Zones() []Zone { return t.zones }

// node is the offset of a name in Table.names:
//
//	length 1, name in lower case, flags 1, zone 2, other node 4, number of sets 1, sets
type node uint32

// Flags of a node.
const (
	isCut       = 1 << iota // delegated: has NS records and is not an apex
	isBelow                 // below a delegated name or a DNAME record
	hasWildcard             // other is the node of *.name
	isApex
	isRedirected // has a DNAME record (RFC 6672)
	hasBelow     // has, or had, names below it in its zone
	isCeded      // in a child zone of the farm, which answers; only in transfers of this zone, not in the index
)

// set holds the records of one type at a name:
//
//	type 2, TTL 4, count 2, length of the records 4, records
//
// A record, whose data may end with a name:
//
//	length 2, offset of the name 1 (or none), offset of the zone in that name 1 (or none), node of the name 4, data
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

// hashStart and hashStep are the parameters of FNV-1a. Names are hashed from their end, so
// that hashing a name also yields the hashes of its ancestors.
const hashStart, hashStep = uint32(2166136261), uint32(16777619)

func hashOf(name []byte) uint32 {
	h := hashStart
	for i := len(name) - 1; i >= 0; i-- {
		h = (h ^ uint32(name[i])) * hashStep
	}
	return h
}

// at returns the node of a name with a known hash, or 0 if the table does not have it.
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

// mixed folds the upper bits of a hash into the lower ones, which select the slot.
func mixed(h uint32) uint32 { return h ^ h>>15 }

// name returns the name of n in wire format.
func (t *Table) name(n node) []byte {
	return t.names[n+1:][:t.names[n]]
}

func (t *Table) rest(n node) []byte { return t.names[uint32(n)+1+uint32(t.names[n]):] }

func (t *Table) flags(n node) byte { return t.rest(n)[0] }

func (t *Table) zoneOf(n node) *Zone { return &t.zones[binary.LittleEndian.Uint16(t.rest(n)[1:])] }

// other returns the node that n refers to: the wildcard below n, or the delegated or
// redirected name above n.
func (t *Table) other(n node) node {
	other := node(binary.LittleEndian.Uint32(t.rest(n)[3:]))
	if t.edits == 0 {
		return other
	}
	return t.current(other)
}

// current returns the node that the name of n has now, 0 for none.
func (t *Table) current(n node) node {
	name := t.name(n)
	return t.at(name, hashOf(name))
}

// targetOf returns the node of the name in a record. It returns 0 if the name is missing
// from the table or clients do not need its addresses.
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

const nodeHead = 8 // after the name

// find returns the set of one type at n.
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

// record is a record of a set.
type record struct {
	data         []byte
	name, zoneAt int // offsets in data, -1 for none
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

// found is the result of a lookup.
type found struct {
	node  node // of the name or its closest existing ancestor
	exact bool
	above int // number of labels of the name that node lacks
}

// lookup finds a name or its closest existing ancestor. starts holds the offsets of its
// labels.
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

// kindText returns the name of a record type.
func kindText(kind uint16) string {
	if kind == KindDYNA {
		return "DYNA"
	}
	return rdata.TypeText(kind)
}
