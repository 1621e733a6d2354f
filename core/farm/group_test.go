package farm_test

import (
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

func TestGroupsAreThoseOfServicesOrTheOneOfAnL4Farm(t *testing.T) {
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
		t.Errorf("groups %q", seen)
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
