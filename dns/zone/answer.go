package zone

import (
	"bytes"
	"encoding/binary"

	"github.com/sluicelb/sluice/dns/sign"
	"github.com/sluicelb/sluice/dns/wire"
)

// Services choose the addresses that an answer contains.
type Services interface {
	// Choose writes the addresses of one family for the client of q into p. service is a
	// position in the services of the farm; v6 selects IPv6.
	Choose(service int, q *wire.Query, v6 bool, p *Pick)
}

// MaxPicks is the maximum number of addresses in an answer.
const MaxPicks = 64

// Pick holds the addresses that a service chose.
type Pick struct {
	Addresses [MaxPicks][16]byte // an IPv4 address has the first four bytes
	Count     int
	TTL       uint32
	// Scope is the number of bits of the client's subnet that the choice depends on.
	Scope uint8
	// Fail requests SERVFAIL because no backend is usable.
	Fail bool
	// Unknown means that there are no addresses because no probe has a result yet.
	Unknown bool
	// Copied is set if a secondary keeps the addresses. Services then choose from all
	// backends instead of returning Fail or Unknown, because the secondary would answer
	// that the name does not exist.
	Copied bool
}

func (p *Pick) reset() {
	p.Count, p.TTL, p.Scope, p.Fail, p.Unknown, p.Copied = 0, 0, 0, false, false, false
}

// maxChain is the maximum number of names that an answer visits through CNAMEs.
const maxChain = 8

// Step is one step of an answer, for the explanation of the answer (see Answerer.Trail).
type Step struct {
	Zone    string
	Name    []byte // the name in the table, *.… for a wildcard
	Type    string // of the record set
	Service int    // position of the service, -1 for none
}

// Answerer answers questions from one table at a time. It belongs to one event loop.
type Answerer struct {
	Services Services
	// Trail is called for each step of an answer unless it is nil.
	Trail func(Step)
	// Signer signs records of signed zones if the client sets the DO bit.
	Signer sign.Signer

	pick   Pick
	sorted [MaxPicks][16]byte // pick.Addresses, sorted
	data   []byte             // of a generated record
	zone   []byte             // apex of the zone that answered last
	source source
	places [maxPlaces]place // names in the answer that additional looks up
	placed int
	chain  [maxChain][wire.MaxName]byte // names that CNAMEs led to
	been   [maxChain][]byte             // names visited by the current answer
	starts [wire.MaxLabels + 1]uint8
}

// source is the name and type of the record set that gave an answer. If the set does not
// exist, kind is 0, and name is that of the zone if no set has the name either.
type source struct {
	name []byte
	kind uint16
}

// maxPlaces bounds Answerer.places. The records of that many names fit into the first 16
// KiB of a message, so compression pointers can reach the names (RFC 1035 §4.1.4).
const maxPlaces = 32

// place is the offset of a name in a message and the node of the name.
type place struct {
	at     int
	target node
}

// asked is the state of a question: the name looked up now, and the offsets of that name
// and its zone in the message.
type asked struct {
	t    *Table
	q    *wire.Query
	r    *wire.Reply
	name []byte
	// owner is the offset of the name in the message. inMessage reports whether the name
	// there is uncompressed, so that its zone's name is a suffix of it.
	owner     int
	inMessage bool
	// synthesized reports whether the name itself does not exist in the zone.
	synthesized bool
	// depth is the number of CNAMEs followed so far.
	depth int
	// cut is the delegated name of a referral, 0 for none.
	cut node
}

// Answer answers a question of class IN. It reports false if no zone of the table contains
// the name.
func (a *Answerer) Answer(t *Table, q *wire.Query, r *wire.Reply) bool {
	for i := 0; i <= q.Labels(); i++ {
		a.starts[i] = uint8(q.Label(i))
	}
	f := t.lookup(q.Name(), &a.starts, q.Labels())
	if f.node == 0 {
		return false
	}
	a.placed, a.source = 0, source{}
	x := asked{t: t, q: q, r: r, name: q.Name(), owner: wire.HeaderSize, inMessage: true}
	var first source
	for x.depth = range maxChain {
		a.been[x.depth] = x.name
		next, labels := a.step(&x, f)
		if x.depth == 0 {
			first = a.source
		}
		if next == nil || a.wasAt(next, x.depth) {
			break
		}
		if f = t.lookup(next, &a.starts, labels); f.node == 0 {
			break // outside the farm's zones
		}
		x.name = next
	}
	if a.source = first; r.NoName {
		a.source = source{name: a.zone}
	}
	if !r.TC {
		a.additional(&x)
	}
	return true
}

// Source returns the name and type of the record set that gave the last answer, e.g. of the
// wildcard or of the delegation. For a name that does not exist it returns the name of the
// zone and 0, for a type that does not exist the name and 0.
func (a *Answerer) Source() (name []byte, kind uint16) { return a.source.name, a.source.kind }

// wasAt reports whether the answer already visited name. A CNAME to such a name is a loop,
// and its records must not be added twice.
func (a *Answerer) wasAt(name []byte, depth int) bool {
	for _, been := range a.been[:depth+1] {
		if bytes.Equal(been, name) {
			return true
		}
	}
	return false
}

// Zone returns the apex of the zone that gave the last answer, in wire format.
func (a *Answerer) Zone() []byte { return a.zone }

// step answers for one name. It returns the next name to visit, or nil if the answer is
// complete.
func (a *Answerer) step(x *asked, f found) (next []byte, labels int) {
	t, n := x.t, f.node
	flags := t.flags(n)
	x.synthesized = false
	a.zone = t.name(t.zoneOf(n).apex)
	if flags&isBelow != 0 {
		above := t.other(n)
		if t.flags(above)&isRedirected != 0 {
			return a.redirect(x, above)
		}
		a.refer(x, above)
		return nil, 0
	}
	if flags&isRedirected != 0 && !f.exact {
		return a.redirect(x, n)
	}
	if flags&isCut != 0 && (!f.exact || x.q.Type != wire.TypeDS) {
		a.refer(x, n)
		return nil, 0
	}
	x.r.AA = x.r.AA || x.owner == wire.HeaderSize
	x.synthesized = !f.exact
	if flags&isApex != 0 && f.exact && x.q.Type == wire.TypeDS && t.zoneOf(n).parent != noParent {
		a.source = source{t.name(n), wire.TypeDS}
		a.signer(x, n)
		return nil, 0
	}
	if !f.exact {
		if flags&hasWildcard == 0 {
			a.missing(x, n)
			return nil, 0
		}
		n = t.other(n)
	}
	return a.fromNode(x, n)
}

// fromNode answers with the record sets of n.
func (a *Answerer) fromNode(x *asked, n node) (next []byte, labels int) {
	kind := x.q.Type
	a.source = source{name: x.t.name(n)}
	switch kind {
	case wire.TypeANY:
		a.source.kind = wire.TypeANY
		if s, ok := x.t.find(n, wire.TypeCNAME); ok { // RFC 8482 §4.2
			a.tell(x, n, wire.TypeCNAME, -1)
			a.put(x, wire.Answer, s, x.t.zoneOf(n), x.name)
			return nil, 0
		}
		a.any(x, x.t.zoneOf(n))
		return nil, 0
	case wire.TypeRRSIG, wire.TypeNSEC:
		a.source.kind = kind
		a.proof(x, n)
		return nil, 0
	case wire.TypeA, wire.TypeAAAA:
		if s, ok := x.t.find(n, KindDYNA); ok {
			a.source.kind = kind
			a.dynamic(x, n, s)
			return nil, 0
		}
	}
	if s, ok := x.t.find(n, kind); ok && kind != KindDYNA { // KindDYNA is internal
		a.source.kind = kind
		a.tell(x, n, kind, -1)
		a.put(x, wire.Answer, s, x.t.zoneOf(n), x.name)
		return nil, 0
	}
	s, ok := x.t.find(n, wire.TypeCNAME)
	if !ok {
		a.negative(x, n)
		return nil, 0
	}
	a.source.kind = wire.TypeCNAME
	a.tell(x, n, wire.TypeCNAME, -1)
	at := len(x.r.Msg) + wire.RecordSize
	data := s.list[recordHead:]
	if !a.put(x, wire.Answer, s, x.t.zoneOf(n), x.name) {
		return nil, 0
	}
	return a.goOn(x, at, data[:binary.LittleEndian.Uint16(s.list)])
}

// goOn makes the target of a CNAME record the current name. at is the offset of target in
// the message.
func (a *Answerer) goOn(x *asked, at int, target []byte) (next []byte, labels int) {
	x.owner, x.inMessage = at, false
	name := wire.AppendLower(a.chain[x.depth][:0], target)
	for i := 0; ; i += 1 + int(name[i]) {
		a.starts[labels] = uint8(i)
		if name[i] == 0 {
			return name, labels
		}
		labels++
	}
}

// tell reports a step to Trail.
func (a *Answerer) tell(x *asked, n node, kind uint16, service int) {
	if a.Trail != nil {
		a.Trail(Step{Zone: x.t.zoneOf(n).Name, Name: x.t.name(n), Type: kindText(kind), Service: service})
	}
}

// put appends a set to a section. It also appends its signatures for owner, unless owner
// is nil. If they do not fit, it truncates the message and reports false.
func (a *Answerer) put(x *asked, s wire.Section, of set, z *Zone, owner []byte) bool {
	if !a.append(x, s, of, z) || owner != nil && x.signs(z) && !a.signSet(x, s, of, z, owner, x.purpose()) {
		x.r.Truncate(x.q)
		return false
	}
	return true
}

// append appends the records of a set if all of them fit, and reports whether they did.
func (a *Answerer) append(x *asked, s wire.Section, of set, z *Zone) bool {
	mark, zoneAt := x.r.Mark(), x.zoneAt(z)
	for {
		rec, ok := of.next()
		if !ok {
			return true
		}
		if !x.r.Fits(wire.RecordSize + len(rec.data)) {
			x.r.Back(mark)
			return false
		}
		at := len(x.r.Msg) + wire.RecordSize
		switch {
		case of.kind == wire.TypeSOA:
			putSOA(x, z, of.ttl, rec.data, uint16(x.owner), zoneAt)
		case rec.zoneAt >= 0 && zoneAt != 0 && compressed(of.kind):
			keep := rec.name + rec.zoneAt
			x.r.Record(uint16(x.owner), of.kind, of.ttl, keep+2)
			x.r.Msg = append(append(x.r.Msg, rec.data[:keep]...), byte(zoneAt>>8)|0xc0, byte(zoneAt))
		default:
			x.r.Record(uint16(x.owner), of.kind, of.ttl, len(rec.data))
			x.r.Msg = append(x.r.Msg, rec.data...)
		}
		x.r.Added(s, 1)
		if a.placed < maxPlaces {
			if target := x.t.targetOf(of.kind, &rec); target != 0 {
				a.places[a.placed] = place{at + rec.name, target}
				a.placed++
			}
		}
	}
}

// zoneAt returns the offset of the zone's name at the end of the question name, or 0 if
// the question is not in the zone.
func (x *asked) zoneAt(z *Zone) int {
	if x.q.Labels() == 0 || len(x.q.Name()) < z.length || string(x.q.Name()[len(x.q.Name())-z.length:]) != string(x.t.name(z.apex)) {
		return 0
	}
	return wire.HeaderSize + len(x.q.Name()) - z.length
}

// putSOA appends an SOA record. It compresses both names in its data if they end with the
// name of the zone.
func putSOA(x *asked, z *Zone, ttl uint32, data []byte, owner uint16, zoneAt int) {
	x.r.Record(owner, wire.TypeSOA, ttl, 0)
	begin := len(x.r.Msg)
	rest := data
	for range 2 {
		end := 0
		for rest[end] != 0 {
			end += 1 + int(rest[end])
		}
		if keep := wireSuffix(rest[:end+1], x.t.name(z.apex)); keep != none && zoneAt != 0 {
			x.r.Msg = append(append(x.r.Msg, rest[:keep]...), byte(zoneAt>>8)|0xc0, byte(zoneAt))
		} else {
			x.r.Msg = append(x.r.Msg, rest[:end+1]...)
		}
		rest = rest[end+1:]
	}
	x.r.Msg = append(x.r.Msg, rest...)
	binary.BigEndian.PutUint16(x.r.Msg[begin-2:], uint16(len(x.r.Msg)-begin))
}

// negative answers NODATA: the name has no records of the type. The TTL is that of the
// zone's SOA record (RFC 2308).
func (a *Answerer) negative(x *asked, n node) {
	z := a.nothing(x, n)
	a.soa(x, z, z.soaTTL)
	if x.signs(z) && !x.r.TC {
		a.deny(x, wire.Authority, z, x.name, x.owner, x.existing(n), z.soaTTL)
	}
}

// missing answers that the name does not exist; n is its closest existing ancestor. A
// validating client gets an NXNAME record (RFC 9824 §3.2), and NXDOMAIN only if it sets
// the CO flag (§5.1).
func (a *Answerer) missing(x *asked, n node) {
	z := a.nothing(x, n)
	x.r.NoName = true
	if x.signs(z) && x.q.Type == wire.TypeNSEC {
		// The NSEC record is the answer: BIND rejects a denial whose only record is of the
		// requested type.
		a.deny(x, wire.Answer, z, x.name, x.owner, nowhere, z.soaTTL)
		return
	}
	if !x.signs(z) || x.q.CompactOK {
		x.r.Rcode = wire.NXDomain
	}
	a.soa(x, z, z.soaTTL)
	if x.signs(z) && !x.r.TC {
		has := nowhere
		has.remove(x.q.Type) // otherwise validators read the denial as proof that the type exists
		a.deny(x, wire.Authority, z, x.name, x.owner, has, z.soaTTL)
	}
}

// nothing reports a step that found no set to Trail and returns the zone of n.
func (a *Answerer) nothing(x *asked, n node) *Zone {
	z := x.t.zoneOf(n)
	if a.Trail != nil {
		a.Trail(Step{Zone: z.Name, Name: x.t.name(n), Service: -1})
	}
	return z
}

// soa appends the SOA record of a zone to the authority section.
func (a *Answerer) soa(x *asked, z *Zone, ttl uint32) {
	at := x.zoneAt(z)
	if !x.r.Fits(wire.RecordSize + z.length + len(z.soa)) {
		x.r.Truncate(x.q)
		return
	}
	owner := at
	if at != 0 {
		putSOA(x, z, ttl, z.soa, uint16(at), at)
	} else {
		owner = len(x.r.Msg)
		putWhole(x, z, ttl)
	}
	x.r.Added(wire.Authority, 1)
	if x.signs(z) {
		name := x.t.name(z.apex)
		a.Signer.Set(z.keys, name, wire.TypeSOA, ttl)
		a.Signer.Record(name, wire.TypeSOA, ttl, z.soa)
		if !a.signatures(x, wire.Authority, z, wire.TypeSOA, ttl, owner, sign.Existing) {
			x.r.Truncate(x.q)
		}
	}
}

// putWhole appends the SOA record of a zone whose name does not occur in the message.
func putWhole(x *asked, z *Zone, ttl uint32) {
	x.r.Msg = append(x.r.Msg, x.t.name(z.apex)...)
	x.r.Msg = append(x.r.Msg, 0, byte(wire.TypeSOA), 0, byte(wire.ClassIN), byte(ttl>>24), byte(ttl>>16), byte(ttl>>8), byte(ttl))
	x.r.Msg = binary.BigEndian.AppendUint16(x.r.Msg, uint16(len(z.soa)))
	x.r.Msg = append(x.r.Msg, z.soa...)
}

// any answers a question of type ANY with one HINFO record (RFC 8482 §4.2).
func (a *Answerer) any(x *asked, z *Zone) {
	const data, ttl = "\x07RFC8482\x00", 3600
	if !x.r.Fits(wire.RecordSize + len(data)) {
		x.r.Truncate(x.q)
		return
	}
	x.r.Record(uint16(x.owner), wire.TypeHINFO, ttl, len(data))
	x.r.Msg = append(x.r.Msg, data...)
	x.r.Added(wire.Answer, 1)
	if x.signs(z) {
		a.data = append(a.data[:0], data...)
		a.Signer.Set(z.keys, x.name, wire.TypeHINFO, ttl)
		a.Signer.Record(x.name, wire.TypeHINFO, ttl, a.data)
		if !a.signatures(x, wire.Answer, z, wire.TypeHINFO, ttl, x.owner, x.purpose()) {
			x.r.Truncate(x.q)
		}
	}
}

// placeOf returns the offset of the name of n, an ancestor of the current name, in the
// message. It returns 0 if the name is not there.
func (x *asked) placeOf(n node) int {
	name, q := x.t.name(n), x.q.Name()
	if !x.inMessage || len(name) > len(q) {
		return 0
	}
	return wire.HeaderSize + len(q) - len(name)
}

// dynamic answers with the addresses that a service chooses.
func (a *Answerer) dynamic(x *asked, n node, of set) {
	rec, _ := of.next()
	service, p := int(binary.LittleEndian.Uint16(rec.data)), &a.pick
	p.reset()
	a.tell(x, n, KindDYNA, service)
	v6 := x.q.Type == wire.TypeAAAA
	a.Services.Choose(service, x.q, v6, p)
	x.r.Scope = max(x.r.Scope, p.Scope)
	switch {
	case p.Fail:
		x.r.Rcode, x.r.AA = wire.ServFail, false
		return
	case p.Unknown:
		x.r.Rcode, x.r.AA, x.r.More = wire.ServFail, false, wire.NotReady
		return
	case p.Count == 0:
		z := x.t.zoneOf(n)
		ttl := min(z.soaTTL, p.TTL)
		a.soa(x, z, ttl)
		if x.signs(z) && !x.r.TC {
			a.deny(x, wire.Authority, z, x.name, x.owner, x.existing(n), ttl)
		}
		return
	}
	ttl, size := min(p.TTL, of.ttl), 4
	if v6 {
		size = 16
	}
	for i := range p.Count {
		if !x.r.Fits(wire.RecordSize + size) {
			x.r.Truncate(x.q)
			return
		}
		x.r.Record(uint16(x.owner), x.q.Type, ttl, size)
		x.r.Msg = append(x.r.Msg, p.Addresses[i][:size]...)
		x.r.Added(wire.Answer, 1)
	}
	if z := x.t.zoneOf(n); x.signs(z) && !a.signChosen(x, z, ttl, size) {
		x.r.Truncate(x.q)
	}
}
