package zone

import (
	"github.com/sluicelb/sluice/dns/sign"
	"github.com/sluicelb/sluice/dns/wire"
)

// refer answers with a referral to the name servers of a delegated name.
func (a *Answerer) refer(x *asked, cut node) {
	s, _ := x.t.find(cut, wire.TypeNS)
	a.source = source{x.t.name(cut), wire.TypeNS}
	if x.r.Count(wire.Answer) == 0 {
		x.cut = cut
	}
	x.r.AA = x.r.AA && x.owner != wire.HeaderSize
	a.tell(x, cut, wire.TypeNS, -1)
	z := x.t.zoneOf(cut)
	if at := x.placeOf(cut); at != 0 {
		x.owner = at
		a.put(x, wire.Authority, s, z, nil)
	} else {
		x.owner = len(x.r.Msg)
		a.referWhole(x, cut, s)
	}
	if !x.signs(z) || x.r.TC {
		return
	}
	name := x.t.name(cut)
	if ds, is := x.t.find(cut, wire.TypeDS); is {
		a.put(x, wire.Authority, ds, z, name)
		return
	}
	has := x.t.typesAt(cut)
	has.add(wire.TypeRRSIG)
	has.add(wire.TypeNSEC)
	a.deny(x, wire.Authority, z, name, x.owner, has, z.soaTTL)
}

// referWhole is like refer for a name that is not in the message because a CNAME chain led
// to it.
func (a *Answerer) referWhole(x *asked, cut node, s set) {
	name := x.t.name(cut)
	for {
		rec, ok := s.next()
		if !ok {
			return
		}
		if !x.r.Fits(len(name) + wire.RecordSize + len(rec.data)) {
			x.r.Truncate(x.q)
			return
		}
		whole(x.r, wire.Authority, name, wire.TypeNS, s.ttl, rec.data)
		if target := x.t.targetOf(wire.TypeNS, &rec); target != 0 && a.placed < maxPlaces {
			a.places[a.placed] = place{len(x.r.Msg) - len(rec.data) + rec.name, target}
			a.placed++
		}
	}
}

// additional appends the known addresses of names in the answer, as far as they fit. If
// glue does not fit, it sets TC and the client retries over TCP, because the servers
// cannot be reached without it (RFC 9471 §3.1).
func (a *Answerer) additional(x *asked) {
	for i := range a.placed {
		if x.isGlue(a.places[i].target) && !a.addresses(x, a.places[i]) {
			x.r.Truncate(x.q)
			return
		}
	}
	for i := range a.placed {
		if !x.isGlue(a.places[i].target) && !a.addresses(x, a.places[i]) {
			return
		}
	}
}

// isGlue reports whether a name is at or below the delegated name of the referral.
func (x *asked) isGlue(n node) bool { return x.cut != 0 && under(x.t.name(n), x.t.name(x.cut)) }

// addresses appends the addresses of a name and reports whether they fit.
func (a *Answerer) addresses(x *asked, p place) bool {
	x.owner = p.at
	for _, kind := range [...]uint16{wire.TypeA, wire.TypeAAAA} {
		s, ok := x.t.find(p.target, kind)
		if !ok {
			continue
		}
		z := x.t.zoneOf(p.target)
		if !a.append(x, wire.Additional, s, z) {
			return false
		}
		if x.signs(z) && x.t.flags(p.target)&(isBelow|isCut) == 0 {
			mark := x.r.Mark()
			if !a.signSet(x, wire.Additional, s, z, x.t.name(p.target), sign.Existing) {
				x.r.Back(mark) // additional records may be unsigned (RFC 4035 §3.1.1)
			}
		}
	}
	return true
}
