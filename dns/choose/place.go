package choose

import (
	"math"
	"net/netip"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/geoip"
	"github.com/sluicelb/sluice/dns/zone"
)

// find looks up the client's location and sets how many bits of its address determine it.
func (c *Chooser) find(from netip.Addr, p *zone.Pick) {
	if c.Places == nil {
		return
	}
	var known int
	c.place, known = c.Places.Find(from)
	p.Scope = max(p.Scope, uint8(known))
}

// Kinds of matches between a backend and a client, in ascending order.
const (
	forNobody    = iota // for other clients
	forAnybody          // without net, country or continent
	forContinent        // of the client
	forCountry
)

// isFor returns how well a backend matches a location.
func (b *backend) isFor(p geoip.Place) int {
	switch {
	case p.Country != geoip.Code{} && slices.Contains(b.countries, p.Country):
		return forCountry
	case p.Continent != geoip.Code{} && slices.Contains(b.continents, p.Continent):
		return forContinent
	}
	return 0
}

// closest keeps the backends with the longest net that contains the client. If there are none
// it keeps the backends for its country, then its continent, then the unrestricted ones,
// otherwise all. The scope covers all bits of the client address that the service uses.
func (c *Chooser) closest(s *Service, list []backend, from netip.Addr, p *zone.Pick) {
	for i := range list {
		for _, n := range list[i].nets {
			p.Scope = max(p.Scope, decides(n, from))
		}
	}
	if s.byPlace {
		c.find(from, p)
	}
	best, kept := forNobody, 0
	for _, i := range c.picked[:c.count] {
		best = max(best, list[i].close(from, c.place))
	}
	for _, i := range c.picked[:c.count] {
		if list[i].close(from, c.place) == best {
			c.picked[kept] = i
			kept++
		}
	}
	c.count = kept
	c.takeTurns(kept)
}

// close returns how well a backend matches a client, higher is better: longer nets first,
// then country, continent, anywhere.
func (b *backend) close(from netip.Addr, p geoip.Place) int {
	if bits := b.bits(from); bits >= 0 {
		return forCountry + 1 + bits
	}
	if by := b.isFor(p); by > 0 {
		return by
	}
	if len(b.nets)+len(b.countries)+len(b.continents) == 0 {
		return forAnybody
	}
	return forNobody
}

func codes(list []string) (out []geoip.Code) {
	for _, text := range list {
		out = append(out, geoip.CodeOf(text))
	}
	return out
}

// vector is a point of the unit sphere.
type vector [3]float32

func vectorOf(latitude, longitude float64) vector {
	north, east := latitude*math.Pi/180, longitude*math.Pi/180
	return vector{float32(math.Cos(north) * math.Cos(east)), float32(math.Cos(north) * math.Sin(east)), float32(math.Sin(north))}
}

// whereIs returns the location of a backend: its configured coordinates, or the location of
// its address.
func whereIs(b *farm.Backend, places *geoip.Table) vector {
	if north, east, err := farm.ParseCoordinates(b.Coordinates); err == nil {
		return vectorOf(north, east)
	}
	if places != nil {
		if p, _ := places.Find(b.Addr); p.Located {
			return vectorOf(float64(p.Latitude), float64(p.Longitude))
		}
	}
	return vector{}
}

// apart returns the squared chord between two points, 0–4, which grows with their distance.
func apart(a, b vector) float32 {
	x, y, z := a[0]-b[0], a[1]-b[1], a[2]-b[2]
	return x*x + y*y + z*z
}

const (
	earth    = 6371 // mean radius in kilometres
	farthest = 5    // unknown: above any result of apart
	// together is the difference of distance to ignore: 25 km, because databases are at best
	// accurate to a city.
	together = 25.0 / earth
)

// nearest orders by distance. Backends about as near as the nearest take turns. If the
// client's location is unknown, all do.
func (c *Chooser) nearest(list []backend, from netip.Addr, p *zone.Pick) {
	c.find(from, p)
	first := c.count
	if c.place.Located {
		client := vectorOf(float64(c.place.Latitude), float64(c.place.Longitude))
		for j, i := range c.picked[:c.count] {
			if c.distances[j] = farthest; list[i].at != (vector{}) {
				c.distances[j] = apart(client, list[i].at)
			}
		}
		for j := 1; j < c.count; j++ { // few: sorted in place
			for k := j; k > 0 && c.distances[k] < c.distances[k-1]; k-- {
				c.distances[k], c.distances[k-1] = c.distances[k-1], c.distances[k]
				c.picked[k], c.picked[k-1] = c.picked[k-1], c.picked[k]
			}
		}
		bound := float32(math.Sqrt(float64(c.distances[0]))) + together
		for first = 1; first < c.count && c.distances[first] <= bound*bound; {
			first++
		}
	}
	c.takeTurns(first)
}

// away returns the distance in kilometres between a backend and a location, or -1 if
// unknown.
func away(b *backend, p geoip.Place) float64 {
	if !p.Located || b.at == (vector{}) {
		return -1
	}
	line := math.Sqrt(float64(apart(vectorOf(float64(p.Latitude), float64(p.Longitude)), b.at)))
	return 2 * earth * math.Asin(min(line/2, 1))
}
