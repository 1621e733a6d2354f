package farm_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

func withNumbers(before *farm.GSLB, edit func(*farm.GSLB)) *farm.GSLB {
	g := &farm.GSLB{}
	if before != nil {
		f := farm.Farm{Global: before}
		c := f.Clone()
		g = c.Global
	}
	edit(g)
	g.Follow(before, 1)
	return g
}

func TestSerialRisesOnlyWithChangedAnswers(t *testing.T) {
	g := withNumbers(nil, func(g *farm.GSLB) { g.Zones = []farm.Zone{farm.NewZone("Example.com"), farm.NewZone("example.org")} })
	if g.Zones[0].Serial != 1 || g.Zones[0].ID != 1 || g.Zones[1].ID != 2 || g.Zones[0].Records[1].ID != 2 || g.Zones[0].Name != "example.com" {
		t.Fatalf("%+v", g)
	}
	for what, c := range map[string]struct {
		edit func(*farm.GSLB)
		want uint32
	}{
		"nothing":           {func(*farm.GSLB) {}, 1},
		"a comment":         {func(g *farm.GSLB) { g.Zones[0].Records[0].Comment = "mine" }, 1},
		"of another zone":   {func(g *farm.GSLB) { g.Zones[1].TTL = 7 }, 1},
		"the same document": {func(g *farm.GSLB) { g.Zones[0] = farm.NewZone("example.com") }, 1},
		"an order":          {func(g *farm.GSLB) { r := g.Zones[0].Records; r[0], r[1] = r[1], r[0] }, 2},
		"a record more":     {func(g *farm.GSLB) { g.Zones[0].Records = append(g.Zones[0].Records, farm.Record{Name: "www"}) }, 2},
		"a record less":     {func(g *farm.GSLB) { g.Zones[0].Records = g.Zones[0].Records[:1] }, 2},
		"a value":           {func(g *farm.GSLB) { g.Zones[0].Records[1].Data = "192.0.2.1" }, 2},
		"a ttl":             {func(g *farm.GSLB) { g.Zones[0].Records[1].TTL = 5 }, 2},
		"the server":        {func(g *farm.GSLB) { g.Zones[0].NameServer = "ns2" }, 2},
		"the zone's ttl":    {func(g *farm.GSLB) { g.Zones[0].TTL = 5 }, 2},
	} {
		if got := withNumbers(g, c.edit).Zones[0]; got.Serial != c.want || got.ID != 1 {
			t.Errorf("%s: serial %d of zone %d, want %d", what, got.Serial, got.ID, c.want)
		}
	}
	g.Zones[0].Serial = 1<<32 - 1
	if got := withNumbers(g, func(g *farm.GSLB) { g.Zones[0].TTL = 5 }).Zones[0].Serial; got != 1 {
		t.Errorf("behind the highest comes %d, want 1", got)
	}
}

// The serial of a zone imported from another server is continued, because others have copied
// it.
func TestImportedSerialIsContinued(t *testing.T) {
	soa := func(data string) farm.Record { return farm.Record{Name: "@", Type: "SOA", Data: data} }
	g := withNumbers(nil, func(g *farm.GSLB) {
		g.Zones = []farm.Zone{{Name: "a", Serial: 2026010105}, {Name: "b", Records: []farm.Record{soa("ns1 hostmaster ( 70 1 2 3 4 )")}}, {Name: "c", Records: []farm.Record{soa("ns1 hostmaster")}}}
	})
	if g.Zones[0].Serial != 2026010105 || g.Zones[1].Serial != 70 || g.Zones[2].Serial != 1 {
		t.Fatalf("%+v", g.Zones)
	}
	g = withNumbers(g, func(g *farm.GSLB) {
		g.Zones[0].Serial = 3
		g.Zones[1].Records = append(g.Zones[1].Records, farm.Record{Name: "www"})
	})
	if g.Zones[0].Serial != 2026010105 || g.Zones[1].Serial != 71 {
		t.Errorf("an older serial is kept, or the serial does not rise: %+v", g.Zones)
	}
}

func TestRecordIDsAreNeverReused(t *testing.T) {
	g := withNumbers(nil, func(g *farm.GSLB) { g.Zones = []farm.Zone{farm.NewZone("example.com")} })
	g = withNumbers(g, func(g *farm.GSLB) {
		g.Zones[0].Records = append(g.Zones[0].Records[:1], farm.Record{Name: "a", Type: "A", Data: "192.0.2.1"})
	})
	if z := g.Zones[0]; z.Records[0].ID != 1 || z.Records[1].ID != 3 || z.LastRecord != 3 {
		t.Errorf("the number of a deleted record is reused: %+v", z)
	}
	again := withNumbers(g, func(g *farm.GSLB) { // as in a document: without numbers, in another order
		g.Zones[0] = farm.Zone{Name: "example.com", NameServer: "ns1", Records: []farm.Record{{Name: "b", Type: "A", Data: "192.0.2.2"}, {Name: "A", Type: "A", Data: "192.0.2.1"}, {Name: "@", Type: "NS", Data: "ns1"}}}
	})
	if z := again.Zones[0]; z.Records[0].ID != 4 || z.Records[1].ID != 3 || z.Records[2].ID != 1 || z.LastRecord != 4 || z.ID != 1 {
		t.Errorf("%+v", z)
	}
	one := withNumbers(g, func(g *farm.GSLB) { g.Zones[0].Records[1].ID = 0 })
	if z := one.Zones[0]; z.Records[1].ID != 3 || z.LastRecord != 3 {
		t.Errorf("the only record without a number does not get its previous number: %+v", z)
	}
	twice := withNumbers(g, func(g *farm.GSLB) { g.Zones[0].Records = append(g.Zones[0].Records, g.Zones[0].Records[1]) })
	if z := twice.Zones[0]; z.Records[1].ID != 3 || z.Records[2].ID != 4 {
		t.Errorf("%+v", z)
	}
	pair := farm.Record{Name: "twice", Type: "A", Data: "192.0.2.1"}
	g = withNumbers(nil, func(g *farm.GSLB) {
		g.Zones = []farm.Zone{{Name: "example.com", Records: []farm.Record{pair, pair, pair}}}
	})
	lost := withNumbers(g, func(g *farm.GSLB) { g.Zones[0].Records[1].ID, g.Zones[0].Records[2].ID = 0, 0 })
	if r := z(lost).Records; r[1].ID != 2 || r[2].ID != 3 {
		t.Errorf("equal records get %d and %d", r[1].ID, r[2].ID)
	}
	older := &farm.GSLB{Zones: []farm.Zone{{Name: "example.com", Records: []farm.Record{pair, {ID: 5, Name: "x"}}}}}
	first := &farm.GSLB{Zones: []farm.Zone{{Name: "example.com", Records: []farm.Record{pair, pair}}}}
	if first.Follow(older, 1); z(first).Records[0].ID != 1 || z(first).Records[1].ID != 2 {
		t.Errorf("next to a zone without numbers: %+v", z(first).Records)
	}
	if at, r := z(twice).Find(3); at != 2 || r.ID != 4 {
		t.Errorf("number 3 is %+v at %d", r, at)
	}
	if at, _ := z(twice).Find(9); at != -1 {
		t.Errorf("number 9 is at %d", at)
	}
	gone := withNumbers(again, func(g *farm.GSLB) { g.Zones = nil })
	if back := withNumbers(gone, func(g *farm.GSLB) { g.Zones = []farm.Zone{farm.NewZone("example.net")} }); back.Zones[0].ID != 2 {
		t.Errorf("the number of a deleted zone is reused: got %d, want 2", back.Zones[0].ID)
	}
}

func z(g *farm.GSLB) *farm.Zone { return &g.Zones[0] }

// A fully numbered farm is not copied.
func TestNumberedFarmIsNotCopied(t *testing.T) {
	made := func(spoil func(*farm.Farm)) *farm.Farm {
		g := withNumbers(nil, func(g *farm.GSLB) {
			g.Zones = []farm.Zone{farm.NewZone("example.com")}
			g.Services = []farm.DNSService{{Name: "shop", Backends: make([]farm.Backend, 2)}}
		})
		f := &farm.Farm{Name: "names", Profile: farm.ProfileGSLB, Global: g}
		f.Groups()[0].GiveNumbers()
		spoil(f)
		return f
	}
	for name, spoil := range map[string]func(*farm.Farm){
		"the zone":               func(f *farm.Farm) { f.Global.Zones[0].ID = 0 },
		"the last zone":          func(f *farm.Farm) { f.Global.LastZone = 0 },
		"a record":               func(f *farm.Farm) { f.Global.Zones[0].Records[1].ID = 0 },
		"the last record":        func(f *farm.Farm) { f.Global.Zones[0].LastRecord = 1 },
		"a backend":              func(f *farm.Farm) { f.Global.Services[0].Backends[1].Slot = 0 },
		"the last backend":       func(f *farm.Farm) { *f.Groups()[0].LastSlotAt() = 0 },
		"a number that is twice": func(f *farm.Farm) { f.Global.Services[0].Backends[1].Slot = 1 },
	} {
		if made(spoil).Numbered() {
			t.Errorf("%s has none", name)
		}
	}
	for _, f := range []*farm.Farm{made(func(*farm.Farm) {}), {HTTP: farm.DefaultHTTP()}, {}} {
		if !f.Numbered() {
			t.Errorf("%+v", f)
		}
	}
}

func TestServicesAreFoundAndKnowTheirUse(t *testing.T) {
	g := &farm.GSLB{Services: []farm.DNSService{{Name: "shop", Algorithm: farm.DNSPriority, Backends: make([]farm.Backend, 3)}, {Name: "idle", Algorithm: farm.DNSRoundRobin, Backends: make([]farm.Backend, 3)}},
		Zones: []farm.Zone{{Name: "a", Records: []farm.Record{{Type: farm.RecordDYNA, Data: "shop"}}}, {Name: "b", Records: []farm.Record{{Type: "TXT", Data: "shop"}}}}}
	if used := g.UsedBy("shop"); len(used) != 1 || used[0] != "a" || len(g.UsedBy("idle")) != 0 || g.Service("none") != nil || g.Zone("c") != nil {
		t.Errorf("%v", used)
	}
	if s := g.Service("shop"); s.MostAnswers() != 1 || g.Service("idle").MostAnswers() != 3 {
		t.Errorf("%d answers", s.MostAnswers())
	}
	f := farm.Farm{Name: "names", Global: g}
	if numbers := f.Groups()[0].Numbers(); numbers[0] != 1 || f.Groups()[0].Position(2) != 1 || f.Groups()[0].Number(0) != 1 {
		t.Errorf("the primary is %d", numbers[0])
	}
}
