package zone

import "github.com/sluicelb/sluice/dns/wire"

// redirect answers for a name below a DNAME record with that record and a synthesized
// CNAME (RFC 6672 §3.2). It returns the next name to visit, or nil.
func (a *Answerer) redirect(x *asked, n node) (next []byte, labels int) {
	s, _ := x.t.find(n, wire.TypeDNAME)
	of := s
	rec, _ := of.next()
	owner, name := x.owner, x.t.name(n)
	a.source = source{name, wire.TypeDNAME}
	x.r.AA = x.r.AA || owner == wire.HeaderSize
	a.tell(x, n, wire.TypeDNAME, -1)
	if !a.putDNAME(x, n, s, rec.data) {
		return nil, 0
	}
	prefix := x.name[:len(x.name)-len(name)]
	if len(prefix)+len(rec.data) > wire.MaxName {
		x.r.Rcode = wire.YXDomain
		return nil, 0
	}
	a.data = append(append(a.data[:0], prefix...), rec.data...)
	if !x.r.Fits(wire.RecordSize + len(a.data)) {
		x.r.Truncate(x.q)
		return nil, 0
	}
	x.r.Record(uint16(owner), wire.TypeCNAME, s.ttl, len(a.data))
	at := len(x.r.Msg)
	x.r.Msg = append(x.r.Msg, a.data...)
	x.r.Added(wire.Answer, 1)
	if x.q.Type == wire.TypeCNAME || x.q.Type == wire.TypeANY {
		return nil, 0
	}
	return a.goOn(x, at, a.data)
}

// putDNAME appends the DNAME record of n and its signatures, and reports whether they fit.
func (a *Answerer) putDNAME(x *asked, n node, s set, data []byte) bool {
	name, z := x.t.name(n), x.t.zoneOf(n)
	if !x.r.Fits(len(name) + wire.RecordSize + len(data)) {
		x.r.Truncate(x.q)
		return false
	}
	if at := x.placeOf(n); at != 0 {
		x.owner = at
		x.r.Record(uint16(at), wire.TypeDNAME, s.ttl, len(data))
		x.r.Msg = append(x.r.Msg, data...)
		x.r.Added(wire.Answer, 1)
	} else {
		x.owner = len(x.r.Msg)
		whole(x.r, wire.Answer, name, wire.TypeDNAME, s.ttl, data)
	}
	x.synthesized = false // the DNAME record exists
	if x.signs(z) && !a.signSet(x, wire.Answer, s, z, name, x.purpose()) {
		x.r.Truncate(x.q)
		return false
	}
	return true
}
