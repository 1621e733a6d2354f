package apply_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
)

// Unchanged farms are shared with the previous configuration, including cached results; farms
// that may still be written are not.
func TestChangeSharesUnchangedFarms(t *testing.T) {
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
	if !now.Farms[0].Same(&before.Farms[0]) || now.Farms[1].Same(&before.Farms[1]) || now.Farms[2].Same(&before.Farms[2]) {
		t.Errorf("shared: %t %t %t, want the first alone", now.Farms[0].Same(&before.Farms[0]), now.Farms[1].Same(&before.Farms[1]), now.Farms[2].Same(&before.Farms[2]))
	}
	if before.Farms[1].HTTP.ConnectTimeout == 7 {
		t.Error("the configuration before was changed")
	}
}

// A copy before the original has its IDs and gets new ones, without an effect on the
// configuration in force.
func TestCopyDoesNotAffectTheCurrentConfiguration(t *testing.T) {
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

// ChangeFarm copies the farm, and those that may change automatically: by addresses of names
// and keys of zones.
func TestAChangeOfOneFarmCopiesNoOther(t *testing.T) {
	h := newHouse(t, apply.WithSecrets(newSalted("here")))
	h.name("app.example", "127.0.0.9")
	named := shop("named", 83)
	named.HTTP.Services[0].Backends[0].Host = "app.example"
	zones := farm.Farm{Name: "zones", Profile: farm.ProfileGSLB, VIP: named.VIP, VPort: 84, Global: &farm.GSLB{Zones: []farm.Zone{{Name: "example.com", NameServer: "ns1",
		Records: []farm.Record{{Name: "@", Type: "NS", Data: "ns1"}, {Name: "ns1", Type: "A", Data: "192.0.2.1"}}}}}}
	signed := zones.Clone()
	signed.Name, signed.VPort, signed.Global.Zones[0].Signing = "signed", 85, farm.SignEd25519
	for _, f := range []farm.Farm{shop("one", 81), shop("two", 82), named, zones, signed} {
		h.must(add(f))
	}
	before, _ := h.Current()
	r, err := h.ChangeFarm(t.Context(), root, "test", 0, "two", func(cfg *farm.Config) error {
		for i, want := range []bool{true, false, false, true, false} {
			if shared := cfg.Farms[i].Same(&before.Farms[i]); shared != want {
				t.Errorf("farm %s is shared: got %t, want %t", cfg.Farms[i].Name, shared, want)
			}
		}
		cfg.Farms[1].HTTP.ConnectTimeout = 7
		cfg.System.NTP.Server = "ntp.example"
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	now, rev := h.Current()
	if now.Farms[1].HTTP.ConnectTimeout != 7 || before.Farms[1].HTTP.ConnectTimeout == 7 || before.System.NTP.Server != "" || !now.Farms[0].Same(&before.Farms[0]) {
		t.Errorf("connect time-out %d, before %d", now.Farms[1].HTTP.ConnectTimeout, before.Farms[1].HTTP.ConnectTimeout)
	}
	if rev.Number != r.Revision.Number || !strings.Contains(r.Diff, "contimeout: 7") {
		t.Errorf("revision %d of %d, difference\n%s", r.Revision.Number, rev.Number, r.Diff)
	}
	if _, err := h.ChangeFarm(t.Context(), root, strings.Repeat("x", apply.MaxComment+1), 0, "two", func(*farm.Config) error { return nil }); err == nil {
		t.Error("a comment that is too long is accepted")
	}
}
