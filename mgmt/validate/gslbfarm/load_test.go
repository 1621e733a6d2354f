package gslbfarm_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/validatetest"
)

// A backend with unknown load counts as the most loaded, which is a warning.
func TestBackendsOfUnknownLoadGetAWarning(t *testing.T) {
	at := func(addr string, port uint16) farm.Farm {
		return farm.Farm{ID: 2, Name: "shop", Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr(addr), VPort: port, HTTP: farm.DefaultHTTP()}
	}
	silent := func(edit func(*farm.DNSService), beside []farm.Farm, checks ...farm.Check) (told []string) {
		cfg := validatetest.Zone(func(g *farm.GSLB) {
			s := &g.Services[0]
			s.Algorithm, s.Port = farm.DNSLoad, 8080
			s.Backends = append(s.Backends, farm.Backend{ID: 2, Host: "192.0.2.2", Addr: netip.MustParseAddr("192.0.2.2")})
			edit(s)
		})
		cfg.Farms, cfg.Checks = append(cfg.Farms, beside...), checks
		for _, w := range validate.Warnings(cfg) {
			if w.Field == "algorithm" {
				if w.Path != `farm "names" service "shop"` || !strings.Contains(w.Message, "port 8080") {
					t.Errorf("%+v", w)
				}
				list, _, _ := strings.Cut(strings.TrimPrefix(w.Message, "algorithm load: nobody tells the connections of "), ", and")
				told = append(told, list)
			}
		}
		return told
	}
	nothing := func(*farm.DNSService) {}
	for name, c := range map[string]struct {
		got  []string
		want []string
	}{
		"nobody":                     {silent(nothing, nil), []string{"192.0.2.1, 192.0.2.2"}},
		"another algorithm":          {silent(func(s *farm.DNSService) { s.Algorithm = farm.DNSFastest }, nil), nil},
		"a farm of ours":             {silent(nothing, []farm.Farm{at("192.0.2.1", 8080)}), []string{"192.0.2.2"}},
		"a farm at another port":     {silent(nothing, []farm.Farm{at("192.0.2.1", 80)}), []string{"192.0.2.1, 192.0.2.2"}},
		"a check that tells":         {silent(func(s *farm.DNSService) { s.Check = "far" }, nil, farm.Check{Name: "far", Command: " check_sluice -k x"}), nil},
		"a check that does not tell": {silent(func(s *farm.DNSService) { s.Check = "far" }, nil, farm.Check{Name: "far", Command: "check_tcp"}), []string{"192.0.2.1, 192.0.2.2"}},
		"another's check":            {silent(nothing, nil, farm.Check{Name: "far", Command: "check_sluice"}), []string{"192.0.2.1, 192.0.2.2"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %q, want %q", name, c.got, c.want)
		}
	}
}
