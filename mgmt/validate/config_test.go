package validate_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/format"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
	"github.com/sluicelb/sluice/mgmt/validate/validatetest"
	"pgregory.net/rapid"
)

func TestAGoodConfigurationBreaksNoRule(t *testing.T) {
	for name, c := range map[string]*farm.Config{"good": validatetest.Good(), "empty": {}} {
		if err := validatetest.Rules.Config(c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEveryBrokenRuleNamesFieldRuleAndValue(t *testing.T) {
	for _, c := range []struct {
		spoil func(f *farm.Farm, s *farm.Service, b *farm.Backend)
		want  string
	}{
		{func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) { f.Name = "a_b" }, `farm "a_b": name must be a name of letters, digits and hyphens (not the first), at most 64, got "a_b"`},
		{func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) { f.Name = "-rf" }, `got "-rf"`},
		{func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) { f.Name = "" }, `farm "": name must be a name of letters, digits and hyphens (not the first), at most 64, got ""`},
		{func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) { f.Name = "0" }, `farm "0": name must not be "0": the name is reserved`},
		{func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) { f.Name = "total" }, `farm "total": name must not be "total": the name is reserved`},
		{func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) { f.Name = strings.Repeat("a", 65) }, `name must be at most 64 bytes long, got 65`},
		{func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) { f.Name = "a\nb" }, `farm "a\nb": name must be a name`},
		{func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) { f.Name = "other" }, `farm "other": name must be unique, a farm "other" exists already`},
		{func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) { f.Profile = "none" }, `farm "shop-1": profile must be one of ` + profileWords + `, got "none"`},
		{func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) { f.HTTP = nil }, `farm "shop-1": profile http needs its settings`},
		{func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) { f.VIP = netip.Addr{} }, `farm "shop-1": vip must be an IPv4 or IPv6 address, got ""`},
		{func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) { f.VIP = netip.MustParseAddr("224.0.0.1") }, `vip must be an IPv4 or IPv6 address, got "224.0.0.1": it is a multicast address`},
		{func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) {
			f.VIP = netip.MustParseAddr("255.255.255.255")
		}, `it is the broadcast address`},
		{func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) {
			f.VIP = netip.MustParseAddr("::ffff:10.0.0.5")
		}, `write the IPv4 address itself`},
		{func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) { f.VIP = netip.MustParseAddr("fe80::1%eth0") }, `addresses with a zone are not supported`},
		{func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) { f.VPort = 0 }, `farm "shop-1": vport must be a number from 1 to 65535, got 0`},
		{func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) { f.VPort = 81 }, `farm "other": vip and vport must not be used by another running farm: 10.0.0.5:81 collides with farm "shop-1" on 10.0.0.5:81`},
		{func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) {
			f.VIP, f.VPort = netip.IPv4Unspecified(), 81
		}, `collides with farm "shop-1" on 0.0.0.0:81`},
		{func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) { f.HTTP.ConnectTimeout = 0 }, `farm "shop-1": contimeout must be a number from 1 to 86400 (seconds), got 0`},
		{func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) { f.HTTP.ResponseTimeout = 86401 }, `restimeout must be a number from 1 to 86400 (seconds), got 86401`},
		{func(f *farm.Farm, _ *farm.Service, b *farm.Backend) { b.ConnectTimeout = 21 }, ""},
		{func(f *farm.Farm, _ *farm.Service, b *farm.Backend) { b.ConnectTimeout = 22 }, `farm "shop-1" service "web_1" backend 1: contimeout must be at most resurrectime of the farm (21), got 22`},
		{func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) { f.HTTP.ResurrectTime = 19 }, `farm "shop-1": resurrectime must be at least contimeout (20), got 19`},
		{func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) { f.HTTP.RequestTimeout = 1 << 31 }, `reqtimeout must be a number from 1 to 86400`},
		{func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) { f.HTTP.Verbs = "HTTP" }, `httpverb must be one of standardHTTP, extendedHTTP, standardWebDAV, MSextWebDAV, MSRPCext, optionsHTTP, any, got "HTTP"`},
		{func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) { f.HTTP.RewriteLocation = "" }, `rewritelocation must be one of disabled, enabled,`},
		{func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) { f.HTTP.Error503 = strings.Repeat("x", 4097) }, `error503 must be at most 4096 bytes long, got 4097`},
		{func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) { f.HTTP.Error414 = "\xff" }, `error414 must be valid UTF-8 text`},
		{func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) { f.HTTP.Mark = 0x5c000001 }, `farm "shop-1": mark must not be from 1543503872 to 1577058303`},
		{func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Mark = 0x5d000000 }, `mark must not be from 1543503872 to 1577058303 (0x5c000000 to 0x5dffffff), by which farms themselves are told apart, got 1560281088`},
		{func(_ *farm.Farm, s *farm.Service, _ *farm.Backend) { s.Name = "a b" }, `farm "shop-1" service "a b": name must be a name of letters, digits, underscores and hyphens (not the first), at most 64, got "a b"`},
		{func(_ *farm.Farm, s *farm.Service, _ *farm.Backend) { s.Name = "-rf" }, `got "-rf"`},
		{func(_ *farm.Farm, s *farm.Service, _ *farm.Backend) { s.Name = "moved" }, `farm "shop-1" service "moved": name must be unique in the farm`},
		{func(_ *farm.Farm, s *farm.Service, _ *farm.Backend) { s.VHost = "^shop" }, `vhost must be a valid regular expression, got "^shop": it is compared from the start of the host anyway`},
		{func(_ *farm.Farm, s *farm.Service, _ *farm.Backend) { s.VHost = "(" }, "vhost must be a valid regular expression, got \"(\": missing closing ): `(`"},
		{func(_ *farm.Farm, s *farm.Service, _ *farm.Backend) { s.URL = "a(?#b)" }, `urlp must be a valid regular expression, got "a(?#b)": comments are not allowed`},
		{func(_ *farm.Farm, s *farm.Service, _ *farm.Backend) { s.URL = "(?!x)" }, `look-around is not available (RE2 syntax)`},
		{func(_ *farm.Farm, s *farm.Service, _ *farm.Backend) { s.URL = "a\x00" }, `it holds a control character`},
		{func(_ *farm.Farm, s *farm.Service, _ *farm.Backend) { s.URL = strings.Repeat("a", 1025) }, `urlp must be at most 1024 bytes long, got 1025`},
		{func(_ *farm.Farm, s *farm.Service, _ *farm.Backend) { s.Redirect = "ftp://x/" }, `redirect must be an absolute http or https URL, got "ftp://x/": it must start with http:// or https://`},
		{func(_ *farm.Farm, s *farm.Service, _ *farm.Backend) { s.Redirect = "https://${vhost}/" }, `a redirect knows ${VHOST}, the host of the request, and $1 to $9`},
		{func(_ *farm.Farm, s *farm.Service, _ *farm.Backend) { s.Redirect = "/x" }, `it must start with http:// or https://`},
		{func(_ *farm.Farm, s *farm.Service, _ *farm.Backend) { s.Redirect = "https:///x" }, `the host is missing`},
		{func(_ *farm.Farm, s *farm.Service, _ *farm.Backend) { s.Redirect = "http://x/\r\nSet-Cookie: a" }, `it holds a blank or a control character`},
		{func(_ *farm.Farm, s *farm.Service, _ *farm.Backend) { s.Redirect = "http://u:p@x/" }, `it must not hold a user or password`},
		{func(_ *farm.Farm, s *farm.Service, _ *farm.Backend) { s.RedirectCode = 303 }, `redirect_code must be one of 301, 302, 307, got 303`},
		{func(_ *farm.Farm, s *farm.Service, _ *farm.Backend) { s.RedirectType = "x" }, `redirecttype must be one of default, append, got "x"`},
		{func(_ *farm.Farm, s *farm.Service, _ *farm.Backend) { s.Persistence = "ip" }, `persistence must be one of IP, BASIC, URL, PARM, COOKIE, HEADER, NONE, got "ip"`},
		{func(_ *farm.Farm, s *farm.Service, _ *farm.Backend) { s.Persistence, s.TTL = "IP", format.MaxTTL+1 }, `ttl must be a number from 1 to 31536000`},
		{func(_ *farm.Farm, s *farm.Service, _ *farm.Backend) { s.Persistence, s.SessionID = "HEADER", "X Y" }, `sessionid must be a token`},
		{func(_ *farm.Farm, s *farm.Service, _ *farm.Backend) { s.Persistence, s.SessionID = "URL", "a=b" }, `sessionid must be a parameter name`},
		{func(_ *farm.Farm, s *farm.Service, _ *farm.Backend) { s.Policy = "RANDOM" }, `routingpolicy must be one of ROUND_ROBIN,`},
		{func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Host = "" }, `farm "shop-1" service "web_1" backend 1: ip must be an address or a resolvable host name, got ""`},
		{func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Host = "10.0.0.300" }, `it is neither an address nor a host name`},
		{func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Host = "a..b" }, `it is neither an address nor a host name`},
		{func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Host = "0.0.0.0" }, `it is the unspecified address`},
		{func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Host = "239.1.1.1" }, `it is a multicast address`},
		{func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Host = "255.255.255.255" }, `it is the broadcast address`},
		{func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Host = "10.0.0.255" }, `it is the broadcast address of the local network 10.0.0.0/24`},
		{func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Addr = netip.MustParseAddr("10.0.0.255") }, `got "db.example" (10.0.0.255): it is the broadcast address`},
		{func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Host = "10.0.0.5" }, `ip and port must not be the farm's own address, got 10.0.0.5 port 80`},
		{func(f *farm.Farm, _ *farm.Service, b *farm.Backend) {
			f.VIP, b.Host = netip.IPv4Unspecified(), "127.0.0.9"
		}, `must not be the farm's own address`},
		{func(f *farm.Farm, _ *farm.Service, b *farm.Backend) {
			f.VIP, b.Host = netip.IPv4Unspecified(), "10.0.0.5"
		}, `must not be the farm's own address`},
		{func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Host = "10.0.0.7" }, `backend 1: ip and port must be unique in the service, backend 0 has 10.0.0.7 port 80 already`},
		{func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Port = 0 }, `port must be a number from 1 to 65535, got 0`},
		{func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Weight = 10 }, `weight must be a number from 1 to 9, got 10`},
		{func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Priority = 255 }, `priority must be a number from 1 to 9, got 255`},
		{func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.ConnLimit = 1 << 31 }, `connection_limit must be at most 2147483647, got 2147483648`},
		{func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Timeout = 86401 }, `timeout must be a number from 1 to 86400`},
		{func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) {
			b.Host, b.Source = "10.0.0.8", netip.MustParseAddr("::1")
		}, `farm "shop-1" service "web_1" backend 1: source must be of the same IP version as the backend (10.0.0.8), got ::1`},
		{func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) {
			b.Addr, b.Source = netip.MustParseAddr("10.0.0.8"), netip.MustParseAddr("::1")
		}, `source must be of the same IP version`},
		{func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) {
			b.Host, b.Source = "10.0.0.8", netip.IPv4Unspecified()
		}, `source must be the address of one machine, got 0.0.0.0: it is the unspecified address`},
		{func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) {
			b.Host, b.Source = "10.0.0.8", netip.MustParseAddr("10.0.0.255")
		}, `it is the broadcast address of the local network 10.0.0.0/24`},
		{func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Source = netip.MustParseAddr("224.0.0.1") }, `source must be an IPv4 or IPv6 address, got "224.0.0.1": it is a multicast address`},
		{func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Alias = "a\tb" }, `alias must be a text of letters, digits, blanks`},
		{func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Alias = "$(id)" }, `got "$(id)"`},
		{func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Alias = "../x" }, `got "../x"`},
		{func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Alias = "-rf" }, `got "-rf"`},
		{func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Alias = "fаrm" }, `got "fаrm"`},
		{func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Alias = "0" }, `alias must not be "0": the name is reserved`},
		{func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Maintenance = "off" }, `maintenance must be one of drain, cut, got "off"`},
	} {
		cfg := validatetest.Good()
		f := &cfg.Farms[0]
		c.spoil(f, &f.HTTP.Services[0], &f.HTTP.Services[0].Backends[1])
		if err := validatetest.First(cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

func TestOddConfigurationsAreValid(t *testing.T) {
	for name, change := range map[string]func(f *farm.Farm, s *farm.Service, b *farm.Backend){
		"a stopped farm on a used address":      func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) { f.VPort, f.Stopped = 81, true },
		"the unspecified VIP on another port":   func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) { f.VIP = netip.IPv4Unspecified() },
		"a network of two without broadcast":    func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Host = "10.9.0.1" },
		"a broadcast address of a far network":  func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Host = "10.7.0.255" },
		"the farm's address on another port":    func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Host, b.Port = "10.0.0.5", 8080 },
		"the same server twice by two ports":    func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Host, b.Port = "10.0.0.7", 81 },
		"backends beside a redirect":            func(_ *farm.Farm, s *farm.Service, _ *farm.Backend) { s.Redirect = "https://x.example" },
		"a session of a parameter with bracket": func(_ *farm.Farm, s *farm.Service, _ *farm.Backend) { s.Persistence, s.SessionID = "URL", "id[]" },
		"persistence with its default ttl":      func(_ *farm.Farm, s *farm.Service, _ *farm.Backend) { s.Persistence = "IP" },
		"an error text of anything":             func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) { f.HTTP.Error500 = "a\x00\r\n<b>" },
		"a trailing dot":                        func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Host = "db_1.example." },
	} {
		cfg := validatetest.Good()
		f := &cfg.Farms[0]
		change(f, &f.HTTP.Services[0], &f.HTTP.Services[0].Backends[1])
		if err := validatetest.Rules.Config(cfg); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnIPv6FarmCollidesOnlyWithItsOwnKind(t *testing.T) {
	cfg := validatetest.Good()
	cfg.Farms[1].VIP, cfg.Farms[1].VPort = netip.IPv6Unspecified(), 80
	if err := validatetest.Rules.Config(cfg); err != nil {
		t.Errorf("[::]:80 beside 10.0.0.5:80: %v", err)
	}
	third := cfg.Farms[1].Clone()
	third.Name, third.VIP = "third", netip.MustParseAddr("2001:db8::5")
	cfg.Farms = append(cfg.Farms, third)
	if err := validatetest.Rules.Config(cfg); err == nil {
		t.Error("[2001:db8::5]:80 beside [::]:80 was accepted")
	}
}

func TestAllReportsEveryProblemInOrderAndIsBounded(t *testing.T) {
	cfg := validatetest.Good()
	cfg.Farms[0].VPort = 0
	cfg.Farms[0].HTTP.Services[0].Backends[0].Weight = 10
	cfg.Farms[1].HTTP.Verbs = "x"
	var fields []string
	for _, e := range validatetest.Rules.All(cfg) {
		fields = append(fields, e.Field)
	}
	if got := fmt.Sprint(fields); got != "[vport weight httpverb]" {
		t.Errorf("fields %s", got)
	}
	for range 200 {
		cfg.Farms = append(cfg.Farms, cfg.Farms[0])
	}
	if n := len(validatetest.Rules.All(cfg)); n != validate.MaxErrors {
		t.Errorf("%d errors", n)
	}
}

func TestAPriorityOutOfReachIsWarnedAbout(t *testing.T) {
	s := &farm.Service{Backends: []farm.Backend{{}, {Priority: 2}, {Priority: 4}, {Priority: 3}}}
	for i, want := range []bool{false, false, false, false} {
		if got := httpfarm.PriorityWarning(s, i) != ""; got != want {
			t.Errorf("backend %d: %v", i, httpfarm.PriorityWarning(s, i))
		}
	}
	s.Backends[3].Priority = 5
	cfg := &farm.Config{Farms: []farm.Farm{{Name: "a", HTTP: &farm.HTTP{Services: []farm.Service{*s}}}}}
	warnings := validate.Warnings(cfg)
	if len(warnings) != 2 || !strings.Contains(warnings[0].Error(), "backend 2: priority 4 will never be used: backends with a lower value: 2, so at most 3 is reached") {
		t.Errorf("warnings %v", warnings)
	}
}

func TestOnlyLocalAddressesAreVIPs(t *testing.T) {
	local := []netip.Addr{netip.MustParseAddr("10.0.0.5")}
	for addr, want := range map[string]bool{"10.0.0.5": true, "10.0.0.6": false, "127.0.0.9": true, "0.0.0.0": true, "::": true, "::1": true, "2001:db8::1": false} {
		err := profile.LocalVIP(netip.MustParseAddr(addr), local)
		if (err == nil) != want {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

func TestOnlyLocalAddressesAreSources(t *testing.T) {
	local := []netip.Addr{netip.MustParseAddr("10.0.0.5")}
	for addr, want := range map[string]bool{"10.0.0.5": true, "10.0.0.6": false, "127.0.0.9": true, "0.0.0.0": false, "::1": true} {
		if err := profile.LocalSource(netip.MustParseAddr(addr), local); (err == nil) != want {
			t.Errorf("%s: %v", addr, err)
		}
	}
	if err := profile.LocalSource(netip.Addr{}, local); err != nil {
		t.Error(err)
	}
}

func TestABackendIsNotAddedBesideARedirect(t *testing.T) {
	if err := httpfarm.AddBackend("p", &farm.Service{}); err != nil {
		t.Error(err)
	}
	if err := httpfarm.AddBackend("p", &farm.Service{DNSFarm: "names"}); err == nil || !strings.HasPrefix(err.Error(), "p: dns_farm must be empty") {
		t.Errorf("%v", err)
	}
	if err := httpfarm.AddBackend("p", &farm.Service{Redirect: "http://x"}); err == nil || !strings.HasPrefix(err.Error(), "p: redirect must be empty") {
		t.Errorf("got %v", err)
	}
}

func TestTheMachinesOwnAddressesAreFound(t *testing.T) {
	for _, p := range validate.SystemPrefixes() {
		if p.Addr().IsLoopback() {
			return
		}
	}
	t.Skip("this machine has no loopback address")
}

// A backend gets the warning if and only if its priority is reached for no set of unusable
// backends.
func TestPriorityWarningsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &farm.Service{}
		for range rapid.IntRange(1, 7).Draw(t, "backends") {
			s.Backends = append(s.Backends, farm.Backend{Priority: uint8(rapid.IntRange(0, 9).Draw(t, "priority"))})
		}
		used := make([]bool, len(s.Backends))
		for down := range 1 << len(s.Backends) {
			var unusable farm.Unusable
			for i := range s.Backends {
				unusable[s.Backends[i].EffectivePriority()] += down >> i & 1
			}
			for i := range s.Backends {
				used[i] = used[i] || down>>i&1 == 0 && s.Backends[i].EffectivePriority() <= unusable.Level()
			}
		}
		for i := range s.Backends {
			if text := httpfarm.PriorityWarning(s, i); (text == "") != used[i] {
				t.Fatalf("backend %d of %v: used %v, warning %q", i, s.Backends, used[i], text)
			}
		}
	})
}
