package validate_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/validatetest"
)

// A farm that an earlier version accepted blocks no change of other farms, and its faults can be
// mended one by one.
func TestFarmsInForceBlockNoChangeOfOthers(t *testing.T) {
	names := farm.Farm{ID: 1, Name: "names", Profile: farm.ProfileGSLB, VIP: netip.MustParseAddr("192.0.2.10"), VPort: 53, Global: farm.DefaultGSLB()}
	zone := farm.Zone{ID: 1, Name: "shop.example", Serial: 1, Records: []farm.Record{
		{ID: 1, Name: "x", Type: "DNAME", Data: "y.example."},
		{ID: 2, Name: "a.x", Type: "A", Data: "192.0.2.1"},
		{ID: 3, Name: "b.x", Type: "A", Data: "192.0.2.1"},
		{ID: 4, Name: "www", Type: "A", Data: "192.0.2.1"},
	}}
	names.Global.Zones = []farm.Zone{zone}
	old := &farm.Config{Farms: []farm.Farm{names, validatetest.Listening("web", "http 192.0.2.10 8080")}}
	change := func(edit func(cfg *farm.Config)) *farm.Config {
		cfg := &farm.Config{Farms: slices.Clone(old.Farms)}
		edit(cfg)
		return cfg
	}
	records := func(edit func(all []farm.Record) []farm.Record) *farm.Config {
		return change(func(cfg *farm.Config) {
			f := cfg.Farms[0].Clone()
			f.Global.Zones[0].SetRecords(edit(slices.Clone(zone.Records)))
			cfg.Farms[0] = f
		})
	}
	web := change(func(cfg *farm.Config) { cfg.Farms[1] = validatetest.Listening("web", "http 192.0.2.10 8081") })
	fresh := validate.Checked{}
	if _, err := fresh.Config(web); err == nil || !strings.Contains(err.Error(), "DNAME") {
		t.Fatalf("the rule does not hold: %v", err)
	}
	for name, c := range map[string]struct {
		cfg  *farm.Config
		want string
	}{
		"another farm":                 {web, ""},
		"one of two faults is removed": {records(func(all []farm.Record) []farm.Record { return slices.Delete(all, 1, 2) }), ""},
		"a new fault": {records(func(all []farm.Record) []farm.Record {
			return append(all, farm.Record{ID: 5, Name: "c.x", Type: "A", Data: "192.0.2.1"})
		}), "DNAME"},
		"a fault between farms": {change(func(cfg *farm.Config) {
			cfg.Farms = append(cfg.Farms, validatetest.Listening("second", "http 192.0.2.10 8080"))
		}), "8080"},
	} {
		checked := validate.Checked{}
		checked.InForce(old)
		_, err := checked.Config(c.cfg)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// Such a farm does not keep the backends of others at their old addresses, either.
func TestFarmsInForceBlockNoAddressesOfOthers(t *testing.T) {
	names := farm.Farm{ID: 1, Name: "names", Profile: farm.ProfileGSLB, VIP: netip.MustParseAddr("192.0.2.10"),
		VPort: 53, Global: farm.DefaultGSLB()}
	names.Global.Zones = []farm.Zone{{ID: 1, Name: "shop.example", Serial: 1, Records: []farm.Record{
		{ID: 1, Name: "shop.example.", Type: "CNAME", Data: "elsewhere.example."},
	}}}
	at := func(address string) *farm.Config {
		web := validatetest.Listening("web", "http 192.0.2.10 8080")
		service := farm.Service{}
		service.ID, service.Name = 1, "all"
		service.Backends = []farm.Backend{{ID: 9, Host: "db.example", Addr: netip.MustParseAddr(address), Port: 80}}
		web.HTTP.Services = []farm.Service{service}
		return &farm.Config{Farms: []farm.Farm{names, web}}
	}
	checked := validate.Checked{}
	checked.InForce(at("192.0.2.1"))
	if err := checked.Resolved(at("192.0.2.2"), false); err != nil {
		t.Errorf("another address: %v", err)
	}
	if err := checked.Resolved(at("224.0.0.1"), false); err == nil || !strings.Contains(err.Error(), "multicast") {
		t.Errorf("a multicast address: %v", err)
	}
	if err := (&validate.Checked{}).Resolved(at("192.0.2.2"), false); err != nil {
		t.Errorf("before the first verdict: %v", err)
	}
	names.Global.Zones[0].Records[0].Name = "www"
	if err := checked.Resolved(at("192.0.2.2"), false); err != nil {
		t.Errorf("beside a mended zone: %v", err)
	}
}
