package farm_test

import (
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

func TestNamedBackendsAreDistinctFromTheirParts(t *testing.T) {
	at := netip.MustParseAddr("192.0.2.7")
	for _, c := range []struct {
		b                          farm.Backend
		named, unresolved, spreads bool
		place                      string
	}{
		{farm.Backend{Host: "192.0.2.7", Addr: at}, false, false, false, "192.0.2.7"},
		{farm.Backend{Host: "web", Addr: at}, true, false, false, "web"},
		{farm.Backend{Host: "web"}, true, true, false, "web"},
		{farm.Backend{Host: "192.0.2.7"}, false, false, false, "192.0.2.7"},
		{farm.Backend{}, true, false, false, ""},
		{farm.Backend{Host: "web", Resolve: farm.ResolveAll}, true, true, true, "web"},
		{farm.Backend{Host: "web", Resolve: farm.ResolveAll, Of: 4, Addr: at}, true, false, false, "192.0.2.7"},
	} {
		if b := &c.b; b.Named() != c.named || b.Unresolved() != c.unresolved || b.Spreads() != c.spreads || b.ShownAddress() != c.place {
			t.Errorf("%+v: named %v, unresolved %v, spreads %v, at %s", c.b, b.Named(), b.Unresolved(), b.Spreads(), b.ShownAddress())
		}
	}
	g := (&farm.Farm{L4: &farm.L4{Backends: []farm.Backend{{ID: 4, Resolve: farm.ResolveAll}, {ID: 5}, {ID: 6, Of: 4}, {ID: 7, Of: 8}}}}).Own()
	if configured, parts := g.Configured(), g.Parts(4); len(configured) != 2 || len(parts) != 1 || parts[0].ID != 6 || len(g.Parts(0)) != 0 {
		t.Errorf("configured %v, parts %v", configured, parts)
	}
}

func TestEnginesUseNoBackendWithoutAnAddress(t *testing.T) {
	at := netip.MustParseAddr("192.0.2.7")
	c := &farm.Config{Farms: []farm.Farm{{HTTP: &farm.HTTP{Services: []farm.Service{{Backends: []farm.Backend{{Addr: at}}}}}}}}
	if c.Usable() != c {
		t.Error("a complete configuration was copied")
	}
	list := []farm.Backend{{Addr: at, Priority: 2}, {Host: "web", Priority: 2}, {Host: "web", Priority: 2, Resolve: farm.ResolveAll}}
	c.Farms[0].HTTP.Services[0].Backends = list
	used := c.Usable().Farms[0].HTTP.Services[0].Backends
	for i, want := range []farm.Backend{{Priority: 2}, {Maintenance: farm.MaintenanceCut, Priority: 2}, {Maintenance: farm.MaintenanceCut, Priority: 9}} {
		if used[i].Maintenance != want.Maintenance || used[i].Priority != want.Priority || list[i].Maintenance != "" || list[i].Priority != 2 {
			t.Errorf("%+v became %+v", list[i], used[i])
		}
	}
}
