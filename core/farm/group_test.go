package farm_test

import (
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

func TestGroupsCoverServicesAndL4Farms(t *testing.T) {
	shop := farm.Farm{Name: "shop", HTTP: &farm.HTTP{Services: []farm.Service{
		{ID: 3, Name: "web", Persistence: farm.PersistIP, Backends: []farm.Backend{{ID: 1}}}, {ID: 4, Name: "api"}}}}
	dns := farm.Farm{Name: "dns", L4: &farm.L4{ID: 5, Persist: farm.L4PersistSrc, Backends: []farm.Backend{{ID: 2}, {ID: 7}}}}
	var seen []string
	for _, f := range []*farm.Farm{&shop, &dns, {Name: "none"}} {
		for _, g := range f.Groups() {
			seen = append(seen, g.String(), g.Name())
			if want := map[uint32]int{3: 1, 4: 0, 5: 2}[g.ID()]; len(g.Backends()) != want || g.KeepsSessions() != (want > 0) {
				t.Errorf("%s: %d backends, sessions %v", g, len(g.Backends()), g.KeepsSessions())
			}
			g.SetBackends([]farm.Backend{{ID: 9}})
		}
	}
	if want := []string{"service web of farm shop", "web", "service api of farm shop", "api", "farm dns", ""}; !slices.Equal(seen, want) {
		t.Errorf("groups %q, want %q", seen, want)
	}
	if shop.HTTP.Services[1].Backends[0].ID != 9 || len(dns.L4.Backends) != 1 || dns.L4.Backends[0].ID != 9 {
		t.Error("backends were set in a copy")
	}
	*shop.Groups()[0].IDAt(), *dns.Groups()[0].IDAt() = 8, 9
	if shop.HTTP.Services[0].ID != 8 || dns.L4.ID != 9 {
		t.Error("numbers were set in a copy")
	}
	if (farm.Group{}).Backends() != nil {
		t.Error("no group has backends")
	}
}

func TestBackendIDsAreStableAndNeverReused(t *testing.T) {
	three := []farm.Backend{{ID: 1}, {ID: 2}, {ID: 3}}
	for name, g := range map[string]farm.Group{
		"service": (&farm.Farm{}).GroupOf(&farm.Service{Backends: slices.Clone(three)}),
		"l4xnat":  (&farm.Farm{L4: &farm.L4{Backends: slices.Clone(three)}}).Own(),
	} {
		t.Run(name, func(t *testing.T) {
			check := func(want ...int) {
				t.Helper()
				got := g.Numbers()
				if !slices.Equal(got, want) {
					t.Errorf("numbers %v, want %v", got, want)
				}
				for at, number := range got {
					if g.Number(at) != number || g.Position(number) != at {
						t.Errorf("number %d at %d is %d at %d", number, at, g.Number(at), g.Position(number))
					}
				}
			}
			check(0, 1, 2) // before numbers are assigned
			g.GiveNumbers()
			check(0, 1, 2)
			g.SetBackends(slices.Delete(g.Backends(), 0, 1))
			check(1, 2)
			if g.Position(0) != -1 || g.Position(3) != -1 || g.Position(-1) != -1 || g.Number(7) != 7 {
				t.Error("numbers of no backend")
			}
			if at := g.Add(farm.Backend{ID: 4, Slot: 77}); at != 2 || g.Backends()[2].ID != 4 {
				t.Errorf("added at %d", at)
			}
			check(1, 2, 3)
			g.SetBackends(g.Backends()[:1]) // removes those with the highest numbers
			g.Add(farm.Backend{ID: 5})
			check(1, 4)
			list := g.Backends()
			list[1].Slot = list[0].Slot // duplicate: the second counts as unset
			g.SetBackends(append(list, farm.Backend{ID: 6}))
			g.GiveNumbers()
			check(1, 5, 6)
			g.SetBackends(nil)
			g.Add(farm.Backend{ID: 7})
			check(7)
		})
	}
	if (farm.Group{}).Position(0) != -1 {
		t.Error("no group has backends")
	}
}
