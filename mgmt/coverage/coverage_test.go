package coverage_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/coverage"
)

func TestCoversAsClientsDo(t *testing.T) {
	set := coverage.New("www.example.com", "*.example.org", "192.0.2.1", "2001:db8::1", "ann@example.net", "https://example.net/x")
	for name, want := range map[string]bool{
		"www.example.com": true, "WWW.Example.COM": true, "example.com": false, "a.www.example.com": false,
		"a.example.org": true, "*.example.org": true, "*.EXAMPLE.org": true, "example.org": false, "a.b.example.org": false, "*.example.com": false,
		"192.0.2.1": true, "192.0.2.2": false, "2001:db8::1": true, "2001:db8::2": false, "example.net": false, "": false,
	} {
		if got := set.Covers(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
	if got := set.Without([]string{"a.example.org", "a.test", "ann@example.net", "a.test", "https://example.test/", "*.test"}); !slices.Equal(got, []string{"a.test", "*.test"}) {
		t.Errorf("without: %q", got)
	}
}

// tls returns a farm with certificates and services that match these hosts.
func tls(name string, certificates []string, vhosts ...string) farm.Farm {
	h := &farm.HTTP{TLS: &farm.TLS{Certificates: certificates}}
	for i, v := range vhosts {
		h.Services = append(h.Services, farm.Service{Name: fmt.Sprintf("s%d", i), VHost: v})
	}
	return farm.Farm{Name: name, HTTP: h}
}

func TestLostNamesAreFound(t *testing.T) {
	names := map[string][]string{"shop.pem": nil, "other.pem": {"b.test"}, "wild.pem": {"*.test"}}
	shop := []string{"shop.pem"}
	for _, c := range []struct {
		why           string
		farm          farm.Farm
		before, after []string
		want          []string
	}{
		{"the names are the same", tls("f", shop, ""), []string{"a.test"}, []string{"A.test"}, nil},
		{"a wildcard covers the name now", tls("f", shop, ""), []string{"a.test"}, []string{"*.test"}, nil},
		{"any host", tls("f", shop, ""), []string{"a.test", "b.test"}, []string{"b.test"}, []string{"a.test (service s0 of farm f)"}},
		{"one host", tls("f", shop, `a\.test`, "b.test:8443", "c.test"), []string{"a.test", "b.test"}, []string{"d.test"}, []string{"a.test (service s0 of farm f)", "b.test (service s1 of farm f)"}},
		{"a host of a wildcard", tls("f", shop, "a.test", "b.test"), []string{"*.test"}, []string{"b.test"}, []string{"a.test (service s0 of farm f)"}},
		{"an expression", tls("f", shop, `(a|b)\.test$`, `x\.example$`), []string{"a.test", "*.test"}, []string{"c.test"}, []string{"a.test, *.test (service s0 of farm f)"}},
		{"a host with a final dot", tls("f", shop, "a.test.", `b\.test\.$`), []string{"a.test", "b.test"}, []string{"c.test"}, []string{"a.test (service s0 of farm f)", "b.test (service s1 of farm f)"}},
		{"no service matches", tls("f", shop, "c.test", `c\.`), []string{"a.test"}, []string{"b.test"}, nil},
		{"another certificate of the farm", tls("f", []string{"shop.pem", "other.pem"}, ""), []string{"a.test", "b.test"}, []string{"c.test"}, []string{"a.test (service s0 of farm f)"}},
		{"another wildcard of the farm", tls("f", []string{"wild.pem", "shop.pem"}, ""), []string{"a.test", "b.test"}, []string{"c.test"}, nil},
		{"another farm", tls("f", []string{"other.pem"}, ""), []string{"a.test"}, []string{"c.test"}, nil},
		{"without services", farm.Farm{Name: "f", Global: &farm.GSLB{TLS: &farm.TLS{Certificates: shop}}}, []string{"dns.test"}, []string{"c.test"}, []string{"dns.test (farm f)"}},
		{"without services or loss", farm.Farm{Name: "f", Global: &farm.GSLB{TLS: &farm.TLS{Certificates: shop}}}, []string{"c.test"}, []string{"c.test"}, nil},
	} {
		var got []string
		for _, u := range coverage.Affected(&farm.Config{Farms: []farm.Farm{c.farm}}, "shop.pem", c.before, c.after, func(n string) []string { return names[n] }) {
			got = append(got, u.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.why, got, c.want)
		}
	}
}
