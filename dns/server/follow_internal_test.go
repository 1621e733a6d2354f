package server

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/engine"
	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/farm/changetest"
	"github.com/sluicelb/sluice/core/geoip"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/stats"
)

func followingEngine(t *testing.T) *Engine {
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
	return farm.Farm{ID: id, Name: fmt.Sprint("names", id), Profile: farm.ProfileGSLB, VIP: netip.MustParseAddr("192.0.2.9"), VPort: uint16(53 + id), Stopped: r.IntN(4) == 0,
		Global: &farm.GSLB{Zones: []farm.Zone{z}, Services: []farm.DNSService{s}}}
}

func describe(t *table, at enginetest.Ports) (out []string) {
	for id, f := range t.ByID {
		out = append(out, fmt.Sprint("farm ", id, " ", f.name, " ", f.listen, f.source))
		for i := range f.backends {
			b := &f.backends[i]
			out = append(out, fmt.Sprint("backend ", b.ID, " ", b.Addr, " ", t.Reached(b.ID) == b))
		}
	}
	for name, f := range t.byName {
		out = append(out, fmt.Sprint("name ", name, " ", t.ByID[f.id] == f))
	}
	for l, p := range at {
		if f := t.On(p); f != nil {
			out = append(out, fmt.Sprint("port ", l.Key(), " ", t.ByID[f.id] == f))
		}
	}
	slices.Sort(out)
	return append(out, fmt.Sprint(t.backends.Len()))
}

// take puts the table of a configuration into use.
func (e *Engine) take(t *testing.T, generation uint64, cfg *farm.Config) *table {
	is, _ := e.takeWith(t, generation, cfg)
	return is
}

// takeWith also returns the changes, which the table forgets.
func (e *Engine) takeWith(t *testing.T, generation uint64, cfg *farm.Config) (*table, *engine.Changes) {
	c, problems := e.Compile(generation, false, cfg, nil)
	if len(problems) != 0 {
		t.Fatal(problems)
	}
	changes := c.Changes()
	c.Use()
	c.Used(cfg)
	return c.(*table), changes
}

// A table that follows another one equals one made from scratch.
func TestIncrementalTablesEqualAFullCompilation(t *testing.T) {
	e, whole := followingEngine(t), followingEngine(t)
	at, kept := enginetest.Ports{}, 0
	for i, cfg := range changetest.Mixed(2, 300, nameFarm) {
		generation, before := uint64(i)+1, e.table.Load()
		got, changes := e.takeWith(t, generation, cfg)
		whole.table.Store(&table{})
		want := whole.take(t, generation, cfg)
		if got.Farms.Fresh != nil || got.Left != nil {
			t.Fatalf("generation %d keeps the farms before it in memory", generation)
		}
		came := got.Listeners()
		if changes != nil {
			came = changes.Came
		}
		at.Bind(got, came)
		at.Bind(want, want.Listeners())
		if a, b := describe(got, at), describe(want, at); !slices.Equal(a, b) || got.generation != generation {
			t.Fatalf("generation %d: got %v, want %v", got.generation, a, b)
		}
		for id, f := range before.ByID {
			if got.ByID[id] == f {
				kept++
			}
		}
		for id := range uint32(400) {
			if a, b := e.kept.Has(id) != nil, whole.kept.Has(id) != nil; a != b {
				t.Fatalf("generation %d: state of farm %d is kept: %t, want %t", generation, id, a, b)
			}
		}
	}
	if kept < 300 {
		t.Errorf("%d farms were kept", kept)
	}
}

func TestFarmsAreCompiledAgainWithOtherLocations(t *testing.T) {
	one := nameFarm(rand.New(rand.NewPCG(64, 3)), 1)
	one.Stopped, one.Global.Services = false, nil // an empty table locates nobody
	cfg := &farm.Config{Farms: []farm.Farm{one}}
	e := followingEngine(t)
	first := e.take(t, 1, cfg)
	if e.take(t, 2, cfg).ByID[1] != first.ByID[1] {
		t.Error("the farm was compiled again")
	}
	e.UsePlaces(new(geoip.Table))
	if got := e.take(t, 3, cfg); got.ByID[1].places == nil || got.ByID[1].zones != first.ByID[1].zones {
		t.Error("the farm has no locations or its zones were recompiled")
	}
}

// A refused configuration leaves no state behind.
func TestARefusedTableLeavesNoState(t *testing.T) {
	r := rand.New(rand.NewPCG(64, 3))
	one, two := nameFarm(r, 1), nameFarm(r, 2)
	one.Stopped, two.Stopped = false, false
	cfg := &farm.Config{Farms: []farm.Farm{one}}
	e := followingEngine(t)
	e.take(t, 1, cfg)
	if _, problems := e.Compile(2, false, &farm.Config{Farms: []farm.Farm{one, two}}, nil); len(problems) != 0 || e.kept.Has(2) == nil {
		t.Fatal(problems)
	}
	if e.take(t, 3, cfg); e.kept.Has(2) != nil || e.kept.Has(1) == nil {
		t.Error("state of the refused farm stays")
	}
}
