package farm_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

func TestAnAliasIsAServiceOfItsName(t *testing.T) {
	g, z := &farm.GSLB{}, &farm.Zone{Name: "example.com"}
	long := strings.Repeat("long.", 20) + "example.net"
	for _, c := range []struct{ data, service, host string }{
		{"www.example.net.", "alias-www-example-net", "www.example.net"},
		{"WWW.Example.Net.", "alias-www-example-net", "www.example.net"},
		{"web", "alias-web-example-com", "web.example.com"},
		{"www-example.net.", "alias-www-example-net-76bd051a", "www-example.net"}, // the name is used by another
		{"www-example.net.", "alias-www-example-net-76bd051a", "www-example.net"},
		{long + ".", "alias-long-long-long-long-long-long-long-long-long-long-2bef1a20", long},
	} {
		r := farm.Record{Name: "@", Type: farm.RecordALIAS, Data: c.data, TTL: 7}
		g.Alias(z, &r)
		if r.Type != farm.RecordDYNA || r.TTL != 7 || len(r.Data) > 64 {
			t.Errorf("%s: %+v", c.data, r)
		}
		s := g.Service(r.Data)
		if r.Data != c.service || s == nil || len(s.Backends) != 1 || s.Backends[0].Host != c.host || s.Backends[0].Resolve != farm.ResolveAll || s.Algorithm != farm.DNSRoundRobin {
			t.Errorf("%s: %s, %+v", c.data, r.Data, s)
		}
	}
	if len(g.Services) != 4 {
		t.Errorf("%d services", len(g.Services))
	}
}
