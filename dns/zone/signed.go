package zone

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/dns/sign"
	"github.com/sluicelb/sluice/dns/wire"
)

// keys adds the DNSKEY, CDNSKEY and CDS sets of a signed zone to its apex.
func (c *compiler) keys(i int, z *farm.Zone) error {
	keys, err := sign.Open(z, c.apex[i])
	if keys == nil || err != nil {
		return err
	}
	c.zones[i].keys = keys
	sets := [...]*rrset{{kind: wire.TypeDNSKEY}, {kind: wire.TypeCDNSKEY}, {kind: wire.TypeCDS}}
	for _, k := range keys.All() {
		sets[0].records = append(sets[0].records, k.DNSKEY)
	}
	for _, k := range keys.Published {
		sets[1].records, sets[2].records = append(sets[1].records, k.DNSKEY), append(sets[2].records, k.CDS)
	}
	apex := c.lookup(c.apex[i])
	for _, s := range sets {
		s.ttl = uint32(z.EffectiveTTL())
		apex.sets = append(apex.sets, s)
	}
	return nil
}

// purpose returns the purpose of signatures for the current name.
func (x *asked) purpose() sign.Purpose {
	switch {
	case !x.synthesized:
		return sign.Existing
	case x.q.TCP || x.q.Verified:
		return sign.Synthesized
	}
	return sign.SynthesizedUnverified
}

// signs reports whether records of z must be signed for this client.
func (x *asked) signs(z *Zone) bool { return x.q.DO && z.keys != nil }

// signSet appends the signatures of a set of the table for that owner name. It reports
// whether they fit.
func (a *Answerer) signSet(x *asked, s wire.Section, of set, z *Zone, owner []byte, purpose sign.Purpose) bool {
	a.Signer.Set(z.keys, owner, of.kind, of.ttl)
	for {
		rec, ok := of.next()
		if !ok {
			return a.signatures(x, s, z, of.kind, of.ttl, x.owner, purpose)
		}
		a.Signer.Record(owner, of.kind, of.ttl, rec.data)
	}
}

// signatures appends the signatures of the set that was passed to Signer, and reports
// whether they fit.
func (a *Answerer) signatures(x *asked, s wire.Section, z *Zone, kind uint16, ttl uint32, owner int, of sign.Purpose) bool {
	return a.Signer.Sign(z.keys, kind, of, func(data []byte) bool {
		if !x.r.Fits(wire.RecordSize + len(data)) {
			return false
		}
		x.r.Record(uint16(owner), wire.TypeRRSIG, ttl, len(data))
		x.r.Msg = append(x.r.Msg, data...)
		x.r.Added(s, 1)
		return true
	})
}

// signChosen appends the signatures of the addresses that a service chose, and reports
// whether they fit.
func (a *Answerer) signChosen(x *asked, z *Zone, ttl uint32, size int) bool {
	p := &a.pick
	sorted := a.sorted[:0]
	for i := range p.Count { // insertion sort, as there are few
		at := len(sorted)
		sorted = append(sorted, p.Addresses[i])
		for ; at > 0 && bytes.Compare(sorted[at-1][:], sorted[at][:]) > 0; at-- {
			sorted[at-1], sorted[at] = sorted[at], sorted[at-1]
		}
	}
	a.Signer.Set(z.keys, x.name, x.q.Type, ttl)
	for _, address := range slices.Compact(sorted) {
		a.Signer.Record(x.name, x.q.Type, ttl, address[:size])
	}
	return a.signatures(x, wire.Answer, z, x.q.Type, ttl, x.owner, x.purpose())
}

// signer answers a DS question at the apex of n's zone from the parent zone (RFC 4035
// §3.1.4.1).
func (a *Answerer) signer(x *asked, n node) {
	z := &x.t.zones[x.t.zoneOf(n).parent]
	a.zone = x.t.name(z.apex)
	if s, ok := x.t.find(n, wire.TypeDS); ok {
		a.tell(x, n, wire.TypeDS, -1)
		a.put(x, wire.Answer, s, z, x.name)
		return
	}
	a.soa(x, z, z.soaTTL)
	if x.signs(z) && !x.r.TC {
		var has types
		has.add(wire.TypeNS)
		has.add(wire.TypeRRSIG)
		has.add(wire.TypeNSEC)
		a.deny(x, wire.Authority, z, x.name, x.owner, has, z.soaTTL)
	}
}

// proof answers a question of type NSEC or RRSIG. A signed zone has both at every name,
// also beside a CNAME, which is not followed (RFC 4035 §2.5). For RRSIG the signatures of
// one set are enough, as for ANY (RFC 8482 §4.1).
func (a *Answerer) proof(x *asked, n node) {
	z := x.t.zoneOf(n)
	if z.keys == nil {
		a.negative(x, n)
		return
	}
	a.tell(x, n, x.q.Type, -1)
	if x.q.Type == wire.TypeNSEC {
		a.deny(x, wire.Answer, z, x.name, x.owner, x.existing(n), z.soaTTL)
		return
	}
	s, ok := x.t.signedSet(n)
	if !ok {
		has := x.existing(n)
		a.data = has.append(appendNext(a.data[:0], x.name))
		a.signDenial(x, wire.Answer, z, x.name, x.owner, z.soaTTL)
		return
	}
	if !a.signSet(x, wire.Answer, s, z, x.name, x.purpose()) {
		x.r.Truncate(x.q)
	}
}

// signedSet returns the first set of a name that the zone signs unchanged. Empty
// non-terminals and names with only addresses of a service have none.
func (t *Table) signedSet(n node) (s set, ok bool) {
	rest := t.rest(n)
	sets, rest := rest[7], rest[nodeHead:]
	for ; sets > 0; sets-- {
		kind := binary.LittleEndian.Uint16(rest)
		if kind != KindDYNA && kind != wire.TypeDS { // the parent signs DS
			return t.find(n, kind)
		}
		rest = rest[setHead+binary.LittleEndian.Uint32(rest[8:]):]
	}
	return set{}, false
}

// types is a set of record types. low is a bitmap of the first two windows of 256 types
// (RFC 4034 §4.1.2). high lists all others in ascending order.
type types struct {
	low   [2][32]byte
	high  [maxHigh]uint16
	count int
}

// maxHigh exceeds the number of types that a name may have (maxTypes in mgmt/validate).
const maxHigh = 64

func (t *types) add(kind uint16) {
	if int(kind)/256 < len(t.low) {
		t.low[kind/256][kind%256/8] |= 0x80 >> (kind % 8)
		return
	}
	at := t.count
	if at == maxHigh {
		return
	}
	for ; at > 0 && t.high[at-1] > kind; at-- {
		t.high[at] = t.high[at-1]
	}
	t.high[at] = kind
	t.count++
}

func (t *types) remove(kind uint16) {
	if int(kind)/256 < len(t.low) {
		t.low[kind/256][kind%256/8] &^= 0x80 >> (kind % 8)
		return
	}
	if at := slices.Index(t.high[:t.count], kind); at >= 0 {
		copy(t.high[at:], t.high[at+1:t.count])
		t.count--
	}
}

// append appends the types in the format of NSEC records.
func (t *types) append(to []byte) []byte {
	for window := range t.low {
		to = appendWindow(to, byte(window), &t.low[window])
	}
	for at := 0; at < t.count; {
		window, bits := t.high[at]/256, [32]byte{}
		for ; at < t.count && t.high[at]/256 == window; at++ {
			bits[t.high[at]%256/8] |= 0x80 >> (t.high[at] % 8)
		}
		to = appendWindow(to, byte(window), &bits)
	}
	return to
}

func appendWindow(to []byte, window byte, all *[32]byte) []byte {
	bits := bytes.TrimRight(all[:], "\x00")
	if len(bits) == 0 {
		return to
	}
	return append(append(to, window, byte(len(bits))), bits...)
}

// typesAt returns the types of a name. At a delegation these are NS and DS only. An apex
// does not include DS, which belongs to the parent.
func (t *Table) typesAt(n node) (out types) {
	cut, apex := t.flags(n)&isCut != 0, t.flags(n)&isApex != 0
	rest := t.rest(n)
	sets, rest := rest[7], rest[nodeHead:]
	for ; sets > 0; sets-- {
		switch kind := binary.LittleEndian.Uint16(rest); {
		case cut && kind != wire.TypeNS && kind != wire.TypeDS, apex && kind == wire.TypeDS:
		case kind == KindDYNA:
			out.add(wire.TypeA)
			out.add(wire.TypeAAAA)
		default:
			out.add(kind)
		}
		rest = rest[setHead+binary.LittleEndian.Uint32(rest[8:]):]
	}
	return out
}

// existing returns the types for a denial of x.q.Type at an existing name.
func (x *asked) existing(n node) types {
	out := x.t.typesAt(n)
	out.remove(x.q.Type) // a service may have no addresses of the type
	out.add(wire.TypeRRSIG)
	out.add(wire.TypeNSEC)
	return out
}

// nowhere holds the types in the denial of a missing name (RFC 9824 §3.2).
var nowhere = func() (out types) {
	out.add(wire.TypeRRSIG)
	out.add(wire.TypeNSEC)
	out.add(wire.TypeNXNAME)
	return out
}()

// deny appends an NSEC record with the types of a name, and its signatures (RFC 9824 §3).
// owner is the offset of the name in the message.
func (a *Answerer) deny(x *asked, s wire.Section, z *Zone, name []byte, owner int, has types, ttl uint32) {
	a.data = has.append(appendNext(a.data[:0], name))
	if !x.r.Fits(wire.RecordSize + len(a.data)) {
		x.r.Truncate(x.q)
		return
	}
	x.r.Record(uint16(owner), wire.TypeNSEC, ttl, len(a.data))
	x.r.Msg = append(x.r.Msg, a.data...)
	x.r.Added(s, 1)
	a.signDenial(x, s, z, name, owner, ttl)
}

// signDenial appends the signatures of the NSEC record whose data is a.data.
func (a *Answerer) signDenial(x *asked, s wire.Section, z *Zone, name []byte, owner int, ttl uint32) {
	a.Signer.Set(z.keys, name, wire.TypeNSEC, ttl)
	a.Signer.Record(name, wire.TypeNSEC, ttl, a.data)
	if !a.signatures(x, s, z, wire.TypeNSEC, ttl, owner, x.purpose()) {
		x.r.Truncate(x.q)
	}
}

// appendNext appends the immediate successor of name in canonical order (RFC 4471 §3.1.2).
func appendNext(to, name []byte) []byte {
	if len(name)+2 <= wire.MaxName {
		return append(append(to, 1, 0), name...)
	}
	// There is no room for another label, so the first label is incremented.
	begin := len(to)
	to = append(to, name...)
	for at := begin + int(to[begin]); at > begin; at-- {
		if to[at]++; to[at] == 'A' {
			to[at] = 'Z' + 1
		}
		if to[at] != 0 {
			break
		}
	}
	return to
}
