package zone

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"unsafe"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
	"github.com/sluicelb/sluice/dns/wire"
)

// arena is the memory for names that a table shares with the tables that Update made from
// it.
type arena struct{ used int }

// spare returns the number of extra bytes to allocate for later nodes if the nodes take
// size bytes. The kernel provides physical memory only on first use.
func spare(size int) int { return min(64<<10+size/8, 1<<32-1-size) }

// changed is a name that Update changes.
type changed struct {
	name   []byte
	zone   int
	before node // in the previous table, 0 for none
	now    node
	flags  byte
	other  node
	to     *changed // its node becomes other; nil keeps other
	sets   []byte   // encoded, including their number
	count  int      // of names below it, see count
	gone   bool
}

// update is the state of Table.Update.
type update struct {
	*compiler
	before   *Table
	names    map[string]*changed
	again    []map[string]bool // changed names by zone
	below    []bool            // whether the farm has a zone below this one
	memory   memory
	unpacked []farm.Record
}

// Update returns the table of now; was is the farm that t was compiled from. The new table
// shares everything but the changed names with t, and t does not change. Update returns
// nil if Compile is needed: too much changed, the memory is full, or the edit affects
// names that it does not list.
//
// The new table gives the same answers as one made by Compile. Names in records are looked
// up by each answer, which takes slightly longer.
func (t *Table) Update(was, now *farm.GSLB) *Table {
	if !sameFrame(was, now) || t.arena == nil || t.arena.used != len(t.names) {
		return nil
	}
	c, err := newCompiler(now)
	if err != nil {
		return nil
	}
	c.zones = slices.Clone(t.zones)
	u := &update{compiler: c, before: t, names: map[string]*changed{}, again: make([]map[string]bool, len(now.Zones)), below: make([]bool, len(now.Zones))}
	for i := range now.Zones {
		if above := u.above(i); above >= 0 {
			u.below[above] = true
		}
		var ok bool
		if u.again[i], ok = changedNames(&was.Zones[i], &now.Zones[i]); !ok {
			return nil
		}
		if !u.takes(i) || (len(u.again[i]) > 0 || was.Zones[i].Serial != now.Zones[i].Serial) && !u.serial(i, was.Zones[i].Serial, now.Zones[i].Serial) {
			return nil
		}
	}
	if !u.records() || !u.removals() || !u.marks() {
		return nil
	}
	return u.table()
}

// takes adds the changed names of zone i to u.names. It reports false if Update cannot
// handle one: the apex, a name outside the zone, or a name of a zone below.
func (u *update) takes(i int) bool {
	for name := range u.again[i] {
		if name := []byte(name); !under(name, u.apex[i]) || u.owner(name) != i || len(name) == len(u.apex[i]) {
			return false
		}
		u.change([]byte(name), i).sets = nil
	}
	return len(u.names) <= maxChanged
}

// change returns the entry of a name. A new entry starts as a copy of the node in the
// previous table, or without sets.
func (u *update) change(name []byte, zone int) *changed {
	m := u.names[string(name)]
	if m == nil {
		m = &changed{name: name, zone: zone, sets: []byte{0}}
		if m.before = u.before.at(name, hashOf(name)); m.before != 0 {
			rest := u.before.rest(m.before)
			head := 1 + len(name) + nodeHead - 1
			m.flags, m.sets = rest[0], u.before.names[int(m.before)+head:][:u.before.size(m.before)-head]
		}
		u.names[string(name)] = m
	}
	return m
}

// serial sets the serial of zone i. It reports false if the serial becomes an older one,
// because the serial in the table may come from an SOA record that the user wrote.
func (u *update) serial(i int, was, now uint32) bool {
	z := &u.zones[i]
	at := len(z.soa) - 20
	if farm.NewerSerial(was, now) {
		return false
	}
	if farm.NewerSerial(now, z.Serial) {
		z.Serial = now
	}
	z.soa = bytes.Clone(z.soa)
	binary.BigEndian.PutUint32(z.soa[at:], z.Serial)
	apex := u.change(u.apex[i], i)
	if apex.before == 0 {
		return false
	}
	apex.sets = bytes.Clone(apex.sets)
	for n, rest := apex.sets[0], apex.sets[1:]; n > 0; n-- {
		length := binary.LittleEndian.Uint32(rest[8:])
		if binary.LittleEndian.Uint16(rest) == wire.TypeSOA {
			copy(rest[setHead+recordHead:], z.soa)
			return true
		}
		rest = rest[setHead+length:]
	}
	return false
}

// records sets the new sets of the changed names, zone by zone, and creates missing names
// above them.
func (u *update) records() bool {
	u.lists = slices.Clone(u.before.lists)
	for i := range u.farm.Zones {
		if len(u.again[i]) == 0 {
			continue
		}
		found, ok := u.find(i, &u.farm.Zones[i])
		if !ok {
			return false
		}
		for name := range u.again[i] {
			o, m := found[name], u.names[name]
			if m.sets = []byte{0}; o != nil {
				o.zone = int32(i)
				m.sets = u.appendSets(nil, o)
			}
		}
		for name := range u.again[i] {
			if m := u.names[name]; m.sets[0] > 0 && m.before == 0 {
				u.link(m)
			}
		}
	}
	return true
}

// find collects the records of the changed names of a zone.
func (u *update) find(i int, z *farm.Zone) (found map[string]*owned, ok bool) {
	hashes := make(map[uint32]bool, len(u.again[i]))
	for name := range u.again[i] {
		hashes[hashOf([]byte(name))] = true
	}
	found = make(map[string]*owned, len(u.again[i]))
	take := func(r *farm.Record) bool {
		name, err := rdata.Name(r.Name, z.Name)
		if err != nil || !u.again[i][string(name)] {
			return err == nil
		}
		kind, ttl, data, err := u.data(&u.memory, z, r)
		if err != nil {
			return false
		}
		o := found[string(name)]
		if o == nil {
			o = &owned{name: name, zone: int32(i)}
			found[string(name)] = o
		}
		u.add(o, kind, ttl, data)
		return true
	}
	for j := range z.Records {
		if !take(&z.Records[j]) {
			return nil, false
		}
	}
	known := make(map[*byte][]uint32, len(u.before.lists[i])) // by address, as comparing the texts would be slow
	for _, l := range u.before.lists[i] {
		known[unsafe.StringData(l.run)] = l.hashes
	}
	lists := make([]list, len(z.Packed))
	for n, run := range z.Packed {
		l := list{run, known[unsafe.StringData(run)]}
		if l.hashes == nil {
			if l.hashes, ok = u.hashesOf(i, z, run); !ok {
				return nil, false
			}
		}
		lists[n] = l
		if !anyOf(hashes, l.hashes) {
			continue
		}
		u.unpacked, _ = farm.Unpack(u.unpacked[:0], run)
		for j := range u.unpacked {
			if hashes[l.hashes[j]] && !take(&u.unpacked[j]) {
				return nil, false
			}
		}
	}
	u.lists[i] = lists
	return found, true
}

// hashesOf returns the hashes of the names in a packed run.
func (c *compiler) hashesOf(i int, z *farm.Zone, run string) (hashes []uint32, ok bool) {
	list, _ := farm.Unpack(nil, run)
	m := &memory{}
	hashes = make([]uint32, len(list))
	for k := range list {
		name, err := c.nameOf(m, i, z, list[k].Name)
		if err != nil {
			return nil, false
		}
		hashes[k] = hashOf(name)
	}
	return hashes, true
}

func anyOf(set map[uint32]bool, hashes []uint32) bool {
	if len(set) == 1 {
		for h := range set {
			return slices.Contains(hashes, h)
		}
	}
	return slices.ContainsFunc(hashes, func(h uint32) bool { return set[h] })
}

// link creates the missing names above a new name and sets hasBelow or hasWildcard of its
// parent.
func (u *update) link(m *changed) {
	name := m.name[1+int(m.name[0]):]
	flags := byte(hasBelow)
	if isWildcard(m.name) {
		flags |= hasWildcard
	}
	above := u.names[string(name)]
	if above == nil {
		if n := u.before.at(name, hashOf(name)); n != 0 && u.before.flags(n)&flags == flags {
			return
		}
		above = u.change(name, m.zone)
	}
	above.flags |= flags
	if isWildcard(m.name) {
		above.to = m
	}
	if above.before == 0 {
		u.link(above)
	}
}

func isWildcard(name []byte) bool { return name[0] == 1 && name[1] == '*' }

// removals marks the names left without records and without names below them. It reports
// false if that cannot be decided because another zone of the farm is below.
func (u *update) removals() bool {
	var empty []*changed
	for i := range u.again {
		for name := range u.again[i] {
			if m := u.names[name]; m.sets[0] == 0 {
				empty = append(empty, m)
			}
		}
	}
	if len(empty) == 0 {
		return true
	}
	// Ancestors without records are also gone if their last child is.
	above := map[string]*changed{}
	scan := false
	for _, m := range empty {
		for {
			above[string(m.name)] = m
			scan = scan || m.before != 0 && u.before.flags(m.before)&hasBelow != 0
			name := m.name[1+int(m.name[0]):]
			if u.names[string(name)] == nil {
				n := u.before.at(name, hashOf(name))
				if n == 0 {
					break
				}
				if isWildcard(m.name) { // the parent may lose its wildcard
					u.change(name, m.zone)
				} else if rest := u.before.rest(n); rest[nodeHead-1] > 0 || rest[0]&isApex != 0 {
					break
				}
			}
			up := u.change(name, m.zone)
			if up.sets[0] > 0 || up.flags&isApex != 0 {
				break
			}
			m = up
		}
	}
	if scan {
		for _, m := range above {
			if u.below[m.zone] {
				return false // names of zones below keep their ancestors in existence
			}
		}
		u.count(above)
	}
	for _, m := range u.names {
		if m.before == 0 {
			if p := above[string(m.name[1+int(m.name[0]):])]; p != nil {
				p.count++
			}
		}
	}
	// Longest names first, because a removed name may also remove its parent.
	list := make([]*changed, 0, len(above))
	for _, m := range above {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b *changed) int { return cmp.Compare(len(b.name), len(a.name)) })
	for _, m := range list {
		if m.count > 0 {
			m.flags |= hasBelow
			continue
		}
		m.gone = true
		name := m.name[1+int(m.name[0]):]
		if p := above[string(name)]; p != nil {
			p.count--
		}
		if p := u.names[string(name)]; p != nil && isWildcard(m.name) {
			p.flags &^= hasWildcard
			p.to = nil
		}
	}
	return true
}

// count counts the children that each name of above has in the previous table.
func (u *update) count(above map[string]*changed) {
	t := u.before
	for n := node(nodesAt); n < node(len(t.names)); n += node(t.size(n)) {
		name := t.name(n)
		if name[0] == 0 {
			continue
		}
		if m := above[string(name[1+int(name[0]):])]; m != nil && t.at(name, hashOf(name)) == n && int(binary.LittleEndian.Uint16(t.rest(n)[1:])) == m.zone {
			m.count++
		}
	}
}

// marks completes the flags and other nodes of the changed names. It reports false if a
// name with names below it gains or loses a delegation or DNAME record.
func (u *update) marks() bool {
	const structure = isCut | isRedirected
	for _, m := range u.names {
		if m.gone {
			continue
		}
		was := m.flags
		if u.again[m.zone][string(m.name)] {
			m.flags &^= structure
			if has(m.sets, wire.TypeNS) {
				m.flags |= isCut
			} else if has(m.sets, wire.TypeDNAME) {
				m.flags |= isRedirected
			}
		}
		if m.before != 0 && u.before.flags(m.before)&hasBelow != 0 && (was^m.flags)&structure != 0 {
			return false
		}
	}
	for _, m := range u.names {
		if m.gone {
			continue
		}
		m.flags &^= isBelow
		if m.flags&hasWildcard != 0 && m.to == nil {
			m.refer(u, append([]byte("\x01*"), m.name...))
		}
		if cut := u.cutOf(m); cut != nil {
			m.flags |= isBelow
			m.refer(u, cut)
		}
	}
	return true
}

// refer sets the node that m refers to.
func (m *changed) refer(u *update, name []byte) {
	if m.to = u.names[string(name)]; m.to == nil {
		m.other = u.before.at(name, hashOf(name))
	}
}

// cutOf returns the highest name of the zone above m that is delegated or has a DNAME
// record, or nil.
func (u *update) cutOf(m *changed) (cut []byte) {
	for name := m.name; len(name) > len(u.apex[m.zone]); {
		name = name[1+int(name[0]):]
		var flags byte
		if above := u.names[string(name)]; above != nil {
			flags = above.flags
		} else if n := u.before.at(name, hashOf(name)); n != 0 {
			flags = u.before.flags(n)
		}
		if flags&(isCut|isRedirected) != 0 {
			cut = name
		}
	}
	return cut
}

// has reports whether encoded sets include one of the type.
func has(sets []byte, kind uint16) bool {
	for n, rest := sets[0], sets[1:]; n > 0; n-- {
		if binary.LittleEndian.Uint16(rest) == kind {
			return true
		}
		rest = rest[setHead+binary.LittleEndian.Uint32(rest[8:]):]
	}
	return false
}

// table appends the nodes of the changed names and returns the new table, or nil if the
// memory or the index is full.
func (u *update) table() *Table {
	t, size := u.before, len(u.before.names)
	list := make([]*changed, 0, len(u.names))
	for _, m := range u.names {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b *changed) int { return bytes.Compare(a.name, b.name) })
	for _, m := range list {
		if !m.gone {
			m.now = node(size)
			size += 1 + len(m.name) + nodeHead - 1 + len(m.sets)
		}
	}
	if size > cap(t.names) || t.index.full(len(list)) {
		return nil
	}
	next, index := *t, t.index.edit()
	next.zones, next.lists = u.zones, u.lists
	if next.edits == 0 {
		next.edits = node(len(t.names))
	}
	for _, m := range list {
		h := hashOf(m.name)
		switch {
		case m.gone && m.before != 0:
			index.put(h, m.before, nameless)
		case !m.gone:
			if m.to != nil {
				m.other = m.to.now
			}
			next.names = append(appendHead(next.names, m.name, m.flags, m.zone, m.other), m.sets...)
			index.put(h, m.before, m.now)
		}
		if m.flags&isApex != 0 {
			next.zones[m.zone].apex = m.now
		}
	}
	next.index, next.arena.used = index.index, len(next.names)
	return &next
}
