package farm_test

import (
	"cmp"
	"fmt"
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
	names := farm.Farm{VPort: 5300, Global: &farm.GSLB{TLS: &farm.TLS{}}}
	for _, c := range []struct {
		f         *farm.Farm
		transport farm.L4Protocol
		port      uint16
		takes     bool
	}{
		{&http, farm.L4TCP, 80, true}, {&http, farm.L4TCP, 81, false}, {&http, farm.L4UDP, 80, false},
		{&sip, farm.L4UDP, 5060, true}, {&sip, farm.L4TCP, 5061, true}, {&sip, farm.L4TCP, 5062, false}, {&sip, farm.L4SCTP, 5060, false},
		{&dns, farm.L4UDP, 53, true}, {&dns, farm.L4TCP, 53, true}, {&dns, farm.L4SCTP, 53, false},
		{&names, farm.L4UDP, 5300, true}, {&names, farm.L4TCP, 5300, true}, {&names, farm.L4TCP, 853, true}, {&names, farm.L4UDP, 853, false},
		{&all, farm.L4SCTP, 1, true}, {&all, farm.L4UDP, 65535, true},
	} {
		if got := c.f.Takes(c.transport, c.port); got != c.takes {
			t.Errorf("%s %d of %s: got %v, want %v", c.transport, c.port, c.f.PortsText(), got, c.takes)
		}
	}
}

// DNS over TLS uses its own port, for TCP only.
func TestEncryptedQueriesUseTheirOwnPort(t *testing.T) {
	f := farm.Farm{VIP: netip.MustParseAddr("192.0.2.1"), VPort: 5300, Global: &farm.GSLB{TLSPort: 5301}}
	for _, c := range []struct {
		tls  *farm.TLS
		port uint16
		want string
	}{
		{nil, 5301, "[tcp/192.0.2.1:5300 udp/192.0.2.1:5300]"},
		{&farm.TLS{}, 5301, "[tcp/192.0.2.1:5300 udp/192.0.2.1:5300 tcp/192.0.2.1:5301]"},
		{&farm.TLS{}, 0, "[tcp/192.0.2.1:853 tcp/192.0.2.1:5300 udp/192.0.2.1:5300]"},
	} {
		f.Global.TLS, f.Global.TLSPort = c.tls, c.port
		var keys []string
		for _, l := range f.Listeners() {
			keys = append(keys, l.Key())
		}
		if got := fmt.Sprint(keys); got != c.want || f.PortsText() != "5300" || f.HTTPS() {
			t.Errorf("%v %d: %s, want %s", c.tls, c.port, got, c.want)
		}
	}
}

// ofEach holds a farm of each profile served by engines, with its port text and listeners.
var ofEach = map[farm.Profile]struct {
	new       func() farm.Farm
	ports     string
	listeners []string
	services  bool
	carries   farm.Traffic
	headers   bool
}{
	farm.ProfileHTTP: {func() farm.Farm {
		return farm.Farm{Profile: farm.ProfileHTTP, VPort: 80, HTTP: &farm.HTTP{Mark: 7, MaxConnections: 9, Logs: true, Services: []farm.Service{{}}}}
	}, "80", []string{"tcp/192.0.2.1:80"}, true, farm.TrafficRequests, true},
	farm.ProfileL4: {func() farm.Farm {
		return farm.Farm{Profile: farm.ProfileL4, L4: &farm.L4{Mark: 7, MaxConnections: 9, Logs: true, Protocol: farm.L4TCPUDP, NAT: farm.NATMasquerade,
			Ports: []farm.PortRange{{First: 53, Last: 53}, {First: 853, Last: 854}}}}
	}, "53,853:854", []string{"tcp/192.0.2.1:53", "udp/192.0.2.1:53", "tcp/192.0.2.1:853", "udp/192.0.2.1:853", "tcp/192.0.2.1:854", "udp/192.0.2.1:854"}, false, farm.TrafficConnections, false},
}

func TestEveryProfileAnswersForItsFarms(t *testing.T) {
	for profile, of := range ofEach {
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
		if profile.HasServices() != of.services || profile.Carries() != of.carries || f.Carries() != of.carries || (f.Headers() != nil) != of.headers || f.HTTPS() {
			t.Errorf("%s: services %v, carries %q, headers %v", profile, profile.HasServices(), f.Carries(), f.Headers())
		}
		if f.SettingsProfile() != profile {
			t.Errorf("%s: settings of %q", profile, f.SettingsProfile())
		}
		if log, on := f.Log(); log == nil || !on || f.DefaultMark() != 7 || f.MostConnections() != 9 || !f.MixesVersions() {
			t.Errorf("%s: log %v, mark %d, %d connections", profile, log, f.DefaultMark(), f.MostConnections())
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

func TestFarmIsCompleteWithTheSettingsOfItsProfileAlone(t *testing.T) {
	for profile, of := range ofEach {
		f := of.new()
		if !f.Complete() {
			t.Errorf("%s: not complete", profile)
		}
		if without := (farm.Farm{Profile: profile}); without.Complete() {
			t.Errorf("%s: complete without settings", profile)
		}
		for other, its := range ofEach {
			if g := its.new(); other != profile {
				wrong, both := f, f
				wrong.Profile = other
				both.HTTP, both.L4 = cmp.Or(f.HTTP, g.HTTP), cmp.Or(f.L4, g.L4)
				if wrong.Complete() || both.Complete() {
					t.Errorf("%s: complete with settings of %s: %v %v", profile, other, wrong.Complete(), both.Complete())
				}
			}
		}
	}
	none := farm.Farm{Profile: "none"}
	if none.Complete() || none.SettingsProfile() != "" || none.Groups() != nil || none.HasServices() || none.Own().Backends() != nil || none.Listeners() != nil {
		t.Error("a farm without settings has something")
	}
}

func TestConnectionsEndWithAFarmThatIsStoppedAtOnce(t *testing.T) {
	for profile, of := range ofEach {
		f := of.new()
		if f.L4 != nil {
			f.L4.StopGrace = 5
		}
		if f.StopAtOnce(); !f.Stopped || f.L4 != nil && f.L4.StopGrace != 0 {
			t.Errorf("%s: stopped %v, %v", profile, f.Stopped, f.L4)
		}
	}
}

func TestClientsReachFarmsByProtocolAndDataPath(t *testing.T) {
	reaches := map[string]bool{}
	for _, change := range []func(*farm.L4){func(*farm.L4) {}, func(l *farm.L4) { l.Protocol = farm.L4TCP }, func(l *farm.L4) { l.DataPath = farm.DataPathKernel }} {
		f := ofEach[farm.ProfileL4].new()
		change(f.L4)
		reaches[f.Reach()] = true
	}
	if len(reaches) != 3 {
		t.Errorf("distinct farms count as one: %v", reaches)
	}
}

func TestFarmOfTheKernelHasNoListenersAndNoLog(t *testing.T) {
	f := ofEach[farm.ProfileL4].new()
	f.L4.DataPath = farm.DataPathKernel
	if log, on := f.Log(); f.InEngine() || f.Listeners() != nil || log != nil || on || f.MixesVersions() {
		t.Errorf("engine %v, listeners %v, log %v", f.InEngine(), f.Listeners(), log)
	}
}
