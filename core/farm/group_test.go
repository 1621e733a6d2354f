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

func TestNumbersOfBackendsStayWithThem(t *testing.T) {
	web := farm.Group{Farm: &farm.Farm{}, Service: &farm.Service{Backends: make([]farm.Backend, 2)}}
	if at := web.Add(farm.Backend{ID: 9}); at != 2 || web.Number(1) != 1 || web.Position(2) != 2 || web.Position(3) != -1 || web.Position(-1) != -1 || !slices.Equal(web.Numbers(), []int{0, 1, 2}) {
		t.Errorf("numbers of a service %v", web.Numbers())
	}
	web.GiveNumbers()
	if web.Backends()[2].Seat != 0 {
		t.Error("a backend of a service has a seat")
	}
	dns := farm.Group{Farm: &farm.Farm{L4: &farm.L4{Backends: []farm.Backend{{ID: 1}, {ID: 2}, {ID: 3}}}}}
	check := func(want ...int) {
		t.Helper()
		got := dns.Numbers()
		if !slices.Equal(got, want) {
			t.Errorf("numbers %v, want %v", got, want)
		}
		for at, number := range got {
			if dns.Number(at) != number || dns.Position(number) != at {
				t.Errorf("number %d at %d is %d at %d", number, at, dns.Number(at), dns.Position(number))
			}
		}
	}
	check(0, 1, 2) // before they have any
	dns.GiveNumbers()
	dns.SetBackends(slices.Delete(dns.Backends(), 0, 1))
	check(1, 2)
	if dns.Position(0) != -1 || dns.Position(3) != -1 || dns.Number(7) != 7 {
		t.Error("numbers of no backend")
	}
	if at := dns.Add(farm.Backend{ID: 4, Seat: 77}); at != 0 || dns.Backends()[0].ID != 4 {
		t.Errorf("added at %d", at)
	}
	if at := dns.Add(farm.Backend{ID: 5}); at != 3 {
		t.Errorf("added at %d", at)
	}
	check(0, 1, 2, 3)
	list := dns.Backends()
	list[3].Seat = list[1].Seat // twice: the second counts as without
	dns.SetBackends(append(list, farm.Backend{ID: 6}))
	dns.GiveNumbers()
	check(0, 1, 2, 3, 4)
}
