package snapshot_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/snapshot"
)

func TestCheckRefusesUnservableConfigurations(t *testing.T) {
	backend := func(c *farm.Config) *farm.Backend { return &c.Farms[0].HTTP.Services[0].Backends[0] }
	l4 := func(c *farm.Config) *farm.L4 { // replaces the second farm
		if f := &c.Farms[1]; f.L4 == nil {
			f.Profile, f.HTTP, f.L4 = farm.ProfileL4, nil, farm.DefaultL4()
			f.L4.ID = 77
		}
		return c.Farms[1].L4
	}
	cases := map[string]struct {
		edit func(c *farm.Config)
		says string
	}{
		"farm id 0":           {func(c *farm.Config) { c.Farms[0].ID = 0 }, "id 0 is outside"},
		"farm id too high":    {func(c *farm.Config) { c.Farms[0].ID = farm.MaxFarmID + 1 }, "id 4096 is outside 1 … 4095"},
		"farm id twice":       {func(c *farm.Config) { c.Farms[1].ID = 1 }, "id 1 is used twice"},
		"no vip":              {func(c *farm.Config) { c.Farms[0].VIP = netip.Addr{} }, `farm "shop": vip invalid IP is not`},
		"multicast vip":       {func(c *farm.Config) { c.Farms[0].VIP = netip.MustParseAddr("224.0.0.1") }, `farm "shop": vip 224.0.0.1 is not`},
		"virtual port 0":      {func(c *farm.Config) { c.Farms[1].VPort = 0 }, "virtual port 0"},
		"unknown profile":     {func(c *farm.Config) { c.Farms[0].Profile = "smtp" }, `farm "shop": no engine carries profile "smtp"`},
		"http without":        {func(c *farm.Config) { c.Farms[0].HTTP = nil }, `farm "shop": profile http without its settings`},
		"service id 0":        {func(c *farm.Config) { c.Farms[0].HTTP.Services[1].ID = 0 }, `service "other": id 0`},
		"service id twice":    {func(c *farm.Config) { c.Farms[0].HTTP.Services[1].ID = 1 }, "id 1 is used twice"},
		"backend id 0":        {func(c *farm.Config) { backend(c).ID = 0 }, "position 0: id 0"},
		"backend id too high": {func(c *farm.Config) { backend(c).ID = farm.MaxBackendID + 1 }, "id 65536 is outside"},
		"backend id twice":    {func(c *farm.Config) { backend(c).ID = 2 }, "position 1: id 2 is used twice"},
		"unresolved backend":  {func(c *farm.Config) { backend(c).Addr = netip.Addr{} }, "10.0.0.1"},
		"unspecified backend": {func(c *farm.Config) { backend(c).Addr = netip.IPv6Unspecified() }, "address ::"},
		"multicast backend":   {func(c *farm.Config) { backend(c).Addr = netip.MustParseAddr("ff02::1") }, "ff02::1"},
		"backend port 0":      {func(c *farm.Config) { backend(c).Port = 0 }, "port 0"},
		"ports twice":         {func(c *farm.Config) { l4(c).Ports = []farm.PortRange{{First: 80, Last: 90}, {First: 90, Last: 99}} }, `farm "six": virtual ports 80:90,90:99 are`},
		"range backwards":     {func(c *farm.Config) { l4(c).Ports = []farm.PortRange{{First: 90, Last: 80}} }, "not ascending"},
		"too many ranges": {func(c *farm.Config) {
			for port := uint16(1); port <= farm.MaxPortRanges+1; port++ {
				l4(c).Ports = append(l4(c).Ports, farm.PortRange{First: 2 * port, Last: 2 * port})
			}
		}, "65 port ranges"},
		"other IP version": {func(c *farm.Config) {
			l := l4(c)
			l.NAT, l.Backends = farm.NATStateless, []farm.Backend{{ID: 99, Host: "10.0.0.9", Addr: netip.MustParseAddr("10.0.0.9")}}
		}, "IP version"},
		"stopped farm is bound": {func(c *farm.Config) { c.Farms[0].Stopped = true; c.Farms[0].VPort = 0 }, "virtual port 0"},
	}
	for name, c := range cases {
		cfg := example()
		c.edit(cfg)
		err := snapshot.Check(cfg)
		if !errors.Is(err, snapshot.ErrConfig) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "farm ") {
			t.Errorf("%s: got %v, want %q", name, err, c.says)
		}
		if f, err := snapshot.Publish(1, cfg); !errors.Is(err, snapshot.ErrConfig) {
			t.Errorf("%s: published as %v, %v", name, f, err)
		}
	}
}

func TestCheckAcceptsACompleteConfiguration(t *testing.T) {
	largest := example()
	largest.Farms[0].HTTP.Services[0].Backends[0].ID = farm.MaxBackendID
	largest.Farms[0].HTTP.Services[1].ID = 1<<32 - 1
	l4 := farm.DefaultL4()
	l4.ID = 77
	for i := range uint16(farm.MaxPortRanges) { // adjacent ranges
		l4.Ports = append(l4.Ports, farm.PortRange{First: 2*i + 1, Last: 2*i + 2})
	}
	largest.Farms[1].Profile, largest.Farms[1].HTTP, largest.Farms[1].L4 = farm.ProfileL4, nil, l4
	unresolved := example()
	b := &unresolved.Farms[0].HTTP.Services[0].Backends[0]
	b.Addr, b.Maintenance = netip.Addr{}, farm.MaintenanceCut
	for name, cfg := range map[string]*farm.Config{"example": example(), "empty": {}, "largest numbers": largest, "a name without an address": unresolved} {
		if err := snapshot.Check(cfg); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheckReportsBoundedly(t *testing.T) {
	err := snapshot.Check(&farm.Config{Farms: make([]farm.Farm, 4000)})
	if err == nil || strings.Count(err.Error(), "\n") != 7 {
		t.Errorf("got %v", err)
	}
}
