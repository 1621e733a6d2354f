package zone

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/sluicelb/sluice/dns/wire"
)

// namesOfPart is the number of names that a worker lays out at a time.
const namesOfPart = 4096

// table returns the table. The nodes of a zone are adjacent.
func (c *compiler) table() *Table {
	names := c.sorted()
	parts := slices.Collect(slices.Chunk(names, namesOfPart))
	ends := make([]int, len(parts)) // first the size of each part, then its end
	c.each(len(parts), func(k int) {
		for _, o := range parts[k] {
			ends[k] += o.size()
		}
	})
	size := nodesAt
	for k := range ends {
		size += ends[k]
		ends[k] = size
	}
	c.each(len(parts), func(k int) {
		at := ends[k]
		for _, o := range slices.Backward(parts[k]) {
			at -= o.size()
			o.at = node(at)
		}
	})
	c.bounds(names)
	t := &Table{names: make([]byte, size, size+spare(size)), zones: c.zones, lists: c.lists, arena: &arena{used: size}}
	c.each(len(parts), func(k int) {
		from := int(parts[k][0].at)
		b := t.names[from:from:ends[k]]
		for _, o := range parts[k] {
			b = c.appendNode(b, o)
		}
	})
	for i := range t.zones {
		z := &t.zones[i]
		z.apex = c.lookup(c.apex[i]).at
	}
	t.index = c.index()
	return t
}

// each calls do for 0 … n-1, using up to c.workers goroutines.
func (c *compiler) each(n int, do func(k int)) {
	var next atomic.Int64
	work := func() {
		for k := int(next.Add(1)) - 1; k < n; k = int(next.Add(1)) - 1 {
			do(k)
			runtime.Gosched() // let event loops run
		}
	}
	var running sync.WaitGroup
	for range min(c.workers, n) - 1 {
		running.Go(work)
	}
	work()
	running.Wait()
}

// sorted returns the names, with the ceded ones, sorted by zone, then by name.
func (c *compiler) sorted() []*owned {
	order := func(a, b *owned) int {
		if a.zone != b.zone {
			return int(a.zone - b.zone)
		}
		return bytes.Compare(a.name, b.name)
	}
	all := c.all
	for _, o := range c.ceded {
		all = append(all, o)
	}
	if slices.IsSortedFunc(all, order) {
		return all
	}
	return slices.SortedFunc(slices.Values(all), order)
}

// bounds sets where the names of each zone begin and end.
func (c *compiler) bounds(names []*owned) {
	for len(names) > 0 {
		zone := names[0].zone
		n := sort.Search(len(names), func(k int) bool { return names[k].zone != zone })
		last := names[n-1]
		c.zones[zone].first, c.zones[zone].end = names[0].at, last.at+node(last.size())
		names = names[n:]
	}
}

// index returns the index of the nodes. It reuses c.names if that has the right size,
// which is not so if there are far fewer names than records.
func (c *compiler) index() index {
	if slotsFor(len(c.all)) != len(c.names.pages)<<pageBits {
		x := newIndex(len(c.all))
		for _, o := range c.all {
			x.add(hashOf(o.name), o.at)
		}
		return x
	}
	x := c.names
	c.names = index{}
	c.each(len(x.pages), func(k int) {
		for i := range x.pages[k] {
			if s := &x.pages[k][i]; s.at != 0 {
				s.at = uint32(c.all[s.at-1].at)
			}
		}
	})
	return x
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

func (c *compiler) appendNode(b []byte, o *owned) []byte {
	var other node
	if o.other != nil {
		other = o.other.at
	}
	return c.appendSets(appendHead(b, o.name, o.flags, int(o.zone), other), o)
}

// nodesAt is the offset of the first node, after nameless.
const nodesAt = 2

// appendHead appends a node without its sets.
func appendHead(b, name []byte, flags byte, zone int, other node) []byte {
	b = append(b, byte(len(name)))
	b = append(append(b, name...), flags)
	b = binary.LittleEndian.AppendUint16(b, uint16(zone))
	return binary.LittleEndian.AppendUint32(b, uint32(other))
}

// appendSets appends the number of sets of a name and the sets.
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
			slices.SortFunc(s.records, bytes.Compare) // canonical order for signing (RFC 4034 §6.3)
		}
		for _, data := range s.records {
			b = c.appendRecord(b, s.kind, data, apex)
		}
		binary.LittleEndian.PutUint32(b[length:], uint32(len(b)-length-4))
	}
	return b
}

func (c *compiler) appendRecord(b []byte, kind uint16, data, apex []byte) []byte {
	name, zoneAt, target := none, none, uint32(0)
	if at := nameIn(kind); at >= 0 {
		name, zoneAt = at, wireSuffix(data[at:], apex)
		if o := c.lookup(wire.AppendLower(nil, nameOf(data[at:]))); o != nil && kind != wire.TypeCNAME && kind != wire.TypePTR && !o.isHidden() {
			target = uint32(o.at)
		}
	}
	b = binary.LittleEndian.AppendUint16(b, uint16(len(data)))
	b = append(b, byte(name), byte(zoneAt))
	b = binary.LittleEndian.AppendUint32(b, target)
	return append(b, data...)
}

// isHidden reports whether the name is below a DNAME record. Its own records are never in
// answers.
func (o *owned) isHidden() bool { return o.flags&isBelow != 0 && o.other.flags&isRedirected != 0 }

// nameOf returns the name, in wire format, at the start of data.
func nameOf(data []byte) []byte {
	end := 0
	for data[end] != 0 {
		end += 1 + int(data[end])
	}
	return data[:end+1]
}

// nameIn returns the offset in record data of a name that clients query next, or -1 for
// types without one.
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

// compressed reports whether names in the data of a type may be compressed, which only the
// types of RFC 1035 allow (RFC 3597 §4).
func compressed(kind uint16) bool { return kind <= wire.TypeMX }

// wireSuffix returns the offset in name where apex begins, or none if name is not in the
// zone.
func wireSuffix(name, apex []byte) int {
	for at := 0; name[at] != 0; at += 1 + int(name[at]) {
		if len(name)-at >= len(apex) && wire.EqualName(name[at:at+len(apex)], apex) {
			return at
		}
	}
	return none
}
