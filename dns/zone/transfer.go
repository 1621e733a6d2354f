package zone

import (
	"encoding/binary"

	"github.com/sluicelb/sluice/dns/wire"
)

// Cursor is how far a zone has been sent to a secondary.
type Cursor struct {
	table *Table
	zone  *Zone
	// at is the name that is next, 0 before the first SOA record, and set the position
	// of the next of its sets.
	at, end node
	set     int
	alone   bool
}

// Transfer is a cursor at the beginning of the zone of that name. A zone that is signed is
// not copied: its signatures are made as they are asked for.
func (t *Table) Transfer(name []byte) (c Cursor, is bool) {
	n := t.at(name, hashOf(name))
	if n == 0 || t.flags(n)&isApex == 0 || t.zoneOf(n).keys != nil {
		return Cursor{}, false
	}
	z := t.zoneOf(n)
	return Cursor{table: t, zone: z, end: z.end}, true
}

// Serial is that of the zone.
func (c Cursor) Serial() uint32 { return c.zone.Serial }

// SerialAlone is a cursor that sends nothing but the SOA record: the secondary has the
// zone as it is.
func (c Cursor) SerialAlone() Cursor {
	c.alone = true
	return c
}

// Current answers who asks by UDP what changed in a zone with its SOA record alone: the
// secondary has the zone as it is, or comes for it by TCP (RFC 1995 §2). It reports false
// when there is no zone of the name to copy.
func (a *Answerer) Current(t *Table, q *wire.Query, r *wire.Reply) bool {
	c, is := t.Transfer(q.Name())
	if !is {
		return false
	}
	if !r.Fits(wire.RecordSize + len(c.zone.soa)) {
		r.Truncate(q)
		return true
	}
	r.AA = true
	a.transferSOA(&asked{t: t, q: q, r: r}, &c)
	return true
}

// Transfer appends records of the zone until the message is full, and reports whether
// there are more. The first and the last is the SOA record (RFC 5936 §2.2).
func (a *Answerer) Transfer(c *Cursor, q *wire.Query, r *wire.Reply) (more bool) {
	x := asked{t: c.table, q: q, r: r, name: q.Name(), owner: wire.HeaderSize, inMessage: true}
	a.placed = maxPlaces // no addresses are added
	if c.at == 0 {
		a.transferSOA(&x, c)
		if c.alone {
			return false
		}
		c.at = c.zone.first
	}
	for c.next() {
		if !a.transferName(&x, c) {
			return true
		}
		c.at, c.set = c.at+node(c.table.size(c.at)), 0
	}
	if !r.Fits(wire.RecordSize + len(c.zone.soa)) {
		return true
	}
	a.transferSOA(&x, c)
	return false
}

// next moves the cursor to the next name of the zone, unless it is at one, and reports
// false behind the last one. Those that Update added lie behind all others.
func (c *Cursor) next() bool {
	t := c.table
	for {
		if c.at == c.end && t.edits != 0 && c.end != node(len(t.names)) {
			c.at, c.end = t.edits, node(len(t.names))
		}
		if c.at >= c.end {
			return false
		}
		if t.edits == 0 || t.current(c.at) == c.at && t.zoneOf(c.at) == c.zone {
			return true
		}
		c.at += node(t.size(c.at))
	}
}

func (a *Answerer) transferSOA(x *asked, c *Cursor) {
	putSOA(x, c.zone, c.zone.ownTTL, c.zone.soa, wire.HeaderSize, wire.HeaderSize)
	x.r.Added(wire.Answer, 1)
}

// transferName appends the sets of a name that are left, reporting whether all fitted.
func (a *Answerer) transferName(x *asked, c *Cursor) bool {
	rest := x.t.rest(c.at)
	sets, rest := int(rest[7]), rest[nodeHead:]
	for i := range sets {
		length := binary.LittleEndian.Uint32(rest[8:])
		s := set{binary.LittleEndian.Uint16(rest), binary.LittleEndian.Uint32(rest[2:]), int(binary.LittleEndian.Uint16(rest[6:])), rest[setHead : setHead+length]}
		rest = rest[setHead+length:]
		if i < c.set || s.kind == wire.TypeSOA || s.kind == wire.TypeDS && x.t.flags(c.at)&isApex != 0 {
			continue
		}
		if !a.transferSet(x, c, s) {
			return false
		}
		c.set = i + 1
	}
	return true
}

// transferSet appends a set whose owner is written out. A set longer than a message of
// its own is left out: no answer can have it either.
func (a *Answerer) transferSet(x *asked, c *Cursor, s set) bool {
	name := x.t.name(c.at)
	if s.kind == KindDYNA {
		return a.transferChosen(x, name, s)
	}
	if wholeSet(x.r, name, s) {
		return true
	}
	if !x.roomy() {
		return false
	}
	wholeSet(x.r, name, s)
	return true
}

// wholeSet appends the records of a set with their owner written out, all or none.
func wholeSet(r *wire.Reply, name []byte, s set) bool {
	mark := r.Mark()
	for {
		rec, ok := s.next()
		if !ok {
			return true
		}
		if !r.Fits(len(name) + wire.RecordSize + len(rec.data)) {
			r.Back(mark)
			return false
		}
		whole(r, wire.Answer, name, s.kind, s.ttl, rec.data)
	}
}

// roomy gives a message that is still empty all the room there may be by TCP, and reports
// whether it is empty.
func (x *asked) roomy() bool {
	empty := x.r.Count(wire.Answer) == 0
	if empty {
		x.r.Limit = wire.LargestTCP - optionsAtMost
	}
	return empty
}

// optionsAtMost is more than EDNS takes behind the records.
const optionsAtMost = 512

// whole appends a record with its owner written out.
func whole(r *wire.Reply, s wire.Section, name []byte, kind uint16, ttl uint32, data []byte) {
	r.Msg = append(r.Msg, name...)
	r.Msg = append(r.Msg, byte(kind>>8), byte(kind), 0, byte(wire.ClassIN), byte(ttl>>24), byte(ttl>>16), byte(ttl>>8), byte(ttl))
	r.Msg = binary.BigEndian.AppendUint16(r.Msg, uint16(len(data)))
	r.Msg = append(r.Msg, data...)
	r.Added(s, 1)
}

// transferChosen appends what a service would answer the secondary just now.
func (a *Answerer) transferChosen(x *asked, name []byte, of set) bool {
	rec, _ := of.next()
	service := int(binary.LittleEndian.Uint16(rec.data))
	size := 2 * MaxPicks * (len(name) + wire.RecordSize + 16)
	if !x.r.Fits(size) && !(x.roomy() && x.r.Fits(size)) {
		return false
	}
	for v, kind := range [...]uint16{wire.TypeA, wire.TypeAAAA} {
		p := &a.pick
		p.reset()
		a.Services.Choose(service, x.q, v == 1, p)
		for i := range p.Count {
			whole(x.r, wire.Answer, name, kind, min(p.TTL, of.ttl), p.Addresses[i][:4+12*v])
		}
	}
	return true
}

// size is how many bytes a node takes.
func (t *Table) size(n node) int {
	size := 1 + int(t.names[n]) + nodeHead
	rest := t.rest(n)
	sets, rest := rest[7], rest[nodeHead:]
	for ; sets > 0; sets-- {
		length := setHead + int(binary.LittleEndian.Uint32(rest[8:]))
		size, rest = size+length, rest[length:]
	}
	return size
}
