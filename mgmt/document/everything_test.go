package document_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/snapshot"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/validate"
)

var update = flag.Bool("update", false, "write the golden files of this package anew")

// everything returns a configuration in which fields of every kind differ from their defaults,
// together with the fields they require.
func everything() *farm.Config {
	rules := func(of string) farm.HeaderRules {
		return farm.HeaderRules{
			AddRequest: []farm.HeaderAdd{{Header: "X-" + of + ": a: \"b\" #c"}}, RemoveRequest: []farm.HeaderRemove{{Pattern: "^X-Debug"}, {Pattern: `^X-(a|b)\d`}},
			ReplaceRequest: []farm.HeaderReplace{{Header: "^User-Agent$", Match: "^(.*)$", Replace: "$1 via " + of}, {Header: "^Referer$", Match: "x"}},
			AddResponse:    []farm.HeaderAdd{{Header: "X-Served: yes"}}, RemoveResponse: []farm.HeaderRemove{{Pattern: "^Server:"}},
			ReplaceResponse: []farm.HeaderReplace{{Header: "^Set-Cookie$", Match: "$", Replace: "; Secure"}},
		}
	}
	h := &farm.HTTP{
		ConnectTimeout: 5, ResponseTimeout: 6, ResurrectTime: 7, RequestTimeout: 8, RewriteLocation: farm.RewriteEnabledBackendsPath, Verbs: farm.VerbsOptionsHTTP,
		Error414: "long", Error500: "a\nb", Error501: "c", Error503: "d", ErrorWAF: "no",
		TLS: &farm.TLS{
			Certificates: []string{"shop.pem", "*.example.com.pem"}, Ciphers: farm.CiphersCustom, CustomCiphers: "ECDHE+AESGCM:!aNULL", DisableTLS13: true, Curves: "X25519:P-256",
			DisableHTTP2: true, Clients: farm.ClientAuthRequired, ClientCA: "clients", ClientHeaders: true, StrictHost: true, NoSSLRedirect: "https://shop.example/", NoSSLCode: 307, ErrorNoSSL: "speak TLS",
		},
		HeaderRules: rules("farm"), Continue: farm.ContinueNever, MaxBody: 1 << 30, MaxHead: 2048, MaxConnections: 32760, Overflow: farm.OverflowRefuse,
		CheckURL: "^/[a-z]", PathPolicy: farm.PathStrict, IgnoreCase: true, Logs: true, RewriteHost: true, RewriteDestination: true, TunnelTimeout: 9, StopGrace: 10,
		AccessLog: farm.AccessLog{
			Format: farm.LogCombined, Fields: []farm.LogField{farm.LogTotal, farm.LogBackend}, Headers: []string{"X-Customer"}, Sample: 10,
			Redact: []string{"cookie", "pin"}, Sink: farm.LogSyslog, File: "all", Size: 5, Keep: 3, Target: "tcp://log.example.org:601",
		},
		RequestID: farm.RequestIDBoth, ProxyIn: farm.ProxyInRequired,
		Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::1/128")},
		Mark:    4294967294,
	}
	h.Services = []farm.Service{
		{
			Name: "web", VHost: `shop\.example`, URL: "^/a", Persistence: farm.PersistCookie, TTL: 60, SessionID: "SID", Policy: farm.PolicyConsistentHash,
			HeadRequire: []string{"^X-A: 1$"}, HeadDeny: []string{"^User-Agent: .*bot", "^X-B:"}, IgnoreCase: true, HeaderRules: rules("service"),
			Rewrites:        []farm.URLRewrite{{Pattern: "^/a/(.*)", Replace: "/$1", Last: true}, {Pattern: "b"}},
			RewriteLocation: farm.RewriteDisabled, TLS: &farm.BackendTLS{Verify: farm.VerifyCA, CA: "own", Name: "web.internal", Certificate: "us.pem"}, STS: 600, Pinned: true, IgnoreClose: true, ProxyOut: farm.ProxyOutV2, ServedBy: "X-Backend",
			Compression: &farm.Compression{Codings: []farm.Coding{farm.CodingBrotli, farm.CodingGzip}, Min: 500, Types: []string{"text/*", "application/json"}, Level: farm.CompressionBest},
			RateLimit:   &farm.RateLimit{Requests: 100, Period: 60, Burst: 20, Key: farm.RateKeyHeader, Header: "X-Customer"},
			Split:       new(uint8),
			Auth: &farm.Auth{Users: []farm.AuthUser{{Name: "ali", Hash: "$2y$05$" + strings.Repeat("a", 53)}}, Realm: "inside", Header: "X-Key",
				Keys: []farm.AuthKey{farm.AuthKey(strings.Repeat("0123456789abcdef", 4))}, Pass: true},
			Leniency:  farm.Leniencies()[1:],
			Queueing:  farm.Queueing{Queue: 65535, QueueTimeout: 3600},
			Retrying:  farm.Retrying{RetryOn: []farm.RetryCondition{farm.RetryReset, "503"}, Retries: 5, RetryBudget: 100, RetryUnsafe: true},
			Outlier:   farm.Outlier{OutlierErrors: 100, OutlierRate: 99, OutlierSlow: 100, OutlierWindow: 3600, OutlierRequests: 65535, OutlierTime: 3600, OutlierPercent: 100},
			SlowStart: 3600,
			Check:     "check_tcp",
			Backends: []farm.Backend{{Host: "10.0.0.1", Addr: netip.MustParseAddr("10.0.0.1"), Port: 81, Weight: 2, Priority: 3, ConnLimit: 4, Timeout: 5, ConnectTimeout: 7,
				Source: netip.MustParseAddr("10.0.0.9"), Mark: 4294967295, Alias: "first", Maintenance: farm.MaintenanceDrain, Sessions: []string{"a b;\"c\"", "42"}},
				{Host: "_http._tcp.example.com", Resolve: farm.ResolveService}},
		},
		{Name: "cookies", BackendProtocol: farm.BackendHTTP2, Cookie: &farm.CookieInsert{Name: "SRV", Domain: ".shop.example", Path: "/a", TTL: 70, SameSite: farm.SameSiteOff}},
		{Name: "moved", Redirect: "https://shop.example/", RedirectType: farm.RedirectAppend, RedirectCode: 307},
	}
	l4 := func(name, vip string, l *farm.L4) farm.Farm {
		return farm.Farm{Name: name, Profile: farm.ProfileL4, VIP: netip.MustParseAddr(vip), L4: l}
	}
	responses := uint16(0)
	system := farm.System{
		DNS: farm.DNS{Primary: netip.MustParseAddr("192.0.2.53"), Secondary: netip.MustParseAddr("2001:db8::53")}, NTP: farm.NTP{Server: "ntp.example.org"},
		SSH:  farm.SSH{Listen: []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("2001:db8::1")}, Port: 2222},
		SNMP: farm.SNMP{On: true, IP: netip.MustParseAddr("10.0.0.1"), Port: 1161, Community: farm.NewSealedSecret("QUJD"), Scope: netip.MustParsePrefix("10.0.0.0/8")},
		API:  farm.Interface{IP: netip.MustParseAddr("10.0.0.1"), Port: 8443, Certificate: "shop.pem"},
		Proxy: farm.Proxy{ForHTTP: farm.ProxyServer{URL: "http://ali@proxy.example:3128", Password: farm.NewSealedSecret("REVG")},
			ForHTTPS: farm.ProxyServer{URL: "https://10.0.0.3:3129"}},
		Syslog:  farm.Syslog{CA: "own", Servers: []farm.SyslogServer{{Protocol: farm.SyslogTLS, Host: "log.example", Port: 6514}, {Protocol: farm.SyslogUDP, Host: "2001:db8::7", Port: 514}}},
		Aliases: farm.Aliases{Backends: []farm.Alias{{ID: "2001:db8::1", Alias: "db-1"}, {ID: "10.0.0.1", Alias: "web.example"}}, Interfaces: []farm.Alias{{ID: "eth0:web", Alias: "office"}}},
	}
	checks := []farm.Check{
		{Name: "alive", Description: "Is it alive?", Command: "check_http -I HOST -p PORT -s 'a b'", Interval: 5, Timeout: 3, Rise: 3, Fall: 4, Priority: 1, Logs: true, CutConns: true, BackendAlias: true},
		{Name: "check_tcp", Interval: 20}, {Name: "none"},
	}
	doh := farm.DefaultHTTP()
	doh.Services = []farm.Service{{Name: "doh", URL: "^/dns-query", DNSFarm: "names"}}
	return &farm.Config{System: system, Checks: checks, Farms: []farm.Farm{
		{Name: "shop", Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("10.0.0.5"), VPort: 443, Stopped: true, HTTP: h},
		l4("relay", "10.0.0.5", &farm.L4{
			Ports: []farm.PortRange{{First: 25, Last: 25}, {First: 8000, Last: 8010}}, Protocol: farm.L4TCP, NAT: farm.NATMasquerade, Algorithm: farm.L4LeastConn,
			Persist: farm.L4PersistSrc, TTL: 90, DataPath: farm.DataPathUserspace, Logs: true, LogLimit: 5, LogPrefix: "relay: new", ConnectTimeout: 4, IdleTimeout: 5,
			ResurrectTime: 6, StopGrace: 7, MaxConnections: 8, Source: netip.MustParseAddr("10.0.0.8"), Mark: 9, Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
			ProxyIn: farm.ProxyInRequired, ProxyOut: farm.ProxyOutV1, Check: "check_http",
			AccessLog: farm.AccessLog{Fields: []farm.LogField{farm.LogClient, farm.LogBackend}, Sample: 2, Sink: farm.LogSyslog, File: "relay", Size: 3, Keep: 4, Target: "udp://10.0.0.7:514"},
			Backends: []farm.Backend{{Host: "10.0.0.1", Addr: netip.MustParseAddr("10.0.0.1"), Weight: 2, Priority: 3, ConnLimit: 4,
				Source: netip.MustParseAddr("10.0.0.9"), Mark: 4294967295, Alias: "first", Maintenance: farm.MaintenanceCut, Sessions: []string{"192.0.2.1"},
				ServerNames: []string{"shop.example", "*.shop.example"}}},
		}),
		l4("dns", "10.0.0.5", &farm.L4{Ports: []farm.PortRange{{First: 53, Last: 53}}, Protocol: farm.L4UDP, NAT: farm.NATMasquerade, Algorithm: farm.L4Weight, TTL: farm.DefaultL4TTL,
			Responses: &responses, QUIC: true, Backends: []farm.Backend{{Host: "10.0.0.1", Addr: netip.MustParseAddr("10.0.0.1"), Port: 5353}, {Host: "pool.example.com", Resolve: farm.ResolveAll}}}),
		{Name: "names", Profile: farm.ProfileGSLB, VIP: netip.MustParseAddr("10.0.0.5"), VPort: 5300, Global: names()},
		{Name: "secure", Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("10.0.0.5"), VPort: 8443, Stopped: true, HTTP: doh}, // separate: it needs the farm above
		l4("rest", "2001:db8::5", &farm.L4{Protocol: farm.L4All, NAT: farm.NATDirect, Algorithm: farm.L4HashDst, TTL: farm.DefaultL4TTL, DataPath: farm.DataPathKernel}),
	}}
}

// names returns gslb settings with all fields set.
func names() *farm.GSLB {
	addr, dot := netip.MustParseAddr, farm.DefaultTLS()
	dot.Certificates = []string{"shop.pem", "ns1.pem"}
	return &farm.GSLB{
		TLS: dot, TLSPort: 8853, Logs: true, AccessLog: farm.AccessLog{Fields: []farm.LogField{farm.LogName, farm.LogRcode}, Sample: 10, Sink: farm.LogSyslog, Target: "udp://10.0.0.9:514", File: "asked", Size: 5, Keep: 3},
		ServerVersion: "mine", NSID: "ns1", QueryRate: 1000, AnswerRate: 100, Slip: 3, MaxConnections: 7, IdleTimeout: 5,
		Transfers: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Notified: []netip.Addr{addr("10.0.0.7"), addr("2001:db8::7")},
		Services: []farm.DNSService{{Name: "shop", Algorithm: farm.DNSGeo, Port: 443, Check: "check_tcp", TTL: 9, DegradedTTL: 3, Answers: 2, AllDown: farm.AllDownFallback,
			Fallback: []netip.Addr{addr("192.0.2.99")}, Unprobed: true,
			Backends: []farm.Backend{{Host: "192.0.2.1", Addr: addr("192.0.2.1"), Weight: 2, Priority: 3, Alias: "first", Maintenance: farm.MaintenanceDrain, Countries: []string{"DE"}, Continents: []string{"EU"}, Coordinates: "48.14,11.58", HashKey: "first", Nets: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}}}}},
		Keys: []farm.TransferKey{{Name: "ns2.example.com", Secret: farm.NewSealedSecret("c2VhbGVk")}, {Algorithm: farm.TransferSHA512, Name: "ns3", Secret: farm.NewSealedSecret("c2VhbGVk")}},
		Zones: []farm.Zone{{Name: "example.com", NameServer: "ns1", TTL: 60, Signing: farm.SignEd25519, KeyDays: 90, Keys: []farm.ZoneKey{
			{Algorithm: farm.SignEd25519, State: farm.KeyActive, Since: 1, DSSeen: 2, DSTTL: 86400, Public: "l02Woi0iS8Aa25FQkUd9RMzZHJpBoRQwAQEX1SxZJA4=", Private: farm.NewSealedSecret("c2VhbGVk")},
		}, Records: []farm.Record{
			{Name: "@", Type: "NS", Data: "ns1"}, {Name: "ns1", Type: "A", TTL: 5, Data: "192.0.2.53", Comment: "ours: \"first\""}, {Name: "www", Type: farm.RecordDYNA, Data: "shop"}}}},
	}
}

func TestEverySettingRoundTrips(t *testing.T) {
	cfg := everything()
	if err := validate.Config(cfg); err != nil {
		t.Fatal(err)
	}
	for format, encode := range map[string]func(*farm.Config) ([]byte, error){"yaml": document.Encode, "json": document.EncodeJSON} {
		text, err := encode(cfg)
		if err != nil {
			t.Fatal(err)
		}
		back, err := document.Load(text, validate.Rules{})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if !reflect.DeepEqual(back, cfg) {
			t.Errorf("%s differs after a round trip:\n%s", format, document.Diff(cfg, back))
		}
		golden := "testdata/everything." + format
		if *update {
			if err := os.WriteFile(golden, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(golden); err != nil || !bytes.Equal(text, want) {
			t.Errorf("%s (%v) is now\n%s, want %s", golden, err, text, want)
		}
	}
}

// Snapshots and the store also keep every field; engines do not get the settings of the
// machine.
func TestEverythingSurvivesSnapshotAndStore(t *testing.T) {
	cfg := everything()
	image, err := snapshot.Encode(1, cfg)
	if err != nil {
		t.Fatal(err)
	}
	farms := everything()
	farms.System, farms.Checks = farm.System{}, nil
	if _, back, err := snapshot.Decode(image); err != nil || !reflect.DeepEqual(back, farms) {
		t.Errorf("a snapshot differs after a round trip: got %v %+v, want %+v", err, back, farms)
	}
	record, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var back farm.Config
	if err := json.Unmarshal(record, &back); err != nil || !reflect.DeepEqual(&back, cfg) {
		t.Errorf("a record differs after a round trip: %v\n%s", err, record)
	}
	l := farm.AccessLog{Fields: []farm.LogField{farm.LogTime}}
	if err := json.Unmarshal([]byte(`{"fields":["path","refusal"]}`), &l); err != nil || !slices.Equal(l.Fields, []farm.LogField{farm.LogPath, farm.LogRejection}) {
		t.Errorf("a record of before a field was renamed: %v %v", err, l.Fields)
	}
	if copied := cfg.Clone(); !reflect.DeepEqual(copied, cfg) {
		t.Error("a clone is not the same")
	}
}

// Unset fields are omitted, so that a new field does not change the documents of existing
// farms.
func TestUnsetFieldsAreOmitted(t *testing.T) {
	h := farm.DefaultHTTP()
	h.Services = []farm.Service{{Name: "web", Backends: []farm.Backend{{Host: "10.0.0.1", Port: 80}}}}
	cfg := &farm.Config{Farms: []farm.Farm{{Name: "a", Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("10.0.0.5"), VPort: 80, HTTP: h}}}
	const want = "farms:\n  - name: a\n    profile: http\n    vip: 10.0.0.5\n    vport: 80\n    services:\n      - name: web\n        backends:\n          - ip: 10.0.0.1\n            port: 80\n"
	text, err := document.Encode(cfg)
	if err != nil || string(text) != want {
		t.Errorf("%v\n%s", err, text)
	}
	h.TLS, h.Services[0].TLS, h.Services[0].Cookie, h.Services[0].STS = farm.DefaultTLS(), &farm.BackendTLS{}, farm.DefaultCookie(), farm.DefaultSTS
	h.TLS.DisableTLS12 = true
	text, err = document.Encode(cfg)
	switches := strings.NewReplacer("vport: 80\n", "vport: 80\n    listener: https\n    disable_tlsv1_2: true\n", "- name: web\n", "- name: web\n        httpsb: true\n        cookieinsert: true\n        sts_status: true\n").Replace(want)
	if err != nil || string(text) != switches {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestRuleAndOptionProblemsHaveAPosition(t *testing.T) {
	service := func(lines ...string) string {
		return farmOf(append([]string{"  services:", "  - name: s"}, lines...)...)
	}
	for _, c := range []struct{ name, text, want string }{
		{"TLS on http", farmOf("  ciphers: all"), `line 6, column 3: farm "a": ciphers is allowed only with listener https; send listener https with it`},
		{"a near miss", farmOf("  maxbdy: 1"), `line 6, column 3: farm "a": unknown field "maxbdy" (did you mean "maxbody"?)`},
		{"a name of the API", farmOf("  certname: a.pem"), `unknown field "certname"`},
		{"a list item", farmOf("  trusted:", "  - 10.0.0.0/8", "  - nowhere"), `line 6, column 3: farm "a": trusted must be a list of addresses and networks, got "nowhere"`},
		{"a nested list", farmOf("  trusted: [[a]]"), `got a list with a list in it`},
		{"an object in a list", farmOf("  addheader:", "  - header: x"), `line 6, column 3: farm "a": addheader must be a list of headers as "Name: value", got a list with an object in it`},
		{"a header of the service in a farm", farmOf("  addrequestheader: []"), `unknown field "addrequestheader" (addrequestheader belongs to services of http farms)`},
		{"a rule", farmOf("  replacerequestheader:", "  - header: Referer", "    match: (", "    replace: x"), `line 8, column 5: farm "a" replacerequestheader 0: match must be a valid regular expression, got "("`},
		{"a field of a rule", farmOf("  replacerequestheader:", "  - header: Referer", "    mach: a", "    replace: x"), `line 8, column 5: farm "a" replacerequestheader 0: unknown field "mach" (did you mean "match"?); allowed are header, match, replace`},
		{"a rule that is text", farmOf("  replaceresponseheader: [x]"), `farm "a" replaceresponseheader 0: must be an object with fields, got a single value`},
		{"rules that are text", farmOf("  replaceresponseheader: x"), `replaceresponseheader must be a list, got a single value`},
		{"a group", service("    rewriteurl:", "    - pattern: ^/a", "      replace: /$1"), `line 10, column 7: farm "a" service "s" rewriteurl 0: replace: $1 stands for a group`},
		{"rules twice", service("    rewriteurl:", "    - {pattern: a, replace: b}", "    - {pattern: a, replace: b}"), `line 8, column 5: farm "a" service "s": rewriteurl must not hold the same twice: item 1 is item 0 already`},
		{"a cookie that is off", service("    cookiename: SID"), `line 8, column 5: farm "a" service "s": cookiename is allowed only while cookieinsert is true`},
		{"STS on http", service("    sts_status: true"), `line 8, column 5: farm "a" service "s": sts_status must be false with listener http`},
		{"versions", farmOf("  listener: https", "  disable_tlsv1_2: true", "  disable_tlsv1_3: true"), `line 7, column 3: farm "a": disable_tlsv1_2 and disable_tlsv1_3 must not both be true`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := document.Load([]byte(c.text), validate.Rules{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestADifferenceShowsRulesAndLists(t *testing.T) {
	was, is := everything(), everything()
	is.Farms[0].HTTP.ReplaceRequest[1].Replace = "y"
	is.Farms[0].HTTP.Trusted = is.Farms[0].HTTP.Trusted[:1]
	is.Farms[0].HTTP.Services[0].AddRequest = nil
	var changed []string
	for line := range strings.Lines(document.Diff(was, is)) {
		if line[0] == '+' || line[0] == '-' {
			changed = append(changed, strings.TrimSpace(line[:1]+strings.TrimSpace(line[1:])))
		}
	}
	want := []string{`-- "2001:db8::1"`, `-replace: ""`, `+replace: "y"`, "-addrequestheader:", `-- "X-service: a: \"b\" #c"`}
	if !reflect.DeepEqual(changed, want) {
		t.Errorf("changed %q\nwant    %q", changed, want)
	}
}
