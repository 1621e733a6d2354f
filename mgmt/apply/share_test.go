package apply_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// What is not changed is shared with the configuration before, and so is what was found
// out about it; what may still be written is not.
func TestAChangeSharesTheFarmsItLeavesAsTheyAre(t *testing.T) {
	h := newHouse(t)
	h.name("app.example", "127.0.0.9")
	named := shop("named", 83)
	named.HTTP.Services[0].Backends[0].Host = "app.example"
	for _, f := range []farm.Farm{shop("one", 81), shop("two", 82), named} {
		h.must(add(f))
	}
	before, _ := h.Current()
	h.must(func(cfg *farm.Config) error {
		if cfg.Farms[0].HTTP == before.Farms[0].HTTP {
			t.Error("an edit sees the farms in force, and no copy")
		}
		cfg.Farms[1].HTTP.ConnectTimeout = 7
		return nil
	})
	now, _ := h.Current()
	if now.Farms[0] != before.Farms[0] || now.Farms[1] == before.Farms[1] || now.Farms[2] == before.Farms[2] {
		t.Errorf("shared: %t %t %t, want the first alone", now.Farms[0] == before.Farms[0], now.Farms[1] == before.Farms[1], now.Farms[2] == before.Farms[2])
	}
	if before.Farms[1].HTTP.ConnectTimeout == 7 {
		t.Error("the configuration before was changed")
	}
}

// A copy of a farm that comes first has the number of the original, which is given
// another one: not in the configuration that is in force.
func TestACopyTakesNothingFromTheConfigurationInForce(t *testing.T) {
	h := newHouse(t)
	h.must(add(shop("one", 81)))
	before, _ := h.Current()
	id, service, backend := before.Farms[0].ID, before.Farms[0].HTTP.Services[0].ID, before.Farms[0].HTTP.Services[0].Backends[0].ID
	h.must(func(cfg *farm.Config) error {
		twin := cfg.Farms[0].Clone()
		twin.Name, twin.VPort = "twin", 84
		cfg.Farms = append([]farm.Farm{twin}, cfg.Farms...)
		return nil
	})
	if s := before.Farms[0].HTTP.Services[0]; before.Farms[0].ID != id || s.ID != service || s.Backends[0].ID != backend || id == 0 {
		t.Errorf("farm %d, service %d, backend %d, were %d, %d, %d", before.Farms[0].ID, s.ID, s.Backends[0].ID, id, service, backend)
	}
	now, _ := h.Current()
	if now.Farms[0].ID == now.Farms[1].ID || now.Farms[1].HTTP == before.Farms[0].HTTP {
		t.Errorf("numbers %d and %d", now.Farms[0].ID, now.Farms[1].ID)
	}
}
