package validatetest

import (
	"net/netip"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// Listening returns a farm without backends. words is e.g. "tcp 10.0.0.5 80,81"; the
// protocol http means the profile http.
func Listening(name, words string) farm.Farm {
	part := strings.Fields(words)
	f := farm.Farm{Name: name, Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr(part[1])}
	ports, err := profile.ParsePorts(part[2])
	if err != nil {
		panic(err)
	}
	if part[0] == "http" {
		f.VPort, f.HTTP = ports[0].First, farm.DefaultHTTP()
		return f
	}
	f.Profile, f.L4 = farm.ProfileL4, farm.DefaultL4()
	f.L4.Protocol, f.L4.Ports = farm.L4Protocol(part[0]), ports
	return f
}

// Rules are Rules with a few local networks.
var Rules = validate.Rules{Prefixes: func() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("10.0.0.5/24"), netip.MustParsePrefix("127.0.0.1/8"), netip.MustParsePrefix("10.9.0.0/31"), netip.MustParsePrefix("2001:db8::5/64")}
}}

// Good returns a valid configuration of two farms.
func Good() *farm.Config {
	h := farm.DefaultHTTP()
	h.Services = []farm.Service{
		{Name: "web_1", VHost: `shop\.example`, URL: "^/a", Backends: []farm.Backend{{Host: "10.0.0.7", Port: 80, Weight: 9, Priority: 1}, {Host: "db.example", Port: 80}}},
		{Name: "moved", Redirect: "https://${VHOST}/x$1", RedirectType: "append", RedirectCode: 301},
	}
	return &farm.Config{Farms: []farm.Farm{
		{Name: "shop-1", Profile: "http", VIP: netip.MustParseAddr("10.0.0.5"), VPort: 80, HTTP: h},
		{Name: "other", Profile: "http", VIP: netip.MustParseAddr("10.0.0.5"), VPort: 81, HTTP: farm.DefaultHTTP()},
	}}
}

// First returns the first violation. It adds further violations at the end, so that code
// continuing after the first one panics.
func First(cfg *farm.Config) error {
	for _, name := range []string{"one", "the-same", "and-again"} {
		cfg.Farms = append(cfg.Farms, farm.Farm{Name: name, Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("127.0.0.1"), VPort: 9, HTTP: farm.DefaultHTTP()})
	}
	return Rules.Config(cfg)
}

// Zone returns a valid gslb farm with a zone and a service.
func Zone(edit func(*farm.GSLB)) *farm.Config {
	g := &farm.GSLB{
		Services: []farm.DNSService{{ID: 1, Name: "shop", Algorithm: farm.DNSPriority, Backends: []farm.Backend{{ID: 1, Host: "192.0.2.1", Addr: netip.MustParseAddr("192.0.2.1")}}}},
		Zones: []farm.Zone{{ID: 1, Name: "example.com", NameServer: "ns1", Records: []farm.Record{
			{ID: 1, Name: "@", Type: "NS", Data: "ns1"}, {ID: 2, Name: "ns1", Type: "A", Data: "192.0.2.53"}, {ID: 3, Name: "www", Type: farm.RecordDYNA, Data: "shop"},
			{ID: 4, Name: "alias", Type: "CNAME", Data: "www"},
		}}},
	}
	edit(g)
	return &farm.Config{Farms: []farm.Farm{{ID: 1, Name: "names", Profile: farm.ProfileGSLB, VIP: netip.MustParseAddr("192.0.2.10"), VPort: 53, Global: g}}}
}

func Record(name, kind, data string) func(*farm.GSLB) {
	return func(g *farm.GSLB) {
		z := &g.Zones[0]
		z.Records = append(z.Records, farm.Record{ID: uint32(len(z.Records) + 1), Name: name,
			Type: farm.RecordType(kind), Data: data})
	}
}

// GoodL4 returns a valid configuration with an l4xnat farm.
func GoodL4() *farm.Config {
	l := farm.DefaultL4()
	l.Ports = []farm.PortRange{{First: 80, Last: 80}, {First: 8000, Last: 8010}}
	l.Backends = []farm.Backend{
		{Host: "10.0.0.7", Addr: netip.MustParseAddr("10.0.0.7"), Port: 80, Weight: 9, Priority: 1},
		{Host: "10.0.0.7", Addr: netip.MustParseAddr("10.0.0.7")}, {Host: "db.example"}, {Host: "10.0.0.5", Addr: netip.MustParseAddr("10.0.0.5"), Port: 81},
	}
	l.Check = "alive"
	return &farm.Config{Checks: []farm.Check{{Name: "alive", Command: "check_tcp -H HOST -p PORT", Interval: 5}}, Farms: []farm.Farm{{Name: "relay", Profile: farm.ProfileL4, VIP: netip.MustParseAddr("10.0.0.5"), L4: l}}}
}

func Ports(first, last uint16) []farm.PortRange {
	return []farm.PortRange{{First: first, Last: last}}
}

func Addr(s string) netip.Addr { return netip.MustParseAddr(s) }

// OnFarm returns a configuration with s as the only service of an http or https farm.
func OnFarm(s farm.Service, listener string) *farm.Config {
	f := HTTPS()
	if listener == "http" {
		f.HTTP.TLS = nil
	}
	s.Name = "web"
	f.HTTP.Services = []farm.Service{s}
	return &farm.Config{Farms: []farm.Farm{f}}
}

// HTTPS returns a farm with an https listener.
func HTTPS() farm.Farm {
	f := Good().Farms[0]
	f.HTTP.TLS = farm.DefaultTLS()
	return f
}
