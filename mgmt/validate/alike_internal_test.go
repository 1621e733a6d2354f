package validate

import (
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// three returns a farm of each kind whose every setting that other farms see can change.
func three() []farm.Farm {
	addr := netip.MustParseAddr("10.0.0.7")
	list := []farm.Backend{{Host: addr.String(), Addr: addr, Port: 90}}
	h := farm.DefaultHTTP()
	h.Logs, h.AccessLog.File = true, "shared"
	h.Services = []farm.Service{{Name: "web", Check: "known", Backends: list}}
	l := farm.DefaultL4()
	l.DataPath, l.Ports, l.Backends = farm.DataPathKernel, []farm.PortRange{{First: 90, Last: 91}}, list
	g := &farm.GSLB{Services: []farm.DNSService{{Name: "s", Port: 80, Algorithm: farm.DNSLoad, Backends: list}}, Zones: []farm.Zone{{Name: "example.com", Serial: 1}}}
	at := func(name string, p farm.Profile) farm.Farm {
		return farm.Farm{Name: name, Profile: p, VIP: netip.MustParseAddr("10.0.0.5"), VPort: 80}
	}
	out := []farm.Farm{at("shop", farm.ProfileHTTP), at("mail", farm.ProfileL4), at("names", farm.ProfileGSLB)}
	out[0].HTTP, out[1].L4, out[2].Global = h, l, g
	return out
}

// Each setting that a rule about several farms reads makes a farm another one to them.
func TestOtherFarmsSeeEachOfTheseSettings(t *testing.T) {
	const shop, mail, names = 0, 1, 2
	other := netip.MustParseAddr("10.0.0.9")
	for name, c := range map[string]struct {
		of   int
		edit func(*farm.Farm)
	}{
		"name":               {shop, func(f *farm.Farm) { f.Name = "store" }},
		"profile":            {shop, func(f *farm.Farm) { f.Profile = farm.ProfileHTTPS }},
		"settings":           {shop, func(f *farm.Farm) { f.HTTP, f.L4 = nil, three()[mail].L4 }},
		"address":            {shop, func(f *farm.Farm) { f.VIP = other }},
		"port":               {shop, func(f *farm.Farm) { f.VPort++ }},
		"stopped":            {shop, func(f *farm.Farm) { f.Stopped = true }},
		"log on":             {shop, func(f *farm.Farm) { f.HTTP.Logs = false }},
		"log file":           {shop, func(f *farm.Farm) { f.HTTP.AccessLog.File = "own" }},
		"log sink":           {shop, func(f *farm.Farm) { f.HTTP.AccessLog.Sink = farm.LogSinks()[1] }},
		"log size":           {shop, func(f *farm.Farm) { f.HTTP.AccessLog.Size = 5 }},
		"logs kept":          {shop, func(f *farm.Farm) { f.HTTP.AccessLog.Keep = 5 }},
		"service":            {shop, func(f *farm.Farm) { f.HTTP.Services[0].Name = "api" }},
		"check":              {shop, func(f *farm.Farm) { f.HTTP.Services[0].Check = "" }},
		"number of groups":   {shop, func(f *farm.Farm) { f.HTTP.Services = nil }},
		"DNS over HTTPS":     {shop, func(f *farm.Farm) { f.HTTP.Services[0].DNSFarm = "names" }},
		"ports":              {mail, func(f *farm.Farm) { f.L4.Ports[0].Last++ }},
		"protocol":           {mail, func(f *farm.Farm) { f.L4.Protocol = farm.L4UDP }},
		"data path":          {mail, func(f *farm.Farm) { f.L4.DataPath = farm.DataPathUserspace }},
		"NAT":                {mail, func(f *farm.Farm) { f.L4.NAT = farm.NATStateless }},
		"backend":            {mail, func(f *farm.Farm) { f.L4.Backends[0].Addr = other }},
		"port of a backend":  {mail, func(f *farm.Farm) { f.L4.Backends[0].Port++ }},
		"backends":           {mail, func(f *farm.Farm) { f.L4.Backends = append(f.L4.Backends, f.L4.Backends[0]) }},
		"DNS service":        {names, func(f *farm.Farm) { f.Global.Services[0].Port++ }},
		"DNS algorithm":      {names, func(f *farm.Farm) { f.Global.Services[0].Algorithm = farm.DNSWeight }},
		"DNS backend's host": {names, func(f *farm.Farm) { f.Global.Services[0].Backends[0].Host = "www.example.com" }},
		"DNS backend":        {names, func(f *farm.Farm) { f.Global.Services[0].Backends[0].Addr = other }},
		"DNS over TLS":       {names, func(f *farm.Farm) { f.Global.TLS = &farm.TLS{} }},
		"zones":              {names, func(f *farm.Farm) { f.Global = nil }},
	} {
		was := three()[c.of]
		now := three()[c.of]
		if c.edit(&now); sameToOthers(&was, &now) {
			t.Errorf("%s: the change is invisible to other farms", name)
		}
	}
	for _, c := range []struct {
		of   int
		edit func(*farm.Farm)
	}{
		{shop, func(f *farm.Farm) { f.HTTP.ConnectTimeout++ }},
		{mail, func(f *farm.Farm) { f.L4.Backends[0].Weight = 5 }},
		{names, func(f *farm.Farm) { f.Global.Zones[0].Serial++ }},
		{names, func(f *farm.Farm) { f.Global.Services[0].Backends[0].Weight = 5 }},
		{names, func(f *farm.Farm) { f.Global.Services[0].TTL = 5 }},
	} {
		was, now, edit := three()[c.of], three()[c.of], c.edit
		if edit(&now); !sameToOthers(&was, &now) {
			t.Errorf("%s: a setting of this farm alone affects other farms", was.Name)
		}
	}
}

// Settings of the machine, checks, and the numbers of farms and backends concern all farms.
func TestNotAlike(t *testing.T) {
	cfg := &farm.Config{Farms: three()}
	whole := func() *verdict {
		v := (&verdict{}).next(cfg)
		v.about(cfg, Rules{}, nil)
		for i := range cfg.Farms {
			v.counts[i] = countBackends(&cfg.Farms[i])
			v.backends += v.counts[i]
		}
		return v
	}
	all, other := []int32{0, 1, 2}, []int32{-1, 1, 2}
	if !whole().isAlike(cfg, all) || !whole().isAlike(cfg, other) {
		t.Fatal("the same configuration is another one")
	}
	for name, edit := range map[string]func(*farm.Config, *verdict) []int32{
		"system": func(c *farm.Config, _ *verdict) []int32 { c.System.API.Port = 8443; return all },
		"checks": func(c *farm.Config, _ *verdict) []int32 { c.Checks = []farm.Check{{Name: "known"}}; return all },
		"fewer":  func(c *farm.Config, _ *verdict) []int32 { c.Farms = c.Farms[:2]; return all[:2] },
		"farm":   func(c *farm.Config, _ *verdict) []int32 { c.Farms[0].Name = "store"; return other },
		"order": func(c *farm.Config, _ *verdict) []int32 {
			c.Farms[0], c.Farms[1] = c.Farms[1], c.Farms[0]
			return []int32{1, 0, 2}
		},
		"unfinished before": func(_ *farm.Config, v *verdict) []int32 { v.whole = false; return all },
		"too many backends": func(_ *farm.Config, v *verdict) []int32 { v.backends = farm.MaxBackendID + 1; return all },
		"more than others leave": func(_ *farm.Config, v *verdict) []int32 {
			v.backends, v.counts[0] = farm.MaxBackendID, 0
			return other
		},
	} {
		c, v := &farm.Config{Farms: three()}, whole()
		if at := edit(c, v); v.isAlike(c, at) {
			t.Errorf("%s: counts as alike", name)
		}
	}
}
