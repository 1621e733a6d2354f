package zone

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/sluicelb/sluice/dns/wire"
)

// table lays the names out, those of a zone beside each other.
func (c *compiler) table() *Table {
	names := c.all
	slices.SortFunc(names, func(a, b *owned) int {
		if a.zone != b.zone {
			return a.zone - b.zone
		}
		return bytes.Compare(a.name, b.name)
	})
	size := nodesAt
	for _, o := range names {
		o.at = node(size)
		size += o.size()
	}
	for _, o := range names {
		z := &c.zones[o.zone]
		if z.first == 0 {
			z.first = o.at
		}
		z.end = o.at + node(o.size())
	}
	t := &Table{names: make([]byte, nodesAt, size+spare(size)), zones: c.zones, index: newIndex(len(names)), lists: c.lists, arena: &arena{used: size}}
	for _, o := range names {
		c.write(t, o)
		t.index.add(hashOf(o.name), o.at)
	}
	for i := range t.zones {
		z := &t.zones[i]
		z.apex = c.names[string(c.apex[i])].at
	}
	return t
}

func (o *owned) size() int {
	n := 1 + len(o.name) + nodeHead
	for _, s := range o.sets {
		n += setHead
		for _, data := range s.records {
			n += recordHead + len(data)
		}
	}
	return n
}

func (c *compiler) write(t *Table, o *owned) {
	var other node
	if o.other != nil {
		other = o.other.at
	}
	t.names = c.appendSets(appendHead(t.names, o.name, o.flags, o.zone, other), o)
}

// nodesAt is where the first node lies: behind nameless.
const nodesAt = 2

// appendHead appends a node as far as its sets.
func appendHead(b, name []byte, flags byte, zone int, other node) []byte {
	b = append(b, byte(len(name)))
	b = append(append(b, name...), flags)
	b = binary.LittleEndian.AppendUint16(b, uint16(zone))
	return binary.LittleEndian.AppendUint32(b, uint32(other))
}

// appendSets appends the number of the sets of a name, and these.
func (c *compiler) appendSets(b []byte, o *owned) []byte {
	b = append(b, byte(len(o.sets)))
	apex := c.apex[o.zone]
	for _, s := range o.sets {
		b = binary.LittleEndian.AppendUint16(b, s.kind)
		b = binary.LittleEndian.AppendUint32(b, s.ttl)
		b = binary.LittleEndian.AppendUint16(b, uint16(len(s.records)))
		length := len(b)
		b = append(b, 0, 0, 0, 0)
		if c.zones[o.zone].keys != nil {
			slices.SortFunc(s.records, bytes.Compare) // as they are signed (RFC 4034 §6.3)
		}
		for _, data := range s.records {
			b = c.appendRecord(b, s.kind, data, apex)
		}
		binary.LittleEndian.PutUint32(b[length:], uint32(len(b)-length-4))
	}
	return b
}

// appendRecord appends one record.
func (c *compiler) appendRecord(b []byte, kind uint16, data, apex []byte) []byte {
	name, zoneAt, target := none, none, uint32(0)
	if at := nameIn(kind); at >= 0 {
		name, zoneAt = at, wireSuffix(data[at:], apex)
		if o := c.names[lowered(nameOf(data[at:]))]; o != nil && kind != wire.TypeCNAME && kind != wire.TypePTR && !o.isHidden() {
			target = uint32(o.at)
		}
	}
	b = binary.LittleEndian.AppendUint16(b, uint16(len(data)))
	b = append(b, byte(name), byte(zoneAt))
	b = binary.LittleEndian.AppendUint32(b, target)
	return append(b, data...)
}

// isHidden reports whether a name is below one with a DNAME record: what it has itself is
// never answered.
func (o *owned) isHidden() bool { return o.flags&isBelow != 0 && o.other.flags&isRedirected != 0 }

// nameOf is the name data begin with.
func nameOf(data []byte) []byte {
	end := 0
	for data[end] != 0 {
		end += 1 + int(data[end])
	}
	return data[:end+1]
}

// nameIn is where data of a type have a name that clients ask for next, -1 where they have
// none. That of most types is their end.
func nameIn(kind uint16) int {
	switch kind {
	case wire.TypeNS, wire.TypeCNAME, wire.TypePTR:
		return 0
	case wire.TypeMX, wire.TypeSVCB, wire.TypeHTTPS:
		return 2
	case wire.TypeSRV:
		return 6
	}
	return -1
}

// compressed reports whether names in data of the type may be (RFC 3597 §4): those of
// the first types there were.
func compressed(kind uint16) bool { return kind <= wire.TypeMX }

// wireSuffix is where in a name that of its zone begins, none where it does not.
func wireSuffix(name, apex []byte) int {
	for at := 0; name[at] != 0; at += 1 + int(name[at]) {
		if len(name)-at >= len(apex) && wire.EqualName(name[at:at+len(apex)], apex) {
			return at
		}
	}
	return none
}

func lowered(name []byte) string { return string(wire.AppendLower(nil, name)) }
