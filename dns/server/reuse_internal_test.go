package server

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/farm/changetest"
	"github.com/sluicelb/sluice/core/geoip"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/stats"
)

func reusingEngine(t *testing.T) *Engine {
	healthTable, err := health.OpenTable(make([]byte, health.TableSize))
	if err != nil {
		t.Fatal(err)
	}
	e := New(nil, healthTable, new(stats.Segment), slog.New(slog.DiscardHandler))
	t.Cleanup(e.Close)
	return e
}

func nameFarm(r *rand.Rand, id uint32) farm.Farm {
	z := farm.NewZone(fmt.Sprintf("z%d.example", r.IntN(5)))
	s := farm.DNSService{ID: id, Name: "s", Backends: []farm.Backend{{ID: id*10 + uint32(r.IntN(3)), Addr: netip.MustParseAddr("192.0.2.1"), Port: uint16(80 + r.IntN(3))}}}
	return farm.Farm{ID: id, Name: fmt.Sprint("names", id), Profile: farm.ProfileGSLB, VIP: netip.MustParseAddr("192.0.2.9"), VPort: 53, Stopped: r.IntN(4) == 0,
		Global: &farm.GSLB{Zones: []farm.Zone{z}, Services: []farm.DNSService{s}}}
}

func describe(t *table) (out []string) {
	for id, f := range t.byID {
		out = append(out, fmt.Sprint("farm ", id, " ", f.name, " ", f.listen, f.source))
	}
	for name, f := range t.byName {
		out = append(out, fmt.Sprint("name ", name, " ", f.id))
	}
	for id, b := range t.backends {
		out = append(out, fmt.Sprint("backend ", id, " ", b.Addr))
	}
	slices.Sort(out)
	return out
}

// take puts the table of a configuration into use.
func (e *Engine) take(t *testing.T, generation uint64, cfg *farm.Config) *table {
	c, problems := e.Compile(generation, false, cfg, nil)
	if len(problems) != 0 {
		t.Fatal(problems)
	}
	c.Use()
	c.Used(cfg)
	return c.(*table)
}

// A table is reused while all gslb farms stay. It must be the table of the configuration.
func TestReusedTablesAreThoseOfTheConfiguration(t *testing.T) {
	e := reusingEngine(t)
	reused := 0
	for i, cfg := range changetest.Mixed(2, 300, nameFarm) {
		generation := uint64(i)
		got := e.take(t, generation+1, cfg)
		want, _ := e.compile(generation+1, cfg)
		if !slices.Equal(describe(got), describe(want)) || got.generation != generation+1 {
			t.Fatalf("generation %d, reused %t: got %v, want %v", got.generation, got.reused, describe(got), describe(want))
		}
		if got.reused {
			reused++
		}
	}
	if reused < 30 {
		t.Errorf("%d tables were reused", reused)
	}
}

// Client locations and certificates change without the farm.
func TestTablesThatDependOnMoreThanFarmsAreNotReused(t *testing.T) {
	r := rand.New(rand.NewPCG(64, 3))
	one := nameFarm(r, 1)
	one.Stopped, one.Global.Services = false, nil // an empty table locates nobody
	cfg := &farm.Config{Farms: []farm.Farm{one}}
	e := reusingEngine(t)
	e.take(t, 1, cfg)
	if !e.take(t, 2, cfg).reused {
		t.Error("the table is not reused")
	}
	e.UsePlaces(new(geoip.Table))
	if got := e.take(t, 3, cfg); got.reused || got.byID[1].places == nil {
		t.Error("the table has no locations")
	}
	bound := *e.table.Load()
	bound.bound = true
	e.table.Store(&bound)
	if e.reuse(4, cfg) != nil {
		t.Error("a table with TLS configurations is reused")
	}
	bound.bound, e.unsettled = false, true
	if e.reuse(4, cfg) != nil {
		t.Error("a table is reused after a refused one")
	}
}
