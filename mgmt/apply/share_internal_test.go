package apply

import (
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// A farm that is not final will still be written, so it must not be shared.
func TestOnlyFinalFarmsAreShared(t *testing.T) {
	for name, c := range map[string]struct {
		lacks  func(f *farm.Farm, s *farm.Service, b *farm.Backend)
		shared bool
	}{
		"nothing":                {func(*farm.Farm, *farm.Service, *farm.Backend) {}, true},
		"a number":               {func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) { f.ID = 0 }, false},
		"a number of a service":  {func(_ *farm.Farm, s *farm.Service, _ *farm.Backend) { s.ID = 0 }, false},
		"a number of a backend":  {func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.ID = 0 }, false},
		"an address":             {func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Addr = netip.Addr{} }, false},
		"its address":            {func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Host = "192.0.2.8" }, false},
		"a name for all to come": {func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Host = "app.example" }, false},
	} {
		old := &farm.Config{Farms: []farm.Farm{{ID: 1, Name: "shop", HTTP: farm.DefaultHTTP()}}}
		old.Farms[0].HTTP.Services = []farm.Service{{ID: 1, Backends: []farm.Backend{{ID: 1, Host: "192.0.2.9", Addr: netip.MustParseAddr("192.0.2.9"), Port: 80}}}}
		s := &old.Farms[0].HTTP.Services[0]
		c.lacks(&old.Farms[0], s, &s.Backends[0])
		next := old.Clone()
		share(old, next)
		if shared := next.Farms[0].Same(&old.Farms[0]); shared != c.shared {
			t.Errorf("it lacks %s: shared %t, want %t", name, shared, c.shared)
		}
	}
}
