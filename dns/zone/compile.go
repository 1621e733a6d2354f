package zone

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"runtime"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
	"github.com/sluicelb/sluice/dns/wire"
)

// KindDYNA is the type of sets whose addresses a service chooses. Messages never contain
// this type (reserved, RFC 6895 §3.1).
const KindDYNA uint16 = 65535

// unboundTTL is the TTL of a KindDYNA set without a TTL of its own. The service's TTL
// applies.
const unboundTTL = math.MaxUint32

// owned is a name during compilation.
type owned struct {
	name  []byte
	sets  []*rrset
	other *owned
	zone  int32
	at    node
	flags byte
}

// cededName is a name in wire format in a child zone of a zone.
type cededName struct {
	zone int
	name string
}

type rrset struct {
	kind    uint16
	ttl     uint32
	records [][]byte
}

type compiler struct {
	farm    *farm.GSLB
	workers int // goroutines that parse records and lay names out
	zones   []Zone
	names   index    // of positions in all plus 1, see find
	all     []*owned // in order of creation, adjacent in memory
	// ceded holds the names with records of a zone that are in one of its child zones.
	ceded   map[cededName]*owned
	last    *owned // the parent that hashed found last
	fetched uint32 // only forces the memory reads in listed
	// apexes maps the apex of each zone to the zone's position.
	apexes map[string]int
	apex   [][]byte // the apexes by zone position

	// Values are allocated in slabs. A million separate allocations would keep the garbage
	// collector busy for as long as the rest of the compilation.
	lists   [][]list
	owners  slab[owned]
	sets    slab[rrset]
	setsOf  slab[*rrset]
	records slab[[]byte]
}

// slab allocates adjacent values. Each block is twice as large as the previous one, up to
// 4096 values.
type slab[T any] struct {
	free []T
	size int
}

// one returns a slice that holds only v and has no spare capacity.
func (s *slab[T]) one(v T) []T {
	if len(s.free) == 0 {
		s.size = min(max(8, 2*s.size), 4096)
		s.free = make([]T, s.size)
	}
	out := s.free[:1:1]
	s.free = s.free[1:]
	out[0] = v
	return out
}

// Compile returns the table of a farm. It uses GOMAXPROCS workers if the farm is large.
// Errors name the zone and the record.
func Compile(g *farm.GSLB) (*Table, error) { return compile(g, runtime.GOMAXPROCS(0)) }

func compile(g *farm.GSLB, workers int) (*Table, error) {
	c, err := newCompiler(g)
	if err != nil {
		return nil, err
	}
	records := 0
	for i := range g.Zones {
		records += len(g.Zones[i].Records) + len(g.Zones[i].Packed)*farm.PackedRun
	}
	c.workers, c.names, c.all = workers, newIndex(records), make([]*owned, 0, records)
	for i := range g.Zones {
		if err := c.zone(i, &g.Zones[i]); err != nil {
			return nil, fmt.Errorf("zone %q: %w", g.Zones[i].Name, err)
		}
	}
	c.delegations()
	c.parents()
	return c.table(), nil
}

// newCompiler returns a compiler that knows only the apexes of the zones.
func newCompiler(g *farm.GSLB) (*compiler, error) {
	c := &compiler{farm: g, apexes: map[string]int{}}
	for i := range g.Zones {
		apex, err := rdata.Name("@", g.Zones[i].Name)
		if err != nil {
			return nil, fmt.Errorf("zone %q: %w", g.Zones[i].Name, err)
		}
		if _, is := c.apexes[string(apex)]; is {
			return nil, fmt.Errorf("zone %q is there twice", g.Zones[i].Name)
		}
		c.apexes[string(apex)] = i
		c.apex = append(c.apex, apex)
	}
	return c, nil
}

func (c *compiler) zone(i int, z *farm.Zone) error {
	apex := c.apex[i]
	c.zones = append(c.zones, Zone{Name: z.Name, Serial: z.Serial, length: len(apex), parent: noParent})
	o := c.name(apex, i)
	o.flags |= isApex
	o.zone = int32(i)                                                         // the parent may have created it for a DS record
	if above := c.above(i); above >= 0 && c.farm.Zones[above].Signing != "" { // the zone above has the DS records
		c.name(apex[1+int(apex[0]):], above).flags |= hasBelow
	}
	c.lists = append(c.lists, make([]list, len(z.Packed)))
	if err := c.parse(i, z); err != nil {
		return err
	}
	if err := c.soa(i, z); err != nil {
		return err
	}
	return c.keys(i, z)
}

// listed adds the records of a batch to their names.
func (c *compiler) listed(i int, b *batch) error {
	if b.at < len(c.lists[i]) {
		c.lists[i][b.at] = list{b.run, b.hashes}
	}
	// The slots are far apart in memory. Reading them in a loop of their own lets the
	// processor overlap the cache misses.
	for _, h := range b.hashes {
		c.fetched += c.names.slot(mixed(h)).at
	}
	for j := range b.records {
		if err := c.record(i, b.hashes[j], &b.records[j]); err != nil {
			return b.failed(j, err)
		}
	}
	return b.err
}

// record adds one record to its name. A child zone of the farm answers for its names,
// except for the DS set at its apex. Transfers of this zone contain the records of such
// names, because a secondary may have only this zone and needs the delegation.
func (c *compiler) record(i int, hash uint32, r *parsed) error {
	switch owner := c.owner(r.name); {
	case !under(r.name, c.apex[i]):
		return errors.New("it is not in the zone")
	case owner == i:
	case r.kind != wire.TypeNS && r.kind != wire.TypeDS || !bytes.Equal(r.name, c.apex[owner]):
		c.cede(i, r)
		return nil
	default:
		c.cede(i, r)
		// The ancestors of a delegated child zone are names of this zone. A child zone
		// without a delegation adds no names here.
		if c.name(r.name[1+int(r.name[0]):], i).flags |= hasBelow; r.kind == wire.TypeNS {
			return nil
		}
	}
	c.add(c.hashed(r.name, hash, i), r.kind, r.ttl, r.data)
	return nil
}

// cede adds a record of zone i at a name in a child zone.
func (c *compiler) cede(i int, r *parsed) {
	key := cededName{i, string(r.name)}
	o := c.ceded[key]
	if o == nil {
		if c.ceded == nil {
			c.ceded = map[cededName]*owned{}
		}
		o = &c.owners.one(owned{name: r.name, zone: int32(i), flags: isCeded})[0]
		c.ceded[key] = o
	}
	c.add(o, r.kind, r.ttl, r.data)
}

// nameOf returns rdata.Name of a name in zone i. It has a fast path for names of
// lower-case letters, digits, "-" and "_", which takes a tenth of the time. The result may
// use the memory of m.
func (c *compiler) nameOf(m *memory, i int, z *farm.Zone, text string) ([]byte, error) {
	apex := c.apex[i]
	size := len(text) + 1 + len(apex)
	if size > wire.MaxName {
		return rdata.Name(text, z.Name)
	}
	name := append(m.room(size), 0)
	label := 0 // offset of the length of the label
	for k := 0; k < len(text); k++ {
		switch b := text[k]; {
		case b >= 'a' && b <= 'z' || b >= '0' && b <= '9' || b == '-' || b == '_':
			name = append(name, b)
		case b == '.' && len(name)-label-1 > 0 && len(name)-label-1 <= maxLabel:
			name[label] = byte(len(name) - label - 1)
			label = len(name)
			name = append(name, 0)
		default:
			return rdata.Name(text, z.Name)
		}
	}
	last := len(name) - label - 1
	if last == 0 || last > maxLabel { // empty, or a trailing dot
		return rdata.Name(text, z.Name)
	}
	name[label] = byte(last)
	return m.take(append(name, apex...)), nil
}

// maxLabel is the maximum length of a label (RFC 1035 §2.3.4).
const maxLabel = 63

// data returns the type, TTL and wire-format data of a record. The data may use the memory
// of m.
func (c *compiler) data(m *memory, z *farm.Zone, r *farm.Record) (kind uint16, ttl uint32, data []byte, err error) {
	ttl = uint32(r.EffectiveTTL(z))
	if r.Type == "A" { // the most frequent type; needs no canonical form
		if addr, err := netip.ParseAddr(r.Data); err == nil && addr.Is4() {
			four := addr.As4()
			return wire.TypeA, ttl, m.take(append(m.room(len(four)), four[:]...)), nil
		}
	}
	kind = rdata.Code(r.Type)
	if r.Type == farm.RecordDYNA {
		at := slices.IndexFunc(c.farm.Services, func(s farm.DNSService) bool { return s.Name == r.Data })
		if at < 0 {
			return 0, 0, nil, fmt.Errorf("there is no service %q", r.Data)
		}
		kind, data, ttl = KindDYNA, binary.LittleEndian.AppendUint16(nil, uint16(at)), unboundTTL
		if r.TTL != 0 {
			ttl = uint32(r.EffectiveTTL(z))
		}
	} else if data, err = rdata.Pack(r.Type, r.Data, z.Name); err != nil {
		return 0, 0, nil, err
	}
	if z.Signing != "" {
		data = rdata.Canonical(kind, data)
	}
	return kind, ttl, data, nil
}

// add adds a record to the sets of o. It ignores duplicates, also those that differ in the
// case of names, because secondaries keep only one of them.
func (c *compiler) add(o *owned, kind uint16, ttl uint32, data []byte) {
	for _, s := range o.sets {
		if s.kind == kind {
			s.ttl = min(s.ttl, ttl) // one TTL per set (RFC 2181 §5.2)
			if !slices.ContainsFunc(s.records, func(d []byte) bool { return rdata.Same(kind, d, data) }) {
				s.records = append(s.records, data)
			}
			return
		}
	}
	set := &c.sets.one(rrset{kind, ttl, c.records.one(data)})[0]
	if o.sets == nil {
		o.sets = c.setsOf.one(set)
	} else {
		o.sets = append(o.sets, set)
	}
}

// under reports whether name equals apex or is below it.
func under(name, apex []byte) bool {
	for at := 0; ; at += 1 + int(name[at]) {
		if bytes.Equal(name[at:], apex) {
			return true
		}
		if name[at] == 0 {
			return false
		}
	}
}

// owner returns the position of the zone that contains name: the one with the longest
// apex. It returns -1 if there is none.
func (c *compiler) owner(name []byte) int {
	if len(c.apex) == 1 {
		if under(name, c.apex[0]) {
			return 0
		}
		return -1
	}
	for at := 0; ; at += 1 + int(name[at]) {
		if i, is := c.apexes[string(name[at:])]; is {
			return i
		}
		if name[at] == 0 {
			return -1
		}
	}
}

// above returns the zone of the farm that contains the parent name of zone i's apex, or
// -1.
func (c *compiler) above(i int) int {
	apex := c.apex[i]
	if apex[0] == 0 {
		return -1
	}
	return c.owner(apex[1+int(apex[0]):])
}

// parents sets the parent of each zone. It adds the DS set of a signed zone unless the
// parent has one. Parents outside the farm learn the same data from the CDS records.
func (c *compiler) parents() {
	for i := range c.zones {
		z, o := &c.zones[i], c.lookup(c.apex[i])
		if z.parent = c.above(i); z.parent == noParent || z.keys == nil || o.has(wire.TypeDS) {
			continue
		}
		ds := &rrset{kind: wire.TypeDS, ttl: c.zones[z.parent].ownTTL}
		for _, k := range z.keys.Published {
			ds.records = append(ds.records, k.CDS)
		}
		o.sets = append(o.sets, ds)
	}
}

// lookup returns the entry of a name, or nil.
func (c *compiler) lookup(name []byte) *owned {
	if len(c.names.pages) == 0 {
		return nil
	}
	return c.find(name, hashOf(name))
}

func (c *compiler) find(name []byte, hash uint32) *owned {
	for i := mixed(hash); ; i++ {
		s := c.names.slot(i)
		if s.at == 0 {
			return nil
		}
		if s.hash == hash {
			if o := c.all[s.at-1]; bytes.Equal(o.name, name) {
				return o
			}
		}
	}
}

// name returns the entry of a name and creates it if necessary. The names between it and
// the apex also get entries (empty non-terminals, RFC 4592 §2.2.2).
func (c *compiler) name(name []byte, zone int) *owned { return c.hashed(name, hashOf(name), zone) }

// hashed is like name for a name whose hash is known.
func (c *compiler) hashed(name []byte, hash uint32, zone int) *owned {
	o := c.find(name, hash)
	if o != nil {
		return o
	}
	o = &c.owners.one(owned{name: name, zone: int32(zone)})[0]
	c.all = append(c.all, o)
	if c.names.full(1) { // empty non-terminals can make more names than records
		c.names = c.reindexed()
	} else {
		c.names.add(hash, node(len(c.all)))
	}
	if len(name) > len(c.apex[zone]) {
		above := c.last
		if up := name[1+int(name[0]):]; above == nil || !bytes.Equal(above.name, up) {
			above = c.name(up, zone)
			c.last = above
		}
		above.flags |= hasBelow
		if isWildcard(name) {
			above.flags |= hasWildcard
			above.other = o
		}
	}
	return o
}

// reindexed returns an index of all names with room for as many more.
func (c *compiler) reindexed() index {
	x := newIndex(2 * len(c.all))
	for i, o := range c.all {
		x.add(hashOf(o.name), node(i+1))
	}
	return x
}

// soa stores the SOA record of a zone and generates one if the zone has none.
func (c *compiler) soa(i int, z *farm.Zone) error {
	o := c.lookup(c.apex[i])
	at := slices.IndexFunc(o.sets, func(s *rrset) bool { return s.kind == wire.TypeSOA })
	if at < 0 {
		server := cmp.Or(z.NameServer, "@")
		data, err := rdata.Pack("SOA", fmt.Sprintf("%s hostmaster %d 3600 600 604800 300", server, z.Serial), z.Name)
		if err != nil {
			return err
		}
		if z.Signing != "" {
			data = rdata.Canonical(wire.TypeSOA, data)
		}
		at = len(o.sets)
		o.sets = append(o.sets, &rrset{wire.TypeSOA, uint32(z.EffectiveTTL()), [][]byte{data}})
	}
	s := o.sets[at]
	if len(s.records) > 1 {
		return errors.New("it has several SOA records")
	}
	data := s.records[0]
	// The zone's serial increases with every change. A record with a newer serial keeps it.
	serial := data[len(data)-20:][:4]
	if own := binary.BigEndian.Uint32(serial); z.Serial != 0 && !farm.NewerSerial(own, z.Serial) {
		binary.BigEndian.PutUint32(serial, z.Serial)
	}
	of := &c.zones[i]
	of.Serial = binary.BigEndian.Uint32(data[len(data)-20:])
	of.soa, of.ownTTL, of.soaTTL = data, s.ttl, min(s.ttl, binary.BigEndian.Uint32(data[len(data)-4:]))
	return nil
}

// delegations marks the delegated names, the names with a DNAME record, and all names
// below either.
func (c *compiler) delegations() {
	some := false
	for _, o := range c.all {
		if o.flags&isApex == 0 && o.has(wire.TypeNS) {
			o.flags |= isCut
		} else if o.has(wire.TypeDNAME) {
			o.flags |= isRedirected
		}
		some = some || o.flags&(isCut|isRedirected) != 0
	}
	if !some {
		return
	}
	for _, o := range c.all {
		if cut := c.cut(o); cut != nil && cut != o {
			o.flags |= isBelow
			o.other = cut
		}
	}
}

// cut returns the highest name of the zone, from o upwards, that is delegated or has a
// DNAME record. It returns nil if there is none.
func (c *compiler) cut(o *owned) (cut *owned) {
	for at := o; ; at = c.lookup(at.name[1+int(at.name[0]):]) {
		if at.flags&(isCut|isRedirected) != 0 {
			cut = at
		}
		if at.flags&isApex != 0 {
			return cut
		}
	}
}

func (o *owned) has(kind uint16) bool {
	return slices.ContainsFunc(o.sets, func(s *rrset) bool { return s.kind == kind })
}
