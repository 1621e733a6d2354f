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
	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/farm/changetest"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/marks"
)

// relay returns a random l4xnat farm, in most cases in userspace.
func relay(r *rand.Rand, id uint32) farm.Farm {
	l := farm.DefaultL4()
	l.ID, l.DataPath, l.Ports = id, farm.DataPathUserspace, []farm.PortRange{{First: uint16(2 * id), Last: uint16(2*id + uint32(r.IntN(2)))}}
	if r.IntN(5) == 0 {
		l.DataPath = farm.DataPathKernel
	}
	l.Algorithm = []farm.L4Algorithm{farm.L4Weight, farm.L4LeastConn}[r.IntN(2)]
	l.Persist = []farm.L4Persistence{farm.L4PersistNone, farm.L4PersistSrc}[r.IntN(2)]
	l.MaxConnections = uint32(r.IntN(2))
	if r.IntN(3) == 0 {
		l.Protocol, l.QUIC = farm.L4UDP, true
	}
	for k := range uint32(1 + r.IntN(2)) {
		b := farm.Backend{ID: id*16 + k + uint32(r.IntN(3)*3), Addr: netip.MustParseAddr("192.0.2.1"), Port: uint16(80 + r.IntN(3)), ConnLimit: uint32(r.IntN(2))}
		b.Mark = uint32(r.IntN(2) * 7)
		if r.IntN(4) == 0 {
			b.Maintenance = cut
		}
		l.Backends = append(l.Backends, b)
	}
	return farm.Farm{ID: id, Name: fmt.Sprint("relay", id), Profile: farm.ProfileL4, VIP: netip.MustParseAddr("192.0.2.9"), Stopped: r.IntN(4) == 0, L4: l}
}

// describe returns the contents of a table and of its ports.
func describe(t *table, at enginetest.Ports) (out []string) {
	for id, f := range t.ByID {
		out = append(out, fmt.Sprint("farm ", id, " ", f.name, " ", f.listeners, " ", f.algorithm, " ", f.maxConns, " ", f.kept))
		for i := range f.backends {
			b := &f.backends[i]
			out = append(out, fmt.Sprint("backend ", b.id, " ", b.addr, " ", b.mode, " of ", id, " ", t.backends.Of(b.id) == b))
		}
	}
	for l, p := range at {
		if f := t.On(p); f != nil {
			out = append(out, fmt.Sprint("port ", l.Key(), " ", f.id, " ", t.ByID[f.id] == f))
		}
	}
	for _, k := range t.Kinds() {
		if k.Mark != 0 {
			out = append(out, fmt.Sprint("kind ", k))
		}
	}
	slices.Sort(out)
	return append(out, fmt.Sprint(t.backends.Len()))
}

// keeps returns the numbers of the state in r.
func (r *registries) keeps() (out []string) {
	for id := range uint32(6000) {
		for name, is := range map[string]bool{
			"load": r.loads.Has(id) != nil, "count": r.conns.Has(id) != nil, "ids": r.ids.Has(id) != nil, "rotation": r.states.Has(stateOf{id, ""}) != nil,
			"sessions": r.tables.Has(sessionsOf{id, farm.L4PersistSrc}) != nil,
		} {
			if is {
				out = append(out, fmt.Sprint(name, " ", id))
			}
		}
	}
	slices.Sort(out)
	return out
}

func followingEngine(t *testing.T) *Engine {
	healthTable, err := health.OpenTable(make([]byte, health.TableSize))
	if err != nil {
		t.Fatal(err)
	}
	e := &Engine{Base: engine.Base[*worker]{Health: healthTable}, registries: newRegistries()}
	e.table.Store(&table{})
	return e
}

// take puts the table of a configuration into use.
func (e *Engine) take(generation uint64, cfg *farm.Config) *table {
	t, _ := e.takeWith(generation, cfg)
	return t
}

// takeWith also returns the changes, which the table forgets.
func (e *Engine) takeWith(generation uint64, cfg *farm.Config) (*table, *engine.Changes) {
	c, _ := e.Compile(generation, false, cfg, nil)
	t, changes := c.(compiled).table, c.Changes()
	e.table.Store(t)
	c.Used(cfg)
	return t, changes
}

// A table compiled from the previous one equals one made from scratch, and so does the state
// that outlives it.
func TestIncrementalTablesEqualAFullCompilation(t *testing.T) {
	e, whole := followingEngine(t), followingEngine(t)
	at, kept := enginetest.Ports{}, 0
	for i, cfg := range changetest.Mixed(2, 300, relay) {
		generation, before := uint64(i)+1, e.table.Load()
		got, changes := e.takeWith(generation, cfg)
		whole.unsettled = true
		want := whole.take(generation, cfg)
		if got.Farms.Fresh != nil || got.Left != nil {
			t.Fatalf("generation %d keeps the farms before it in memory", generation)
		}
		came := got.Listeners()
		if changes != nil {
			came = changes.Came
			for id, f := range before.ByID {
				_, again := came[id]
				if now := got.ByID[id]; (now == nil) != slices.Contains(changes.Gone, id) || again != (now != nil && now != f) {
					t.Fatalf("generation %d: the changes of farm %d are %+v", generation, id, changes)
				}
				if got.ByID[id] == f {
					kept++
				}
			}
		}
		was := describe(before, at)
		at.Bind(got, came)
		if now := describe(before, at); !slices.Equal(was, now) {
			t.Fatalf("generation %d changed the table before: %v, was %v", generation, now, was)
		}
		at.Bind(want, want.Listeners())
		if a, b := describe(got, at), describe(want, at); !slices.Equal(a, b) || got.generation != generation || got.marked != want.marked {
			t.Fatalf("generation %d: got %v, want %v", got.generation, a, b)
		}
		if a, b := e.registries.keeps(), whole.registries.keeps(); !slices.Equal(a, b) {
			t.Fatalf("generation %d keeps %v, want %v", generation, a, b)
		}
	}
	if kept < 300 {
		t.Errorf("%d farms were kept", kept)
	}
}

// A table is not taken over if it lacks a farm because a socket was missing, or while a
// refused table may have left state behind.
func TestIncompleteTablesAreNotUpdated(t *testing.T) {
	r := rand.New(rand.NewPCG(64, 3))
	one := relay(r, 1)
	one.Stopped = false
	one.L4.Mark = 7
	cfg := &farm.Config{Farms: []farm.Farm{one}}
	e := followingEngine(t)
	kind := marks.Of(&one, &one.L4.Backends[0])
	c, problems := e.Compile(1, true, cfg, map[marks.Kind]error{kind: errors.New("no socket")})
	e.table.Store(c.(compiled).table)
	c.Used(cfg)
	if len(problems) != 1 {
		t.Fatalf("problems: %v", problems)
	}
	if got := e.take(2, cfg); len(got.ByID) != 1 {
		t.Error("the farm is missing once there are sockets")
	}
	kept := e.table.Load().ByID[1]
	if got := e.take(3, cfg); got.ByID[1] != kept {
		t.Error("the farm was compiled again")
	}
	if c, problems := e.Compile(4, false, cfg, map[marks.Kind]error{kind: errors.New("no socket")}); len(problems) != 1 || len(c.(compiled).ByID) != 0 {
		t.Errorf("a farm that is served lacks a socket: %v", problems)
	}
	refused := &farm.Config{Farms: []farm.Farm{one, relay(r, 2)}}
	refused.Farms[1].Stopped, refused.Farms[1].L4.Algorithm = false, farm.L4LeastConn
	if _, problems := e.Compile(4, false, refused, nil); len(problems) != 0 {
		t.Fatal(problems)
	}
	e.take(5, cfg)
	id := refused.Farms[1].L4.Backends[0].ID
	if e.registries.loads.Has(id) != nil {
		t.Error("state of the refused farm stays")
	}
	if len(slices.Collect(maps.Keys(e.table.Load().ByID))) != 1 {
		t.Error("the farm is missing")
	}
}
