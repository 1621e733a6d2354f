package document_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/netip"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/snapshot"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/validate"
)

var update = flag.Bool("update", false, "write the golden files of this package anew")

// everything is a configuration in which each field of the vocabulary has
// another value than a new object has.
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
		CheckURL: "^/[a-z]", IgnoreCase: true, Logs: true, RewriteHost: true, RewriteDestination: true, TunnelTimeout: 9, StopGrace: 10,
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
			Queueing:  farm.Queueing{Queue: 65535, QueueTimeout: 3600},
			Retrying:  farm.Retrying{RetryOn: []farm.RetryCondition{farm.RetryReset, "503"}, Retries: 5, RetryBudget: 100, RetryUnsafe: true},
			Outlier:   farm.Outlier{OutlierErrors: 100, OutlierTime: 3600, OutlierPercent: 100},
			SlowStart: 3600,
			Backends: []farm.Backend{{Host: "10.0.0.1", Addr: netip.MustParseAddr("10.0.0.1"), Port: 81, Weight: 2, Priority: 3, ConnLimit: 4, Timeout: 5,
				Source: netip.MustParseAddr("10.0.0.9"), Mark: 4294967295, Alias: "first", Maintenance: farm.MaintenanceDrain, Sessions: []string{"a b;\"c\"", "42"}},
				{Host: "_http._tcp.example.com", Resolve: farm.ResolveService}},
		},
		{Name: "cookies", BackendProtocol: farm.BackendHTTP2, Cookie: &farm.CookieInsert{Name: "SRV", Domain: ".shop.example", Path: "/a", TTL: 70}},
		{Name: "moved", Redirect: "https://shop.example/", RedirectType: farm.RedirectAppend, RedirectCode: 307},
	}
	l4 := func(name, vip string, l *farm.L4) farm.Farm {
		return farm.Farm{Name: name, Profile: farm.ProfileL4, VIP: netip.MustParseAddr(vip), L4: l}
	}
	responses := uint16(0)
	return &farm.Config{Farms: []farm.Farm{
		{Name: "shop", Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("10.0.0.5"), VPort: 443, Stopped: true, HTTP: h},
		l4("relay", "10.0.0.5", &farm.L4{
			Ports: []farm.PortRange{{First: 25, Last: 25}, {First: 8000, Last: 8010}}, Protocol: farm.L4TCP, NAT: farm.NATMasquerade, Algorithm: farm.L4LeastConn,
			Persist: farm.L4PersistSrc, TTL: 90, DataPath: farm.DataPathUserspace, Logs: true, LogLimit: 5, LogPrefix: "relay: new", ConnectTimeout: 4, IdleTimeout: 5,
			ResurrectTime: 6, StopGrace: 7, MaxConnections: 8, Source: netip.MustParseAddr("10.0.0.8"), Mark: 9, Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
			ProxyIn: farm.ProxyInRequired, ProxyOut: farm.ProxyOutV1,
			AccessLog: farm.AccessLog{Fields: []farm.LogField{farm.LogClient, farm.LogBackend}, Sample: 2, Sink: farm.LogSyslog, File: "relay", Size: 3, Keep: 4, Target: "udp://10.0.0.7:514"},
			Backends: []farm.Backend{{Host: "10.0.0.1", Addr: netip.MustParseAddr("10.0.0.1"), Weight: 2, Priority: 3, ConnLimit: 4,
				Source: netip.MustParseAddr("10.0.0.9"), Mark: 4294967295, Alias: "first", Maintenance: farm.MaintenanceCut, Sessions: []string{"192.0.2.1"},
				ServerNames: []string{"shop.example", "*.shop.example"}}},
		}),
		l4("dns", "10.0.0.5", &farm.L4{Ports: []farm.PortRange{{First: 53, Last: 53}}, Protocol: farm.L4UDP, NAT: farm.NATMasquerade, Algorithm: farm.L4Weight, TTL: farm.DefaultL4TTL,
			Responses: &responses, QUIC: true, Backends: []farm.Backend{{Host: "10.0.0.1", Addr: netip.MustParseAddr("10.0.0.1"), Port: 5353}, {Host: "pool.example.com", Resolve: farm.ResolveAll}}}),
		l4("rest", "2001:db8::5", &farm.L4{Protocol: farm.L4All, NAT: farm.NATDirect, Algorithm: farm.L4HashDst, TTL: farm.DefaultL4TTL, DataPath: farm.DataPathKernel}),
	}}
}

// A field that was added to the vocabulary and forgotten here would not be
// tried below.
func TestEverythingIsEverything(t *testing.T) {
	// Numbers are never in a document.
	unset := map[string]bool{"ID": true, "Seat": true, "LastSeat": true, "Of": true, "Left": true}
	f := everything().Farms[0]
	s := f.HTTP.Services[0]
	l, udp := *everything().Farms[1].L4, everything().Farms[2].L4
	f.L4, l.Responses, l.QUIC = &l, udp.Responses, udp.QUIC
	b := s.Backends[0]
	b.ServerNames, b.Resolve = l.Backends[0].ServerNames, s.Backends[1].Resolve
	s.Cookie, s.Redirect, s.RedirectType, s.RedirectCode = f.HTTP.Services[1].Cookie, "x", "x", 1
	s.BackendProtocol = f.HTTP.Services[1].BackendProtocol
	tls := *f.HTTP.TLS
	tls.DisableTLS10, tls.DisableTLS11, tls.DisableTLS12 = true, true, true // tried by being unset, which is no default
	for _, object := range []any{f, *f.HTTP, f.HTTP.AccessLog, tls, s, *s.TLS, *s.Cookie, *s.Compression, *s.RateLimit, *s.Auth, s.Auth.Users[0], s.HeaderRules, s.Queueing, s.Retrying, s.Outlier, l, b, s.ReplaceRequest[0], s.Rewrites[0]} {
		v := reflect.ValueOf(object)
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if v.Type().Field(i).IsExported() && v.Field(i).IsZero() && !unset[name] {
				t.Errorf("%s of %T is not set", name, object)
			}
		}
	}
}

func TestEverythingComesBackAsItWent(t *testing.T) {
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
			t.Errorf("%s came back changed:\n%s", format, document.Diff(cfg, back))
		}
		golden := "testdata/everything." + format
		if *update {
			if err := os.WriteFile(golden, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(golden); err != nil || !bytes.Equal(text, want) {
			t.Errorf("%s (%v) is now\n%s", golden, err, text)
		}
	}
}

// Snapshots and the store carry every word too.
func TestEverythingSurvivesSnapshotAndStore(t *testing.T) {
	cfg := everything()
	image, err := snapshot.Encode(1, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, back, err := snapshot.Decode(image); err != nil || !reflect.DeepEqual(back, cfg) {
		t.Errorf("a snapshot came back changed: %v %+v", err, back)
	}
	record, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var back farm.Config
	if err := json.Unmarshal(record, &back); err != nil || !reflect.DeepEqual(&back, cfg) {
		t.Errorf("a record came back changed: %v\n%s", err, record)
	}
	if copied := cfg.Clone(); !reflect.DeepEqual(copied, cfg) {
		t.Error("a clone is not the same")
	}
}

// What was never set is never written: the documents of farms that existed
// before there was a field are the same afterwards.
func TestWhatIsUnsetIsLeftOut(t *testing.T) {
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

func TestProblemsOfRulesAndOptionsAreToldWithTheirPlace(t *testing.T) {
	service := func(lines ...string) string {
		return farmOf(append([]string{"  services:", "  - name: s"}, lines...)...)
	}
	for _, c := range []struct{ name, text, want string }{
		{"TLS on http", farmOf("  ciphers: all"), `line 6, column 3: farm "a": ciphers is allowed only with listener https; send listener https with it`},
		{"a near miss", farmOf("  maxbdy: 1"), `line 6, column 3: farm "a": unknown field "maxbdy" (did you mean "maxbody", `},
		{"a name of the API", farmOf("  certname: a.pem"), `unknown field "certname"`},
		{"a list item", farmOf("  trusted:", "  - 10.0.0.0/8", "  - nowhere"), `line 6, column 3: farm "a": trusted must be a list of addresses and networks, got "nowhere"`},
		{"a nested list", farmOf("  trusted: [[a]]"), `got a list with a list in it`},
		{"an object in a list", farmOf("  addheader:", "  - header: x"), `line 6, column 3: farm "a": addheader must be a list of headers as "Name: value", got a list with an object in it`},
		{"a header of the service in a farm", farmOf("  addrequestheader: []"), `unknown field "addrequestheader" (did you mean`},
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
