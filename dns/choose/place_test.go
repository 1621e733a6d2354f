package choose_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/geoip"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/dns/wire"
	"github.com/sluicelb/sluice/dns/zone"
)

// world returns a table of locations: Munich, Paris, New York, somewhere in Africa, and
// Japan without coordinates. The backends' own net is in Munich.
func world(t *testing.T) *geoip.Table {
	t.Helper()
	b := geoip.NewBuilder()
	for _, one := range []struct {
		net, country, continent string
		at                      []float32
	}{
		{"10.1.0.0/16", "DE", "EU", []float32{48.14, 11.58}},
		{"10.2.0.0/16", "FR", "EU", []float32{48.85, 2.35}},
		{"10.3.0.0/16", "US", "NA", []float32{40.71, -74.01}},
		{"10.4.0.0/16", "", "AF", []float32{0, 20}},
		{"10.5.0.0/16", "JP", "AS", nil},
		{"192.0.2.0/24", "DE", "EU", []float32{48.14, 11.58}},
	} {
		p := geoip.Place{Country: geoip.CodeOf(one.country), Continent: geoip.CodeOf(one.continent)}
		if one.at != nil {
			p.Located, p.Latitude, p.Longitude = true, one.at[0], one.at[1]
		}
		if err := b.Add(netip.MustParsePrefix(one.net), p); err != nil {
			t.Fatal(err)
		}
	}
	table, err := geoip.Open(b.Memory(0))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestBackendsForCountriesAndContinents(t *testing.T) {
	edit := func(s *farm.DNSService) {
		s.Algorithm, s.Answers = farm.DNSGeo, 9
		s.Backends[0].Countries = []string{"DE", "AT"}
		s.Backends[1].Continents = []string{"EU"}
		s.Backends[2].Nets = []netip.Prefix{netip.MustParsePrefix("10.1.9.0/24")}
		s.Backends[3].Countries, s.Backends[3].Continents = []string{"US"}, []string{"AF"}
	}
	b := newBoardOf(t, world(t), 5, edit)
	for _, c := range []struct {
		client string
		want   []int
		scope  uint8
	}{
		{"10.1.0.1", []int{1}, 21},   // its country; another's net uses 20 bits
		{"10.1.9.1", []int{3}, 24},   // a net has priority
		{"10.2.0.1", []int{2}, 16},   // its continent
		{"10.3.0.1", []int{4}, 16},   // its country
		{"10.4.0.1", []int{4}, 16},   // its continent, with an unknown country
		{"10.5.0.1", []int{5}, 16},   // none for Asia: the unrestricted one
		{"203.0.113.1", []int{5}, 5}, // unknown location
		{"192.0.2.9", []int{1}, 24},  // DE
	} {
		got, p := b.ask(c.client)
		if !slices.Equal(got, c.want) || p.Scope != c.scope {
			t.Errorf("%s: %v with a scope of %d, want %v, %d", c.client, got, p.Scope, c.want, c.scope)
		}
		for _, told := range b.told {
			if told.Taken != slices.Contains(c.want, told.Number) {
				t.Errorf("%s: %+v", c.client, told)
			}
		}
	}
	if b.told[0].Near != true || b.told[3].Near || b.Place().Country != geoip.CodeOf("DE") {
		t.Errorf("%+v, %v", b.told, b.Place())
	}
	// backends that are down do not count
	b.set(health.Down, 1)
	if got, _ := b.ask("10.1.0.1"); !slices.Equal(got, []int{2}) {
		t.Errorf("its country is down: %v", got)
	}
	b.set(health.Down, 2, 5)
	if got, _ := b.ask("10.2.0.1"); len(got) != 2 { // 3 and 4, for other clients
		t.Errorf("all that is for it is down: %v", got)
	}
	// without a table locations are unknown
	if got, p := newBoard(t, 5, edit).ask("10.1.0.1"); !slices.Equal(got, []int{5}) || p.Scope != 21 {
		t.Errorf("without a table: %v, %d", got, p.Scope)
	}
	// any net has priority over a country, and a single country requires a lookup
	all := netip.MustParsePrefix("0.0.0.0/0")
	if got, _ := newBoardOf(t, world(t), 2, func(s *farm.DNSService) {
		s.Algorithm, s.Answers = farm.DNSGeo, 9
		s.Backends[0].Nets, s.Backends[1].Countries = []netip.Prefix{all}, []string{"DE"}
	}).ask("10.1.0.1"); !slices.Equal(got, []int{1}) {
		t.Errorf("a net of everybody: %v", got)
	}
	if got, _ := newBoardOf(t, world(t), 2, func(s *farm.DNSService) {
		s.Algorithm, s.Backends[1].Countries = farm.DNSGeo, []string{"DE"}
	}).ask("10.1.0.1"); !slices.Equal(got, []int{2}) {
		t.Errorf("one country: %v", got)
	}
	// nets alone need no table
	if _, p := newBoardOf(t, world(t), 2, func(s *farm.DNSService) {
		s.Algorithm, s.Backends[0].Nets = farm.DNSGeo, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	}).ask("203.0.113.1"); p.Scope != 1 {
		t.Errorf("scope %d, want 1", p.Scope)
	}
}

func TestDistanceReturnsTheNearestBackend(t *testing.T) {
	b := newBoardOf(t, world(t), 6, func(s *farm.DNSService) {
		s.Algorithm, s.Answers = farm.DNSNearest, 9
		s.Backends[1].Coordinates = "48.85,2.35"   // Paris
		s.Backends[2].Coordinates = "40.71,-74.01" // New York
		s.Backends[3].Coordinates = "48.20,11.60"  // 7 km from Munich, where the first is
		s.Backends[4].Coordinates = "-33.9,18.4"   // Cape Town
		s.Backends[5].Addr = netip.MustParseAddr("198.51.100.6")
		s.Backends[5].Host = "198.51.100.6" // unknown location
	})
	for client, want := range map[string][]int{
		"10.2.0.1": {2, 1, 4, 3, 5, 6}, "10.3.0.1": {3, 2, 4, 1, 5, 6}, "10.4.0.1": {5, 1, 4, 2, 3, 6},
	} {
		if got, p := b.ask(client); !slices.Equal(got, want) || p.Scope != 16 {
			t.Errorf("%s: %v, %d; want %v", client, got, p.Scope, want)
		}
	}
	firsts := map[int]int{}
	for range 10 { // as near as the other
		got, _ := b.ask("10.1.0.1")
		firsts[got[0]]++
	}
	if firsts[1] != 5 || firsts[4] != 5 {
		t.Errorf("in Munich %v", firsts)
	}
	for _, told := range b.told {
		switch told.Number {
		case 2:
			if told.Away < 670 || told.Away > 700 { // 685 km
				t.Errorf("Paris is %v km away", told.Away)
			}
		case 3:
			if told.Away < 6450 || told.Away > 6520 {
				t.Errorf("New York is %v km away", told.Away)
			}
		case 6:
			if told.Away != -1 {
				t.Errorf("an unknown location is %v km away", told.Away)
			}
		}
	}
	all := map[int]int{}
	for range 60 { // unknown client location
		got, _ := b.ask("10.5.0.1")
		all[got[0]]++
	}
	if len(all) != 6 {
		t.Errorf("clients with an unknown location get %v", all)
	}
	var q wire.Query
	var p zone.Pick
	b.Trail = nil
	q.Client = netip.MustParseAddr("10.1.0.1")
	if n := testing.AllocsPerRun(100, func() { p = zone.Pick{}; b.Choose(0, &q, false, &p) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestEveryAlgorithmGivesReasons(t *testing.T) {
	for _, a := range farm.DNSAlgorithms() {
		b := newBoard(t, 3, func(s *farm.DNSService) { s.Algorithm, s.Answers = a, 1 })
		b.ask("10.0.0.1")
		for _, told := range b.told {
			if strings.TrimSpace(told.Reason) == "" {
				t.Errorf("%s: %+v", a, told)
			}
		}
	}
}
