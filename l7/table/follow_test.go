package table_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/table"
)

// contentsOf returns the contents of a table by name, equal for tables with the same contents.
func contentsOf(t *table.Table, at enginetest.Ports) (list []string) {
	for id, f := range t.ByID {
		list = append(list, fmt.Sprintf("farm %d %s %s", id, f.Name, f.Origin))
		f.Each(func(b *table.Backend) {
			list = append(list, fmt.Sprintf("backend %d %s of %d: %t", b.ID, b.Origin, id, t.Backends.Of(b.ID) == b))
		})
	}
	for l, p := range at {
		if f := t.On(p); f != nil {
			list = append(list, fmt.Sprintf("port %s: %d %s %t", l.Key(), f.ID, f.Name, t.ByID[f.ID] == f))
		}
	}
	for _, k := range t.Kinds() {
		if k.Mark != 0 {
			list = append(list, fmt.Sprint("kind ", k))
		}
	}
	slices.Sort(list)
	return append(list, fmt.Sprint(t.Backends.Len()))
}

// A table compiled from another one equals one made from scratch, after any additions,
// removals, moves and refusals of farms, backends and ports.
func TestIncrementalTableEqualsAFullCompilation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p := newPlanner(t, nil, web())
		made := func(id uint32) farm.Farm {
			f := p.cfg.Farms[0].Clone()
			f.ID, f.Name, f.VPort = id, fmt.Sprint("farm", id), uint16(1000+id)
			f.VIP = netip.MustParseAddr("192.0.2.1")
			f.HTTP.Services[0].ID = id
			for i := range f.HTTP.Services[0].Backends {
				f.HTTP.Services[0].Backends[i].ID = id*300 + uint32(i) // on separate pages
			}
			return f
		}
		at := enginetest.Ports{}
		farms, fresh := []farm.Farm{}, uint32(0)
		p.table = &table.Table{}
		for range rapid.IntRange(1, 15).Draw(rt, "changes") {
			next := slices.Clone(farms)
			one := func() *farm.Farm { return &next[rapid.IntRange(0, len(next)-1).Draw(rt, "which")] }
			kind := rapid.SampledFrom([]string{"create", "create", "delete", "port", "swap ports", "stop", "name", "backend", "mark", "order", "bad", "handover"}).Draw(rt, "kind")
			if len(next) == 0 {
				kind = "create"
			}
			switch kind {
			case "create":
				fresh++
				next = slices.Insert(next, rapid.IntRange(0, len(next)).Draw(rt, "at"), made(fresh))
			case "delete":
				i := rapid.IntRange(0, len(next)-1).Draw(rt, "which")
				next = slices.Delete(next, i, i+1)
			case "port":
				one().VPort += 1000
			case "swap ports":
				a, b := one(), one()
				a.VPort, b.VPort = b.VPort, a.VPort
			case "stop":
				f := one()
				f.Stopped = !f.Stopped
			case "name":
				one().Name += "x"
			case "backend":
				f := one()
				*f = f.Clone()
				f.HTTP.Services[0].Backends[0].Port++
			case "mark":
				f := one()
				*f = f.Clone()
				f.HTTP.Services[0].Backends[0].Mark ^= 7
			case "order":
				a, b := one(), one()
				*a, *b = *b, *a
			case "bad": // refused: nothing of it may remain
				f := one()
				*f = f.Clone()
				f.HTTP.Services[0].URL = "("
			case "handover": // a backend moves from one farm to another, with its port
				fresh++
				f := one()
				other := made(fresh)
				other.HTTP.Services[0].Backends[0].ID, other.VPort = f.HTTP.Services[0].Backends[0].ID, f.VPort
				*f = other
			}
			cfg := &farm.Config{Farms: next}
			whole, wrong := p.compiler.Compile(2, false, cfg, nil)
			before := p.table
			made, problems := p.compiler.CompileAfter(before, 2, false, cfg, nil)
			if len(problems) != len(wrong) {
				rt.Fatalf("%v, want %v", problems, wrong)
			}
			if len(problems) > 0 {
				continue
			}
			made.Build.Commit()
			changes := made.Changes()
			if changes == nil && before.ByID != nil {
				rt.Fatal("the table does not follow")
			}
			came := made.Listeners()
			if changes != nil {
				came = changes.Came
			}
			for id := range before.ByID {
				if _, came := changes.Came[id]; (made.ByID[id] == nil) != slices.Contains(changes.Gone, id) || came != (made.ByID[id] != nil && made.ByID[id] != before.ByID[id]) {
					rt.Fatalf("the changes of farm %d are %+v", id, changes)
				}
			}
			at.Bind(made, came)
			at.Bind(whole, whole.Listeners())
			if got, want := contentsOf(made, at), contentsOf(whole, at); !slices.Equal(got, want) {
				rt.Fatalf("after %s\n%q, want\n%q", kind, got, want)
			}
			farms, p.table = next, made
		}
	})
}
