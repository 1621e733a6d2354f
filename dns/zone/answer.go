package zone

import (
	"bytes"
	"encoding/binary"

	"github.com/sluicelb/sluice/dns/sign"
	"github.com/sluicelb/sluice/dns/wire"
)

// Services choose addresses.
type Services interface {
	// Choose writes into p the addresses of one version that a service, by its
	// position, has for who asks.
	Choose(service int, q *wire.Query, v6 bool, p *Pick)
}

// MaxPicks bounds the addresses of an answer.
const MaxPicks = 64

// Pick is what a service chose.
type Pick struct {
	Addresses [MaxPicks][16]byte // of IPv4 the first four bytes
	Count     int
	TTL       uint32
	// Scope is how many bits of the client's net the choice depends on.
	Scope uint8
	// Fail says that the question is not to be answered: nothing works.
	Fail bool
	// Unknown says that there is no address only because no probe has a result yet.
	Unknown bool
}

func (p *Pick) reset() { p.Count, p.TTL, p.Scope, p.Fail, p.Unknown = 0, 0, 0, false, false }

// maxChain bounds how many CNAMEs an answer follows.
const maxChain = 8

// Step is what an answer was made of, for who asks why (see Trail).
type Step struct {
	Zone    string
	Name    []byte // the name it is known by, *.… for a wildcard
	Type    string // of the set
	Service int    // its position, -1 for none
}

// Answerer answers from one table at a time. It belongs to one loop.
type Answerer struct {
	Services Services
	// Trail is told each step, unless it is nil.
	Trail func(Step)
	// Signer signs what comes from zones that are signed, for who asks for it.
	Signer sign.Signer

	pick   Pick
	sorted [MaxPicks][16]byte // its addresses
	data   []byte             // of a record that is made
	zone   []byte             // the name of the one that was answered from last
	places [maxPlaces]place   // names in the answer whose addresses are of use
	placed int
	chain  [maxChain][wire.MaxName]byte // the names CNAMEs led to
	been   [maxChain][]byte             // the names records were looked for of
	starts [wire.MaxLabels + 1]uint8
}

// maxPlaces bounds these: records of so many names lie in the first 16 KiB of a message,
// where pointers lead (RFC 1035 §4.1.4).
const maxPlaces = 32

// place is a name in a message, and what the table has of it.
type place struct {
	at     int
	target node
}

// asked is a question on its way through a table: the name that is looked for, and
// where it, and that of its zone, lie in the message.
type asked struct {
	t    *Table
	q    *wire.Query
	r    *wire.Reply
	name []byte
	// owner is where the name lies in the message; inMessage says that the name
	// there is written out, so that its zone lies behind it.
	owner     int
	inMessage bool
	// synthesized says that the zone does not have the name itself.
	synthesized bool
	// depth is how many CNAMEs led to the name.
	depth int
	// cut is the name the client is sent on from, 0 where it is not.
	cut node
}

// Answer answers a question of class IN. It reports false when no zone of the table
// has the name.
func (a *Answerer) Answer(t *Table, q *wire.Query, r *wire.Reply) bool {
	for i := 0; i <= q.Labels(); i++ {
		a.starts[i] = uint8(q.Label(i))
	}
	f := t.lookup(q.Name(), &a.starts, q.Labels())
	if f.node == 0 {
		return false
	}
	a.placed = 0
	x := asked{t: t, q: q, r: r, name: q.Name(), owner: wire.HeaderSize, inMessage: true}
	for x.depth = range maxChain {
		a.been[x.depth] = x.name
		next, labels := a.step(&x, f)
		if next == nil || a.wasAt(next, x.depth) {
			break
		}
		if f = t.lookup(next, &a.starts, labels); f.node == 0 {
			break // the rest is somebody else's
		}
		x.name = next
	}
	if !r.TC {
		a.additional(&x)
	}
	return true
}

// wasAt reports whether a name is among those that were come by so far: CNAMEs that lead
// back there are a loop, and their records no answer a second time.
func (a *Answerer) wasAt(name []byte, depth int) bool {
	for _, been := range a.been[:depth+1] {
		if bytes.Equal(been, name) {
			return true
		}
	}
	return false
}

// Zone is the name of the zone the last answer came from, as messages have it.
func (a *Answerer) Zone() []byte { return a.zone }

// step answers what is known of one name. It returns the name the answer goes on with,
// nil when it is complete.
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

// fromNode answers with the sets of a name.
func (a *Answerer) fromNode(x *asked, n node) (next []byte, labels int) {
	kind := x.q.Type
	switch kind {
	case wire.TypeANY:
		if s, ok := x.t.find(n, wire.TypeCNAME); ok { // RFC 8482 §4.2
			a.tell(x, n, wire.TypeCNAME, -1)
			a.put(x, wire.Answer, s, x.t.zoneOf(n), x.name)
			return nil, 0
		}
		a.any(x, x.t.zoneOf(n))
		return nil, 0
	case wire.TypeRRSIG, wire.TypeNSEC:
		a.proof(x, n)
		return nil, 0
	case wire.TypeA, wire.TypeAAAA:
		if s, ok := x.t.find(n, KindDYNA); ok {
			a.dynamic(x, n, s)
			return nil, 0
		}
	}
	if s, ok := x.t.find(n, kind); ok && kind != KindDYNA { // which no message has
		a.tell(x, n, kind, -1)
		a.put(x, wire.Answer, s, x.t.zoneOf(n), x.name)
		return nil, 0
	}
	s, ok := x.t.find(n, wire.TypeCNAME)
	if !ok {
		a.negative(x, n)
		return nil, 0
	}
	a.tell(x, n, wire.TypeCNAME, -1)
	at := len(x.r.Msg) + wire.RecordSize
	data := s.list[recordHead:]
	if !a.put(x, wire.Answer, s, x.t.zoneOf(n), x.name) {
		return nil, 0
	}
	return a.goOn(x, at, data[:binary.LittleEndian.Uint16(s.list)])
}

// goOn is the next step of an answer: the name of a CNAME record, which lies in the message
// there.
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

// tell tells the trail.
func (a *Answerer) tell(x *asked, n node, kind uint16, service int) {
	if a.Trail != nil {
		a.Trail(Step{Zone: x.t.zoneOf(n).Name, Name: x.t.name(n), Type: kindText(kind), Service: service})
	}
}

// put appends a set to a section, with the signatures of an owner of that name unless it is
// nil. It reports false, with the message truncated, when that does not fit.
func (a *Answerer) put(x *asked, s wire.Section, of set, z *Zone, owner []byte) bool {
	if !a.append(x, s, of, z) || owner != nil && x.signs(z) && !a.signSet(x, s, of, z, owner, x.purpose()) {
		x.r.Truncate(x.q)
		return false
	}
	return true
}

// append appends the records of a set, all or none.
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

// zoneAt is where the name of a zone lies in the message, 0 where it does not: it is
// the end of the question, if that is what is answered.
func (x *asked) zoneAt(z *Zone) int {
	if x.q.Labels() == 0 || len(x.q.Name()) < z.length || string(x.q.Name()[len(x.q.Name())-z.length:]) != string(x.t.name(z.apex)) {
		return 0
	}
	return wire.HeaderSize + len(x.q.Name()) - z.length
}

// putSOA appends an SOA record, both of whose names may end with the zone's.
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

// negative says that a name has nothing of the type: the zone's SOA record tells how long
// that holds (RFC 2308).
func (a *Answerer) negative(x *asked, n node) {
	z := a.nothing(x, n)
	a.soa(x, z, z.soaTTL)
	if x.signs(z) && !x.r.TC {
		a.deny(x, wire.Authority, z, x.name, x.owner, x.existing(n), z.soaTTL)
	}
}

// missing says that there is no such name; n is the closest there is. Who validates is told
// by a record (RFC 9824 §3.2), and by the code as well if it understands both (§5.1).
func (a *Answerer) missing(x *asked, n node) {
	z := a.nothing(x, n)
	x.r.NoName = true
	if x.signs(z) && x.q.Type == wire.TypeNSEC {
		// The record is the answer: BIND refuses a denial that consists of the set that
		// was asked for.
		a.deny(x, wire.Answer, z, x.name, x.owner, nowhere, z.soaTTL)
		return
	}
	if !x.signs(z) || x.q.CompactOK {
		x.r.Rcode = wire.NXDomain
	}
	a.soa(x, z, z.soaTTL)
	if x.signs(z) && !x.r.TC {
		has := nowhere
		has.remove(x.q.Type) // else who validates takes the denial for one of a name that has it
		a.deny(x, wire.Authority, z, x.name, x.owner, has, z.soaTTL)
	}
}

// nothing tells the trail that it ends, and returns the zone where it does.
func (a *Answerer) nothing(x *asked, n node) *Zone {
	z := x.t.zoneOf(n)
	if a.Trail != nil {
		a.Trail(Step{Zone: z.Name, Name: x.t.name(n), Service: -1})
	}
	return z
}

// soa puts the SOA record of a zone into the authority section.
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

// putWhole appends the SOA record of a zone whose name is nowhere in the message.
func putWhole(x *asked, z *Zone, ttl uint32) {
	x.r.Msg = append(x.r.Msg, x.t.name(z.apex)...)
	x.r.Msg = append(x.r.Msg, 0, byte(wire.TypeSOA), 0, byte(wire.ClassIN), byte(ttl>>24), byte(ttl>>16), byte(ttl>>8), byte(ttl))
	x.r.Msg = binary.BigEndian.AppendUint16(x.r.Msg, uint16(len(z.soa)))
	x.r.Msg = append(x.r.Msg, z.soa...)
}

// any answers a question for everything with next to nothing (RFC 8482 §4.2).
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

// placeOf is where the name of a node above the question lies in the message, 0 when
// it is not there.
func (x *asked) placeOf(n node) int {
	name, q := x.t.name(n), x.q.Name()
	if !x.inMessage || len(name) > len(q) {
		return 0
	}
	return wire.HeaderSize + len(q) - len(name)
}

// dynamic answers with what a service chooses.
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
