package farm_test

import (
	"cmp"
	"net/netip"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

func TestFarmsTakeThePortsOfTheirTransports(t *testing.T) {
	http := farm.Farm{VPort: 80, HTTP: farm.DefaultHTTP()}
	dns := farm.Farm{L4: &farm.L4{Protocol: farm.L4TCPUDP, Ports: []farm.PortRange{{First: 53, Last: 53}}}}
	sip := farm.Farm{L4: &farm.L4{Protocol: farm.L4SIP, Ports: []farm.PortRange{{First: 5060, Last: 5061}}}}
	all := farm.Farm{L4: &farm.L4{Protocol: farm.L4All}}
	for _, c := range []struct {
		f         *farm.Farm
		transport farm.L4Protocol
		port      uint16
		takes     bool
	}{
		{&http, farm.L4TCP, 80, true}, {&http, farm.L4TCP, 81, false}, {&http, farm.L4UDP, 80, false},
		{&sip, farm.L4UDP, 5060, true}, {&sip, farm.L4TCP, 5061, true}, {&sip, farm.L4TCP, 5062, false}, {&sip, farm.L4SCTP, 5060, false},
		{&dns, farm.L4UDP, 53, true}, {&dns, farm.L4TCP, 53, true}, {&dns, farm.L4SCTP, 53, false},
		{&all, farm.L4SCTP, 1, true}, {&all, farm.L4UDP, 65535, true},
	} {
		if got := c.f.Takes(c.transport, c.port); got != c.takes {
			t.Errorf("%s %d of %s: %v", c.transport, c.port, c.f.PortsText(), got)
		}
	}
}

// ofEach is a farm of each profile, with the text of its ports and its listeners.
var ofEach = map[farm.Profile]struct {
	new       func() farm.Farm
	ports     string
	listeners []string
	services  bool
}{
	farm.ProfileHTTP: {func() farm.Farm {
		return farm.Farm{Profile: farm.ProfileHTTP, VPort: 80, HTTP: &farm.HTTP{Mark: 7, Logs: true, Services: []farm.Service{{}}}}
	}, "80", []string{"tcp/192.0.2.1:80"}, true},
	farm.ProfileL4: {func() farm.Farm {
		return farm.Farm{Profile: farm.ProfileL4, L4: &farm.L4{Mark: 7, Logs: true, Protocol: farm.L4TCPUDP, NAT: farm.NATMasquerade,
			Ports: []farm.PortRange{{First: 53, Last: 53}, {First: 853, Last: 854}}}}
	}, "53,853:854", []string{"tcp/192.0.2.1:53", "udp/192.0.2.1:53", "tcp/192.0.2.1:853", "udp/192.0.2.1:853", "tcp/192.0.2.1:854", "udp/192.0.2.1:854"}, false},
}

func TestEveryProfileAnswersForItsFarms(t *testing.T) {
	for _, profile := range farm.Profiles() {
		of, known := ofEach[profile]
		if !known {
			t.Errorf("%s: give it a farm in this test", profile)
			continue
		}
		f := of.new()
		f.VIP = netip.MustParseAddr("192.0.2.1")
		var listeners []string
		for _, l := range f.Listeners() {
			listeners = append(listeners, l.Key())
		}
		if f.PortsText() != of.ports || !slices.Equal(listeners, of.listeners) || !f.InEngine() {
			t.Errorf("%s: ports %s, listeners %q", profile, f.PortsText(), listeners)
		}
		if f.HasServices() != of.services || len(f.Groups()) != 1 || f.Groups()[0].OfService() != of.services || f.KeepsPort() == of.services {
			t.Errorf("%s: groups %v, of services: %v", profile, f.Groups(), f.HasServices())
		}
		if f.Directives() != profile {
			t.Errorf("%s: directives of %q", profile, f.Directives())
		}
		if log, on := f.Log(); log == nil || !on || f.DefaultMark() != 7 || !f.MixesVersions() {
			t.Errorf("%s: log %v, mark %d", profile, log, f.DefaultMark())
		}
		if g := f.Groups()[0]; g.SessionTTL() == 0 || g.KeepsSessions() || g.Redirects() {
			t.Errorf("%s: sessions live %d s, kept %v, redirects %v", profile, g.SessionTTL(), g.KeepsSessions(), g.Redirects())
		}
		f.Groups()[0].SetBackends([]farm.Backend{{ID: 1}})
		copied := f.Clone()
		f.Groups()[0].Backends()[0].ID = 2
		if len(copied.Groups()) != 1 || copied.Groups()[0].Backends()[0].ID != 1 {
			t.Errorf("%s: a copy changed with the farm: %v", profile, copied)
		}
	}
}

func TestFarmIsCompleteWithTheDirectivesOfItsProfileAlone(t *testing.T) {
	for profile, of := range ofEach {
		f := of.new()
		if !f.Complete() {
			t.Errorf("%s: not complete", profile)
		}
		if without := (farm.Farm{Profile: profile}); without.Complete() {
			t.Errorf("%s: complete without directives", profile)
		}
		for other, its := range ofEach {
			if g := its.new(); other != profile {
				wrong, both := f, f
				wrong.Profile = other
				both.HTTP, both.L4 = cmp.Or(f.HTTP, g.HTTP), cmp.Or(f.L4, g.L4)
				if wrong.Complete() || both.Complete() {
					t.Errorf("%s: complete with directives of %s: %v %v", profile, other, wrong.Complete(), both.Complete())
				}
			}
		}
	}
	none := farm.Farm{Profile: "none"}
	if none.Complete() || none.Directives() != "" || none.Groups() != nil || none.HasServices() || none.Own().Backends() != nil || none.Listeners() != nil {
		t.Error("a farm without directives has something")
	}
}

func TestFarmOfTheKernelHasNoListenersAndNoLog(t *testing.T) {
	f := ofEach[farm.ProfileL4].new()
	f.L4.DataPath = farm.DataPathKernel
	if log, on := f.Log(); f.InEngine() || f.Listeners() != nil || log != nil || on || f.MixesVersions() {
		t.Errorf("engine %v, listeners %v, log %v", f.InEngine(), f.Listeners(), log)
	}
}
