package choose

import (
	"net/netip"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/dns/wire"
	"github.com/sluicelb/sluice/dns/zone"
)

// Candidate is the explanation of a backend.
type Candidate struct {
	Backend uint32
	Number  int
	Addr    netip.Addr
	Weight  int
	Out     bool
	Status  farm.Status
	Near    bool          // fits the client's net, country or continent
	Away    float64       // kilometres from the client, -1 if unknown
	Latency time.Duration // recent latency of probes; 0 if unknown
	Load    int           // open connections, -1 if unknown
	Taken   bool
	Reason  string
}

// tell calls Trail for every backend.
func (c *Chooser) tell(s *Service, list []backend, q *wire.Query, p *zone.Pick) {
	for i := range list {
		b := &list[i]
		one := Candidate{
			Backend: b.id, Number: b.number, Addr: b.addr, Weight: int(b.weight), Out: b.out, Status: b.slot.Status(),
			Near: b.bits(q.From()) >= 0 || b.isFor(c.place) > 0, Away: away(b, c.place), Latency: b.slot.Latency(), Load: s.load(b), Taken: slices.Contains(p.Addresses[:p.Count], b.bytes),
		}
		one.Reason = c.why(s, b, &one)
		c.Trail(one)
	}
}

// why returns why a backend was chosen or not.
func (c *Chooser) why(s *Service, b *backend, one *Candidate) string {
	switch {
	case b.out:
		return "it is in maintenance"
	case one.Taken && c.Last.Policy == farm.AllDownAll && b.slot.Unable():
		return "its check cannot ask it and no other backend works: the service answers as if all did, and this is one it would then answer with"
	case one.Taken && c.Last.Policy == farm.AllDownAll:
		return "no backend works: the service answers as if all did, and this is one it would then answer with"
	case one.Taken && c.Last.Policy != "":
		return "it is down, but its address is also one for when no backend works"
	case one.Taken:
		return taken[s.algorithm]
	case c.Last.Policy == farm.AllDownAll:
		return "it is down as all are: the service answers as if all worked, and would then answer with others"
	case !b.slot.Usable():
		return "it is down"
	case b.slot.Unable() && !s.unprobed:
		return "its check cannot ask it (check explain says why), and clients are not told of it meanwhile, unless answer_unprobed is set"
	case !b.usable(s):
		return "no probe has a result yet"
	}
	return passed[s.algorithm]
}

var taken = map[farm.DNSAlgorithm]string{
	farm.DNSRoundRobin: "it works",
	farm.DNSPriority:   "it is the first that works",
	farm.DNSWeight:     "it was drawn, by its weight",
	farm.DNSHash:       "the client's net belongs to it",
	farm.DNSGeo:        "none is closer to the client: by net, country, continent, or as one for nobody else",
	farm.DNSNearest:    "no other is nearer to the client",
	farm.DNSFastest:    "it answers its checks as soon as any",
	farm.DNSLoad:       "no other has less to do for its weight",
}
