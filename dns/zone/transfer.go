package zone

import (
	"encoding/binary"

	"github.com/sluicelb/sluice/dns/wire"
)

// Cursor is the progress of a zone transfer to a secondary.
type Cursor struct {
	table *Table
	zone  *Zone
	// at is the next name, 0 before the first SOA record. set is the position of the next
	// set of that name.
	at, end node
	set     int
	alone   bool
}

// Transfer returns a cursor at the beginning of the zone with that name. It reports false
// for a signed zone, because signatures are made only for answers.
func (t *Table) Transfer(name []byte) (c Cursor, is bool) {
	n := t.at(name, hashOf(name))
	if n == 0 || t.flags(n)&isApex == 0 || t.zoneOf(n).keys != nil {
		return Cursor{}, false
	}
	z := t.zoneOf(n)
	return Cursor{table: t, zone: z, end: z.end}, true
}

// Serial returns the serial of the zone.
func (c Cursor) Serial() uint32 { return c.zone.Serial }

// SerialAlone returns a cursor that sends only the SOA record, for a secondary that is up
// to date.
func (c Cursor) SerialAlone() Cursor {
	c.alone = true
	return c
}

// Current answers an IXFR question over UDP with only the SOA record. A secondary that is
// not up to date then retries over TCP (RFC 1995 §2). Current reports false if no zone of
// that name can be transferred.
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
// there are more. The SOA record comes first and last (RFC 5936 §2.2).
func (a *Answerer) Transfer(c *Cursor, q *wire.Query, r *wire.Reply) (more bool) {
	x := asked{t: c.table, q: q, r: r, name: q.Name(), owner: wire.HeaderSize, inMessage: true}
	a.placed = maxPlaces // full, so that append records no names for additional
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

// next moves the cursor forward to a current name of the zone, starting at c.at, and
// reports false at the end. The names that Update added follow all others.
func (c *Cursor) next() bool {
	t := c.table
	for {
		if c.at == c.end && t.edits != 0 && c.end != node(len(t.names)) {
			c.at, c.end = t.edits, node(len(t.names))
		}
		if c.at >= c.end {
			return false
		}
		if t.edits == 0 || t.flags(c.at)&isCeded != 0 || t.current(c.at) == c.at && t.zoneOf(c.at) == c.zone {
			return true
		}
		c.at += node(t.size(c.at))
	}
}

func (a *Answerer) transferSOA(x *asked, c *Cursor) {
	putSOA(x, c.zone, c.zone.ownTTL, c.zone.soa, wire.HeaderSize, wire.HeaderSize)
	x.r.Added(wire.Answer, 1)
}

// transferName appends the remaining sets of a name and reports whether all fitted.
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

// transferSet appends a set with an uncompressed owner name. It skips a set that is too
// large for an empty message, because it is too large for any answer.
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

// wholeSet appends the records of a set with uncompressed owner names if all of them fit,
// and reports whether they did.
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

// roomy extends an empty message to the maximum size over TCP, and reports whether it is
// empty.
func (x *asked) roomy() bool {
	empty := x.r.Count(wire.Answer) == 0
	if empty {
		x.r.Limit = wire.LargestTCP - optionsAtMost
	}
	return empty
}

// optionsAtMost is an upper bound for the size of the EDNS record.
const optionsAtMost = 512

// whole appends a record with an uncompressed owner name.
func whole(r *wire.Reply, s wire.Section, name []byte, kind uint16, ttl uint32, data []byte) {
	r.Msg = append(r.Msg, name...)
	r.Msg = append(r.Msg, byte(kind>>8), byte(kind), 0, byte(wire.ClassIN), byte(ttl>>24), byte(ttl>>16), byte(ttl>>8), byte(ttl))
	r.Msg = binary.BigEndian.AppendUint16(r.Msg, uint16(len(data)))
	r.Msg = append(r.Msg, data...)
	r.Added(s, 1)
}

// transferChosen appends the addresses that a service currently chooses for the secondary.
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
		p.Copied = true
		a.Services.Choose(service, x.q, v == 1, p)
		for i := range p.Count {
			whole(x.r, wire.Answer, name, kind, min(p.TTL, of.ttl), p.Addresses[i][:4+12*v])
		}
	}
	return true
}

// size returns the number of bytes of a node.
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
