package farm_test

import (
	"errors"
	"net/netip"
	"reflect"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

func TestUnsetMachineSettingsHaveDefaults(t *testing.T) {
	var s farm.SNMP
	if s.EffectiveIP() != netip.IPv4Unspecified() || s.EffectivePort() != 161 || s.EffectiveCommunity() != "public" || s.EffectiveScope() != netip.MustParsePrefix("0.0.0.0/0") {
		t.Error("unset:", s.EffectiveIP(), s.EffectivePort(), s.EffectiveCommunity(), s.EffectiveScope())
	}
	s = farm.SNMP{IP: netip.MustParseAddr("10.0.0.1"), Port: 1161, Community: "x", Scope: netip.MustParsePrefix("10.0.0.0/8")}
	if s.EffectiveIP() != s.IP || s.EffectivePort() != 1161 || s.EffectiveCommunity() != "x" || s.EffectiveScope() != s.Scope {
		t.Error("set:", s.EffectiveIP(), s.EffectivePort(), s.EffectiveCommunity(), s.EffectiveScope())
	}
}

func TestACloneOfSettingsIsItsOwn(t *testing.T) {
	s := farm.System{SSH: farm.SSH{Listen: []netip.Addr{netip.MustParseAddr("10.0.0.1")}}, Syslog: farm.Syslog{Servers: []farm.SyslogServer{{Protocol: farm.SyslogTCP, Host: "a", Port: 1}}}}
	c := (&farm.Config{System: s}).Clone()
	c.System.SSH.Listen[0], c.System.Syslog.Servers[0].Host = netip.IPv6Unspecified(), "b"
	if s.SSH.Listen[0] != netip.MustParseAddr("10.0.0.1") || s.Syslog.Servers[0].Host != "a" {
		t.Error("the original changed")
	}
}

func TestSyslogServerFormatsAsURL(t *testing.T) {
	for want, s := range map[string]farm.SyslogServer{
		"udp://a:514": {Protocol: farm.SyslogUDP, Host: "a"}, "tls://a:6514": {Protocol: farm.SyslogTLS, Host: "a"}, "tcp://[2001:db8::1]:601": {Protocol: farm.SyslogTCP, Host: "2001:db8::1", Port: 601},
	} {
		if s.String() != want {
			t.Errorf("%s, want %s", s, want)
		}
	}
}

func TestAProxyIsUsedWithItsPassword(t *testing.T) {
	open := func(s farm.Secret) (string, error) {
		if text, is := s.Sealed(); is && text == "x" {
			return "p@ss", nil
		}
		return "", errors.New("not ours")
	}
	for _, c := range []struct {
		proxy farm.ProxyServer
		want  string
	}{
		{farm.ProxyServer{URL: "http://a:1"}, "http://a:1"}, {farm.ProxyServer{URL: "http://ali@a:1", Password: farm.NewSealedSecret("x")}, "http://ali:p%40ss@a:1"},
	} {
		if u, err := c.proxy.Address(open); err != nil || u.String() != c.want {
			t.Errorf("%v %v, want %s", u, err, c.want)
		}
	}
	if u, err := (farm.ProxyServer{}).Address(open); u != nil || err != nil {
		t.Errorf("none: %v %v", u, err)
	}
	if u, err := (farm.ProxyServer{URL: "http://ali@a", Password: farm.NewSealedSecret("y")}).Address(open); u != nil || err == nil {
		t.Errorf("an unreadable password: %v", u)
	}
}

func TestSecretsHaveDistinctPurposes(t *testing.T) {
	var s farm.System
	seen := map[string]bool{}
	for _, secret := range s.Secrets() {
		*secret.At = "x"
		seen[secret.Purpose] = true
	}
	want := farm.System{SNMP: farm.SNMP{Community: "x"}, Proxy: farm.Proxy{ForHTTP: farm.ProxyServer{Password: "x"}, ForHTTPS: farm.ProxyServer{Password: "x"}}}
	if !reflect.DeepEqual(s, want) || len(seen) != 3 {
		t.Errorf("%+v %v", s, seen)
	}
}
