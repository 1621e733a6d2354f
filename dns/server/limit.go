package server

import (
	"net/netip"

	"github.com/sluicelb/sluice/dns/wire"
)

// Sizes of client nets that share a limit: an attacker who can spoof one address of a net
// can spoof all of them.
const (
	limitBits4 = 24
	limitBits6 = 56
)

func netOf(a netip.Addr) netip.Addr {
	bits := limitBits6
	if a.Is4() {
		bits = limitBits4
	}
	net, _ := a.Prefix(bits)
	return net.Addr()
}

// mayAsk counts a query for the client's net. Verified clients are counted separately, so
// that spoofed queries do not use up their limit.
func (w *worker) mayAsk(f *farmTable, q *wire.Query) bool {
	t := f.kept.queries
	if q.Verified {
		t = f.kept.verified
	}
	return t.Take(t.Address(netOf(q.Client)), w.loop.Now(), f.queries) == 0
}

// mayHave counts an answer for the client's net. Answers count by the name and type of the
// records that gave them, e.g. *.example.com and not each name that matches it. Names that do
// not exist count per zone, and refused queries per network.
func (w *worker) mayHave(f *farmTable, q *wire.Query, r *wire.Reply) bool {
	a := netOf(q.Client).As16()
	key := append(w.key[:0], a[:]...)
	name, kind := q.Name(), q.Type
	if w.answered {
		name, kind = w.answerer.Source()
	}
	if key = append(key, byte(r.Rcode)); w.answered || r.Rcode == wire.NoError { // of a transfer, or CHAOS
		key = append(append(key, name...), byte(kind>>8), byte(kind))
	}
	w.key = key[:0]
	t := f.kept.answers
	return t.Take(t.Text(key), w.loop.Now(), f.answers) == 0
}
