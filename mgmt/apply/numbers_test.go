package apply_test

import (
	"context"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// A noted number must never hit another backend later: not after a delete, a restart, a
// document or a rollback.
func TestNumbersOfDeletedBackendsAreNotReused(t *testing.T) {
	for name, first := range map[string]farm.Farm{"service": shop("a", 8080), "l4xnat": relay("a", 5000)} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			group := func() farm.Group {
				cfg, _ := h.Current()
				return cfg.Farm("a").Groups()[0]
			}
			want := func(numbers ...int) {
				t.Helper()
				if got := group().Numbers(); !slices.Equal(got, numbers) {
					t.Errorf("numbers %v, want %v", got, numbers)
				}
			}
			of := func(port uint16) func(*farm.Config) error {
				return func(c *farm.Config) error {
					c.Farm("a").Groups()[0].Add(farm.Backend{Host: "127.0.0.1", Port: port})
					return nil
				}
			}
			deleteLast := func(c *farm.Config) error {
				g := c.Farm("a").Groups()[0]
				g.SetBackends(g.Backends()[:len(g.Backends())-1])
				return nil
			}
			h.must(add(first))
			two := h.must(of(1)).Revision.Number
			want(0, 1)
			h.must(deleteLast)
			h.Applier = apply.New(h.store, h.pub, apply.WithRules(validate.Rules{})) // restart
			h.must(of(2))
			want(0, 2)
			cfg, _ := h.Current()
			h.must(deleteLast)
			doc := cfg.Clone()
			document.StripIDs(doc.Farm("a")) // a document has no numbers
			doc.Farms[0].Groups()[0].SetBackends([]farm.Backend{{Host: "127.0.0.1", Port: 8081}, {Host: "127.0.0.1", Port: 3}})
			if _, err := h.Replace(context.Background(), root, "", 0, doc); err != nil {
				t.Fatal(err)
			}
			want(0, 3)
			if _, err := h.Rollback(context.Background(), root, "", 0, two); err != nil {
				t.Fatal(err)
			}
			want(0, 4)
		})
	}
}

// A store written by an older release has no numbers.
func TestBackendsOfAnOlderStoreAreNumbered(t *testing.T) {
	h := newHouse(t)
	f := shop("a", 8080)
	f.HTTP.Services[0].Backends = append(f.HTTP.Services[0].Backends, farm.Backend{Host: "127.0.0.1", Port: 8082})
	cfg := &farm.Config{Farms: []farm.Farm{f}}
	if err := h.store.GiveIDs(cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := h.store.Commit(cfg, store.Meta{}); err != nil {
		t.Fatal(err)
	}
	now, _ := apply.New(h.store, h.pub).Current()
	if g := now.Farms[0].Groups()[0]; *g.LastSlotAt() != 2 || g.Backends()[1].Slot != 2 { // unaffected by deletions
		t.Errorf("numbers of %+v up to %d", g.Backends(), *g.LastSlotAt())
	}
	if f.HTTP.Services[0].Backends[1].Slot != 0 {
		t.Error("the configuration in the store was written to")
	}
	if _, err := h.store.Commit(now, store.Meta{}); err != nil {
		t.Fatal(err)
	}
	if again, _ := apply.New(h.store, h.pub).Current(); !again.Farms[0].Same(&now.Farms[0]) {
		t.Error("a farm that has its numbers is copied")
	}
}

// A copy is another farm, so the numbers of its backends start at 0.
func TestCopiedFarmRenumbersItsBackends(t *testing.T) {
	h := newHouse(t)
	h.must(add(shop("a", 8080)))
	h.must(func(c *farm.Config) error {
		g := c.Farm("a").Groups()[0]
		g.Add(farm.Backend{Host: "127.0.0.1", Port: 1})
		g.SetBackends(g.Backends()[1:])
		return nil
	})
	h.must(func(c *farm.Config) error {
		f := c.Farm("a").Clone()
		document.StripIDs(&f)
		f.Name, f.VPort = "b", 8081
		c.Farms = append(c.Farms, f)
		return nil
	})
	cfg, _ := h.Current()
	if a, b := cfg.Farm("a").Groups()[0].Numbers(), cfg.Farm("b").Groups()[0].Numbers(); !slices.Equal(a, []int{1}) || !slices.Equal(b, []int{0}) {
		t.Errorf("numbers %v of the farm, %v of its copy", a, b)
	}
}
