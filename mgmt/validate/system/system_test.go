package system_test

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/system"
	"github.com/sluicelb/sluice/mgmt/validate/validatetest"
)

func section(t *testing.T, name string) *field.Table[farm.System] {
	t.Helper()
	s := system.Named(name)
	if s == nil {
		t.Fatalf("there is no section %s", name)
	}
	return &s.Table
}

func TestSettingsOfTheMachineAreSetAndShown(t *testing.T) {
	addr, prefix := netip.MustParseAddr, netip.MustParsePrefix
	for _, c := range []struct {
		section, body string
		want          farm.System
		shown         string
	}{
		{"dns", `{"primary":"192.0.2.53","secondary":"2001:DB8::53"}`, farm.System{DNS: farm.DNS{Primary: addr("192.0.2.53"), Secondary: addr("2001:db8::53")}}, `{"primary":"192.0.2.53","secondary":"2001:db8::53"}`},
		{"dns", `{"primary":"","secondary":null}`, farm.System{}, `{"primary":"","secondary":""}`},
		{"ntp", `{"server":"0.pool.ntp.org"}`, farm.System{NTP: farm.NTP{Server: "0.pool.ntp.org"}}, `{"server":"0.pool.ntp.org"}`},
		{"ssh", `{"listen":"192.0.2.1,2001:db8::1","port":"2222"}`, farm.System{SSH: farm.SSH{Listen: []netip.Addr{addr("192.0.2.1"), addr("2001:db8::1")}, Port: 2222}}, `{"listen":["192.0.2.1","2001:db8::1"],"port":2222}`},
		{"ssh", `{"listen":["*"]}`, farm.System{SSH: farm.SSH{Listen: []netip.Addr{netip.IPv6Unspecified()}}}, `{"listen":["*"],"port":null}`},
		{"ssh", `{"listen":["::"],"port":null}`, farm.System{SSH: farm.SSH{Listen: []netip.Addr{netip.IPv6Unspecified()}}}, `{"listen":["*"],"port":null}`},
		{"snmp", `{"status":"true","ip":"*","port":161,"community":"public","scope":"0.0.0.0/0"}`, farm.System{SNMP: farm.SNMP{On: true}}, `{"community":"public","ip":"0.0.0.0","port":161,"scope":"0.0.0.0/0","status":"true"}`},
		{"snmp", `{"ip":"192.0.2.1","port":1161,"community":"let/me=in","scope":"2001:db8::/32"}`,
			farm.System{SNMP: farm.SNMP{IP: addr("192.0.2.1"), Port: 1161, Community: "let/me=in", Scope: prefix("2001:db8::/32")}}, `{"community":"***","ip":"192.0.2.1","port":1161,"scope":"2001:db8::/32","status":"false"}`},
		{"http", `{"ip":"*","port":"8443","certificate":"gui"}`, farm.System{API: farm.Interface{IP: netip.IPv6Unspecified(), Port: 8443, Certificate: "gui.pem"}}, `{"certificate":"gui.pem","ip":"*","port":8443}`},
		{"http", `{"ip":"192.0.2.1"}`, farm.System{API: farm.Interface{IP: addr("192.0.2.1")}}, `{"certificate":"","ip":"192.0.2.1","port":null}`},
		{"proxy", `{"http_proxy":"http://Proxy.Example:3128/","https_proxy":"http://ali:p%40ss@[2001:db8::1]:3128"}`,
			farm.System{Proxy: farm.Proxy{ForHTTP: farm.ProxyServer{URL: "http://proxy.example:3128"}, ForHTTPS: farm.ProxyServer{URL: "http://ali@[2001:db8::1]:3128", Password: "p@ss"}}},
			`{"http_proxy":"http://proxy.example:3128","https_proxy":"http://ali:***@[2001:db8::1]:3128"}`},
		{"syslog", `{"servers":["UDP://Log.example","tls://10.0.0.1","tcp://[2001:db8::1]:601","2001:db8::2"],"ca":"own"}`, farm.System{Syslog: farm.Syslog{CA: "own", Servers: []farm.SyslogServer{
			{Protocol: "udp", Host: "log.example", Port: 514}, {Protocol: "tls", Host: "10.0.0.1", Port: 6514}, {Protocol: "tcp", Host: "2001:db8::1", Port: 601}, {Protocol: "udp", Host: "2001:db8::2", Port: 514}}}},
			`{"ca":"own","servers":["udp://log.example:514","tls://10.0.0.1:6514","tcp://[2001:db8::1]:601","udp://[2001:db8::2]:514"]}`},
	} {
		var s farm.System
		if _, err := validatetest.Change(t, section(t, c.section), &s, c.body); err != nil || !reflect.DeepEqual(s, c.want) {
			t.Errorf("%s %s: %v\ngot  %+v\nwant %+v", c.section, c.body, err, s, c.want)
		}
		if shown, _ := json.Marshal(section(t, c.section).Answer(&s)); string(shown) != c.shown {
			t.Errorf("%s %s is shown as\n%s, want\n%s", c.section, c.body, shown, c.shown)
		}
		if err := validate.Config(&farm.Config{System: s}); err != nil {
			t.Errorf("%s: %v", c.body, err)
		}
	}
}

func TestTheSyslogServerOfTheFamilyIsSetFieldByField(t *testing.T) {
	var s farm.System
	for _, c := range []struct {
		body string
		want farm.SyslogServer
	}{
		{`{"ip":"a.example"}`, farm.SyslogServer{Protocol: farm.SyslogUDP, Host: "a.example", Port: 514}},
		{`{"protocol":"tls"}`, farm.SyslogServer{Protocol: farm.SyslogTLS, Host: "a.example", Port: 6514}},
		{`{"port":7000}`, farm.SyslogServer{Protocol: farm.SyslogTLS, Host: "a.example", Port: 7000}},
		{`{"protocol":"tcp"}`, farm.SyslogServer{Protocol: farm.SyslogTCP, Host: "a.example", Port: 7000}},
		{`{"protocol":null,"port":null}`, farm.SyslogServer{Protocol: farm.SyslogUDP, Host: "a.example", Port: 514}},
	} {
		if _, err := validatetest.Change(t, &system.RemoteSyslog, &s, c.body); err != nil || !slices.Equal(s.Syslog.Servers,
			[]farm.SyslogServer{c.want}) {
			t.Fatalf("%s: %v\ngot  %+v\nwant %+v", c.body, err, s.Syslog.Servers, c.want)
		}
	}
}

func TestSettingsOfTheMachineAreRefusedWithWhatIsAllowed(t *testing.T) {
	for _, c := range []struct{ section, body, want string }{
		{"dns", `{"primary":"dns.example"}`, `primary must be the address of a name server, got "dns.example": it is no address`},
		{"dns", `{"primary":"0.0.0.0"}`, `it is the unspecified address`},
		{"dns", `{"primary":"fe80::1%eth0"}`, `addresses with a zone are not supported`},
		{"ntp", `{"server":"a b"}`, `server must be an address or a host name`},
		{"ntp", "{\"server\":\"a\\nb\"}", `server must be an address or a host name`},
		{"ssh", `{"listen":["sshd.example"]}`, `listen must be a list of addresses of this machine, or *`},
		{"ssh", `{"port":0}`, `port must be a number from 1 to 65535, got 0`},
		{"snmp", `{"community":"` + strings.Repeat("a", 33) + `"}`, `community must be a word of at most 32`},
		{"snmp", `{"community":"a b"}`, `community must be a word`},
		{"snmp", "{\"community\":\"a\\nrwcommunity b\"}", `community must be a word`},
		{"snmp", `{"community":"***"}`, `community is ***, which keeps the community there is`},
		{"snmp", `{"scope":"10.0.0.1/8"}`, `scope must be a network as 192.0.2.0/24, got "10.0.0.1/8": it is the address of a host in the network 10.0.0.0/8`},
		{"snmp", `{"scope":"10.0.0.0"}`, `it is no network`},
		{"snmp", `{"port":65536}`, `got 65536`},
		{"http", `{"ip":"x"}`, `ip must be an address of this machine or *, got "x"`},
		{"http", `{"certificate":"../x"}`, `certificate must be the name of a certificate`},
		{"proxy", `{"http_proxy":"http://a b"}`, `it holds a blank or a control character`},
		{"proxy", `{"http_proxy":"ftp://a"}`, `it must start with http:// or https://`},
		{"proxy", `{"http_proxy":"http://a/x"}`, `a proxy has no path`},
		{"proxy", `{"http_proxy":"http://"}`, `its host is missing`},
		{"proxy", `{"http_proxy":"http://a:0"}`, `its port must be a number`},
		{"proxy", `{"http_proxy":"http://:secret@a"}`, `it has a password and no user`},
		{"proxy", `{"http_proxy":"http://ali:@a"}`, `its password is blank`},
		{"proxy", `{"http_proxy":"http://ali:***@a"}`, `http_proxy has the password ***, which keeps the one there is; there is none`},
		{"proxy", `{"http_proxy":"http://ali:sealed-%3F@a"}`, `what begins like a sealed secret is none`},
		{"syslog", `{"servers":["sctp://a"]}`, `its protocol is none of udp, tcp and tls`},
		{"syslog", `{"servers":["udp://a:0"]}`, `its port must be a number`},
		{"syslog", `{"servers":["udp://[2001:db8::1]x"]}`, `its host is neither`},
		{"syslog", `{"servers":["udp://"]}`, `its host is neither`},
		{"syslog", `{"servers":["udp://a","a:514"]}`, `must not hold the same twice`},
		{"syslog", `{"servers":"a,b,c,d,e,f,g,h,i"}`, `servers may have at most 8 items`},
		{"syslog", `{"server":"a"}`, `unknown field "server" (did you mean "servers"?)`},
	} {
		var s farm.System
		_, err := validatetest.Change(t, section(t, c.section), &s, c.body)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %.80s\ngot  %v\nwant %s", c.section, c.body, err, c.want)
		}
	}
}

// Messages and responses never show a secret.
func TestSecretsOfTheMachineAreShownNowhere(t *testing.T) {
	sealed := farm.NewSealedSecret("c2VhbGVk")
	for _, c := range []struct{ section, body string }{
		{"snmp", `{"community":"geheim geheim"}`}, {"proxy", `{"http_proxy":"http://ali:geheim@a/x"}`}, {"proxy", `{"http_proxy":"http://ali:geheim@%zz"}`},
	} {
		var s farm.System
		if _, err := validatetest.Change(t, section(t, c.section), &s, c.body); err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v", c.body, err)
		}
	}
	s := farm.System{SNMP: farm.SNMP{Community: sealed}, Proxy: farm.Proxy{ForHTTPS: farm.ProxyServer{URL: "http://ali@a:1", Password: sealed}}}
	for _, c := range []struct{ section, field, exact, shown string }{
		{"snmp", "community", "*** (", "***"}, {"proxy", "https_proxy", "http://ali:*** (", "http://ali:***@a:1"},
	} {
		for name, v := range section(t, c.section).Shown(&s) {
			if name == c.field && (!strings.HasPrefix(v.Text(), c.exact) || strings.Contains(v.Text(), "c2VhbGVk")) {
				t.Errorf("a difference shows %s", v.Text())
			}
		}
		if got := section(t, c.section).Answer(&s)[c.field]; got != c.shown {
			t.Errorf("an answer shows %v", got)
		}
		kept := s.Clone()
		if _, err := validatetest.Change(t, section(t, c.section), &kept, `{"`+c.field+`":"`+c.shown+`"}`); err != nil || !reflect.DeepEqual(kept, s) {
			t.Errorf("writing back what was read: %v, %+v", err, kept)
		}
	}
	plain := s
	plain.SNMP.Community = "geheim"
	for _, v := range section(t, "snmp").Shown(&plain) {
		if strings.Contains(v.Text(), "geheim") || strings.Contains(v.Text(), "(") {
			t.Errorf("an unsealed secret is shown as %s", v.Text())
		}
	}
}

func TestSettingsOfTheMachineFitEachOther(t *testing.T) {
	addr := netip.MustParseAddr
	for want, s := range map[string]farm.System{
		"system dns: secondary must be another name server than primary, 192.0.2.53": {DNS: farm.DNS{Primary: addr("192.0.2.53"), Secondary: addr("192.0.2.53")}},
		"system ssh: listen must be * alone":                                         {SSH: farm.SSH{Listen: []netip.Addr{addr("::"), addr("192.0.2.1")}}},
		"system snmp: community must be a word":                                      {SNMP: farm.SNMP{Community: "a b"}},
	} {
		// Only the first violation is reported.
		more := s
		more.SSH.Listen = []netip.Addr{addr("::"), addr("192.0.2.1")}
		farms := []farm.Farm{validatetest.Listening("a", "http 10.0.0.5 80"), validatetest.Listening("b", "http 10.0.0.5 80")}
		if err := validate.Config(&farm.Config{System: more, Farms: farms}); err == nil ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if all := validate.All(&farm.Config{System: s}); len(all) != 1 {
			t.Errorf("%d errors: %v", len(all), all)
		}
	}
}

func TestForms(t *testing.T) {
	objects := validate.Schema()["$defs"].(map[string]any)
	for _, s := range system.Sections {
		if objects["system_"+s.Name] == nil {
			t.Errorf("the schema has no %s", s.Name)
		}
	}
}
