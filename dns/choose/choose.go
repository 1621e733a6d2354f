// Package choose selects the current addresses of a name: by the algorithm of a service,
// among working backends, for the client's net.
package choose

import (
	"cmp"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/geoip"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/dns/wire"
	"github.com/sluicelb/sluice/dns/zone"
)

// Service is a compiled service. It is immutable.
type Service struct {
	ID   uint32
	Name string

	algorithm     farm.DNSAlgorithm
	ttl, degraded uint32
	answers       int
	allDown       farm.AllDown
	unprobed      bool
	table         *health.Table
	versions      [2][]backend // of IPv4, of IPv6
	fallback      [2][][16]byte
	byPlace       bool // a backend has a country or continent
}

type backend struct {
	id     uint32
	number int
	addr   netip.Addr
	bytes  [16]byte
	slot   *health.Slot
	weight uint32
	rank   uint64 // of DNSHash
	out    bool   // in maintenance
	nets   []netip.Prefix

	countries, continents []geoip.Code
	at                    vector // location; zero if unknown
}

// Compile returns the services of a farm, in their order. places holds the locations of
// backends without coordinates, or is nil.
func Compile(f *farm.Farm, table *health.Table, places *geoip.Table) []Service {
	list := make([]Service, len(f.Global.Services))
	for i, g := range f.Groups() {
		list[i] = compile(&f.Global.Services[i], g.Numbers(), table, places)
	}
	return list
}

func compile(s *farm.DNSService, numbers []int, table *health.Table, places *geoip.Table) Service {
	out := Service{
		ID: s.ID, Name: s.Name, algorithm: s.Algorithm, ttl: uint32(s.EffectiveTTL()), degraded: uint32(cmp.Or(s.DegradedTTL, s.EffectiveTTL())),
		answers: min(max(1, s.MostAnswers()), zone.MaxPicks), allDown: s.EffectiveAllDown(), unprobed: s.Unprobed,
		table: table,
	}
	order := make([]int, 0, len(s.Backends))
	for i := range s.Backends {
		if s.Backends[i].Addr.IsValid() {
			order = append(order, i)
		}
	}
	if s.Algorithm == farm.DNSPriority {
		slices.SortStableFunc(order, func(a, b int) int { return s.Backends[a].EffectivePriority() - s.Backends[b].EffectivePriority() })
	}
	slices.SortStableFunc(order, func(a, b int) int { return left(&s.Backends[a]) - left(&s.Backends[b]) })
	for _, i := range order {
		b := &s.Backends[i]
		of := &out.versions[version(b.Addr)]
		if len(*of) == zone.MaxPicks {
			continue
		}
		*of = append(*of, backend{
			id: b.ID, number: numbers[i], addr: b.Addr, bytes: bytesOf(b.Addr), slot: table.Slot(b.ID), weight: uint32(b.EffectiveWeight()),
			rank: rankOf(b), out: b.Maintenance != farm.MaintenanceOff, nets: b.Nets, countries: codes(b.Countries), continents: codes(b.Continents), at: whereIs(b, places),
		})
		out.byPlace = out.byPlace || len(b.Countries)+len(b.Continents) > 0
	}
	for _, a := range s.Fallback {
		out.fallback[version(a)] = append(out.fallback[version(a)], bytesOf(a))
	}
	return out
}

// left returns 1 for an address that is no longer among the addresses of its backend's name,
// else 0. Such addresses sort last.
func left(b *farm.Backend) int {
	if b.Left {
		return 1
	}
	return 0
}

func version(a netip.Addr) int {
	if a.Is4() {
		return 0
	}
	return 1
}

func bytesOf(a netip.Addr) (b [16]byte) {
	copy(b[:], a.AsSlice())
	return b
}

// Algorithm returns the algorithm of the service.
func (s *Service) Algorithm() farm.DNSAlgorithm { return s.algorithm }

// Chooser chooses on one loop.
type Chooser struct {
	// Services holds the services of the queried farm.
	Services []Service
	// Last is the last choice since it was cleared.
	Last Choice
	// Places holds client locations, or is nil.
	Places *geoip.Table
	// Trail is called for each candidate, unless nil.
	Trail func(Candidate)

	random *rand.Rand
	turns  turns
	turn   uint32             // of the current question
	picked [zone.MaxPicks]int // positions, in the order of the answer
	count  int

	place     geoip.Place // of the client, if the algorithm uses it
	distances [zone.MaxPicks]float32
}

// Choice is a service and the backends it chose. The zero value means none.
type Choice struct {
	Service  uint32
	Backends [zone.MaxPicks]uint32
	Count    int
	// Policy is the all-down policy, if it was applied.
	Policy farm.AllDown
	// Unable means that there is no address because the backends of the version have no
	// working check.
	Unable bool
}

// Place returns the location of the last client a service looked up, or zero.
func (c *Chooser) Place() geoip.Place { return c.place }

// New returns a chooser whose random generator starts with a seed.
func New(seed uint64) *Chooser {
	return &Chooser{random: rand.New(rand.NewPCG(seed, 0x5105ce))}
}

// Choose implements zone.Services.
func (c *Chooser) Choose(service int, q *wire.Query, v6 bool, p *zone.Pick) {
	s, of := &c.Services[service], 0
	if v6 {
		of = 1
	}
	list := s.versions[of]
	p.TTL, c.count, c.place, c.Last.Policy, c.Last.Unable = s.ttl, 0, geoip.Place{}, "", false
	up, down, unknown, unable := 0, 0, 0, 0
	for i := range list {
		switch b := &list[i]; {
		case b.out:
		case b.usable(s):
			c.picked[up] = i
			up++
		case b.slot.Unable():
			unable++
		case b.slot.Usable():
			unknown++
		default:
			down++
		}
	}
	c.count, c.turn = up, c.turns.next(s.ID, q.Name(), v6)
	if down > 0 {
		p.TTL = min(s.ttl, s.degraded)
	}
	switch {
	case up > 0:
		c.order(s, list, q, p)
	case unknown > 0 && !p.Copied:
		p.Unknown = true
	case unable > 0 && down == 0 && s.serves(1-of, p):
		c.Last.Unable = true // unknown state, and clients can use the other version
	case unknown > 0:
		c.all(s, list, q, p)
	case len(list) > 0 || !s.serves(1-of, p):
		c.allDown(s, list, q, of, p)
	}
	c.Last.Service, c.Last.Count = s.ID, min(c.count, s.answers)
	for i := range c.Last.Count {
		b := &list[c.picked[i]]
		p.Addresses[p.Count] = b.bytes
		p.Count++
		c.Last.Backends[i] = b.id
	}
	if c.Trail != nil {
		c.tell(s, list, q, p)
	}
}

// serves reports whether a backend of a version is usable. If none is, answers for the other
// version have the policy and TTL of a service without usable backends.
func (s *Service) serves(version int, p *zone.Pick) bool {
	ttl := p.TTL
	for i := range s.versions[version] {
		switch b := &s.versions[version][i]; {
		case b.out, b.slot.Unable() && !s.unprobed:
		case b.slot.Usable():
			return true
		default:
			ttl = min(s.ttl, s.degraded)
		}
	}
	p.TTL = ttl
	return false
}

// usable reports whether answers may contain the backend: it is up, or its state is unknown
// and the service allows that.
func (b *backend) usable(s *Service) bool {
	return b.slot.Usable() && (s.unprobed || b.slot.Status() == farm.StatusUp)
}

// allDown applies the service's policy for the case that no backend is usable. If all are in
// maintenance the policy is ignored, and the answer has no address.
func (c *Chooser) allDown(s *Service, list []backend, q *wire.Query, of int, p *zone.Pick) {
	c.Last.Policy = s.allDown
	switch s.allDown {
	case farm.AllDownFail:
		if p.Copied {
			c.all(s, list, q, p)
			return
		}
		p.Fail = true
	case farm.AllDownFallback:
		for _, b := range s.fallback[of] {
			if p.Count < zone.MaxPicks {
				p.Addresses[p.Count] = b
				p.Count++
			}
		}
	case farm.AllDownAll:
		c.all(s, list, q, p)
	}
}

// all makes all backends that are not in maintenance candidates.
func (c *Chooser) all(s *Service, list []backend, q *wire.Query, p *zone.Pick) {
	for i := range list {
		if !list[i].out {
			c.picked[c.count] = i
			c.count++
		}
	}
	if c.count > 0 {
		c.order(s, list, q, p)
	}
}

// order sorts the candidates in the order of the answer.
func (c *Chooser) order(s *Service, list []backend, q *wire.Query, p *zone.Pick) {
	switch s.algorithm {
	case farm.DNSRoundRobin:
		c.takeTurns(c.count)
	case farm.DNSWeight:
		c.draw(list, s.answers)
	case farm.DNSHash:
		c.rank(list, net(q, p))
	case farm.DNSGeo:
		c.closest(s, list, q.From(), p)
	case farm.DNSNearest:
		c.nearest(list, q.From(), p)
	case farm.DNSFastest:
		c.fastest(list)
	case farm.DNSLoad:
		c.leastLoaded(s, list)
	}
}

// takeTurns rotates the first n candidates.
func (c *Chooser) takeTurns(n int) { rotate(c.picked[:n], int(c.turn%uint32(n))) }

func rotate(list []int, by int) {
	slices.Reverse(list[:by])
	slices.Reverse(list[by:])
	slices.Reverse(list)
}

// draw moves as many candidates as the answer holds to the front, chosen at random by weight.
func (c *Chooser) draw(list []backend, answers int) {
	total := uint32(0)
	for _, i := range c.picked[:c.count] {
		total += list[i].weight
	}
	for at := 0; at < min(answers, c.count); at++ {
		drawn := c.random.Uint32N(total)
		for j := at; j < c.count; j++ {
			w := list[c.picked[j]].weight
			if drawn < w {
				total -= w
				c.picked[at], c.picked[j] = c.picked[j], c.picked[at]
				break
			}
			drawn -= w
		}
	}
}

const (
	// alike is the latency difference to ignore, so that clients do not move with every
	// result.
	alike = time.Millisecond
	// unmeasured is the latency of a backend without a measurement: the highest.
	unmeasured = time.Hour
)

// fastest orders by latency of probes. Backends within a quarter of the fastest take turns.
func (c *Chooser) fastest(list []backend) {
	var took [zone.MaxPicks]int64
	for j, i := range c.picked[:c.count] {
		if took[j] = int64(list[i].slot.Latency()); took[j] == 0 {
			took[j] = int64(unmeasured)
		}
	}
	c.ascending(&took)
	c.alternate(&took, max(took[0]/4, int64(alike)))
}

// ascending sorts the candidates by a measure.
func (c *Chooser) ascending(measure *[zone.MaxPicks]int64) {
	for j := 1; j < c.count; j++ { // few: sorted in place
		for k := j; k > 0 && measure[k] < measure[k-1]; k-- {
			measure[k], measure[k-1] = measure[k-1], measure[k]
			c.picked[k], c.picked[k-1] = c.picked[k-1], c.picked[k]
		}
	}
}

// alternate rotates the first candidates whose measure is at most more above the lowest.
func (c *Chooser) alternate(measure *[zone.MaxPicks]int64, more int64) {
	first := 1
	for first < c.count && measure[first]-measure[0] <= more {
		first++
	}
	c.takeTurns(first)
}

const (
	// even is the difference of connections to ignore: reports are some seconds old, and
	// meanwhile not all clients should go to one backend.
	even = 4
	// untold is the load of a backend without a report: the highest.
	untold = math.MaxInt64 / 2
	// unit is the load of a connection for a backend of weight 1. Loads divided by weights
	// are compared as integers of this unit.
	unit = 1 << 8
)

// leastLoaded orders by connections per weight. Backends within an eighth of the lowest take
// turns.
func (c *Chooser) leastLoaded(s *Service, list []backend) {
	var loads [zone.MaxPicks]int64
	for j, i := range c.picked[:c.count] {
		loads[j] = untold
		if n, known := s.table.Load(list[i].id); known {
			loads[j] = int64(n) * unit / int64(list[i].weight)
		}
	}
	c.ascending(&loads)
	c.alternate(&loads, max(loads[0]/8, even*unit))
}

// bits returns the length of the backend's longest net that contains an address, or -1.
func (b *backend) bits(a netip.Addr) int {
	best := -1
	for _, n := range b.nets {
		if n.Contains(a) {
			best = max(best, n.Bits())
		}
	}
	return best
}

// decides returns how many bits of an address determine whether a net contains it.
func decides(n netip.Prefix, a netip.Addr) uint8 {
	if n.Addr().Is4() != a.Is4() {
		return 0
	}
	x, y := n.Addr().As16(), a.As16()
	first := 0
	if a.Is4() {
		first = 96
	}
	for i := range n.Bits() {
		at := first + i
		if (x[at/8]^y[at/8])>>(7-at%8)&1 != 0 {
			return uint8(i + 1)
		}
	}
	return uint8(n.Bits())
}

// load returns the number of a backend's connections, or -1 if unknown.
func (s *Service) load(b *backend) int {
	if n, known := s.table.Load(b.id); known {
		return int(n)
	}
	return -1
}

var passed = map[farm.DNSAlgorithm]string{
	farm.DNSRoundRobin: "as many as an answer has were taken",
	farm.DNSPriority:   "one before it works",
	farm.DNSWeight:     "others were drawn",
	farm.DNSHash:       "the client's net belongs to others",
	farm.DNSGeo:        "others are closer to the client: by net, country or continent",
	farm.DNSNearest:    "others are nearer to the client, or it was their turn",
	farm.DNSFastest:    "others answer their checks sooner, or it was their turn",
	farm.DNSLoad:       "others have less to do for their weight, or it was their turn",
}
