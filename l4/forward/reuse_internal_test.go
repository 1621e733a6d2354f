package forward

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/engine"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/farm/changetest"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/marks"
)

// relay returns an l4xnat farm in userspace with a random backend.
func relay(r *rand.Rand, id uint32) farm.Farm {
	l := farm.DefaultL4()
	l.ID, l.DataPath, l.Ports = id, farm.DataPathUserspace, []farm.PortRange{{First: uint16(id), Last: uint16(id)}}
	l.Backends = []farm.Backend{{ID: id*10 + uint32(r.IntN(3)), Addr: netip.MustParseAddr("192.0.2.1"), Port: uint16(80 + r.IntN(3))}}
	return farm.Farm{ID: id, Name: fmt.Sprint("relay", id), Profile: farm.ProfileL4, VIP: netip.MustParseAddr("192.0.2.9"), Stopped: r.IntN(4) == 0, L4: l}
}

func describe(t *table) (out []string) {
	for id, f := range t.byID {
		out = append(out, fmt.Sprint("farm ", id, " ", f.name, " ", f.listeners))
	}
	for id, b := range t.backends {
		out = append(out, fmt.Sprint("backend ", id, " ", b.addr))
	}
	slices.Sort(out)
	return out
}

func reusingEngine(t *testing.T) *Engine {
	healthTable, err := health.OpenTable(make([]byte, health.TableSize))
	if err != nil {
		t.Fatal(err)
	}
	e := &Engine{Base: engine.Base[*worker]{Health: healthTable}, registry: newRegistry()}
	e.table.Store(&table{})
	return e
}

// take puts the table of a configuration into use.
func (e *Engine) take(generation uint64, cfg *farm.Config) *table {
	c, _ := e.Compile(generation, false, cfg, nil)
	t := c.(compiled).table
	e.table.Store(t)
	c.Used(cfg)
	return t
}

// A table is reused while all l4xnat farms stay. It must be the table of the configuration.
func TestReusedTablesAreThoseOfTheConfiguration(t *testing.T) {
	e := reusingEngine(t)
	reused := 0
	for i, cfg := range changetest.Mixed(2, 300, relay) {
		generation := uint64(i)
		got := e.take(generation+1, cfg)
		want, _ := e.compile(generation+1, cfg, nil)
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

// A table without a farm that lacks its mark is not reused, nor one while a refused table may
// have left state behind.
func TestTablesThatLackFarmsAreNotReused(t *testing.T) {
	r := rand.New(rand.NewPCG(64, 3))
	one := relay(r, 1)
	one.Stopped = false
	one.L4.Mark = 7
	cfg := &farm.Config{Farms: []farm.Farm{one}}
	e := reusingEngine(t)
	kind := marks.Of(&one, &one.L4.Backends[0])
	c, problems := e.Compile(1, true, cfg, map[marks.Kind]error{kind: errors.New("no socket")})
	e.table.Store(c.(compiled).table)
	c.Used(cfg)
	if len(problems) != 1 {
		t.Fatalf("problems: %v", problems)
	}
	if got := e.take(2, cfg); len(got.byID) != 1 {
		t.Error("the farm is missing once there are sockets")
	}
	if got := e.take(3, cfg); !got.reused {
		t.Error("the table is not reused")
	}
	refused := &farm.Config{Farms: []farm.Farm{one, relay(r, 2)}}
	refused.Farms[1].Stopped, refused.Farms[1].L4.Algorithm = false, farm.L4LeastConn
	if _, problems := e.Compile(4, false, refused, nil); len(problems) != 0 {
		t.Fatal(problems)
	}
	e.take(5, cfg)
	id := refused.Farms[1].L4.Backends[0].ID
	if e.registry.loads.Has(id) != nil {
		t.Error("state of the refused farm stays")
	}
	if len(slices.Collect(maps.Keys(e.table.Load().byID))) != 1 {
		t.Error("the farm is missing")
	}
}
