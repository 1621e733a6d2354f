package validate_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/l4farm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
	"github.com/sluicelb/sluice/mgmt/validate/validatetest"
)

// answerOf returns a complete response as sent to clients.
func answerOf[T any](t *testing.T, table *field.Table[T], of *T) string {
	t.Helper()
	b, err := json.Marshal(table.Answer(of))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The complete response for an object of each kind, new and fully configured.
func TestAnswersAreWhole(t *testing.T) {
	n, plain := uint16(2), farm.DefaultL4()
	plain.Ports = validatetest.Ports(80, 80)
	full := farm.DefaultL4()
	full.Ports, full.Protocol, full.Logs, full.DataPath = validatetest.Ports(53, 53), farm.L4UDP, true, farm.DataPathKernel
	full.Persist, full.LogPrefix, full.IdleTimeout, full.Responses, full.Mark = farm.L4PersistSrc, "x: ", 9, &n, 7
	full.Source, full.Trusted = validatetest.Addr("10.0.0.5"), []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	full.AccessLog = farm.AccessLog{Fields: []farm.LogField{farm.LogBackend}, Sample: 3, Sink: farm.LogSyslog, File: "all", Size: 5, Keep: 6, Target: "udp://[::1]:514"}
	for name, c := range map[string]struct{ got, want string }{
		"a new l4xnat farm": {answerOf(t, &l4farm.Answer, &farm.Farm{Name: "a", L4: plain}),
			`{"algorithm":"weight","comment":"","contimeout":5,"datapath":"auto","farmguardian":"","grace":0,"idle_timeout":3600,"log_count":7,"log_fields":[],"log_file":"","log_limit":10,"log_prefix":"l4:a ","log_sample":1,"log_sink":"file","log_size":100,"log_target":"unix:///dev/log","logs":"false","mark":0,"maxconnections":0,"nattype":"nat","persistence":"","protocol":"tcp","proxyprotocol_in":"off","proxyprotocol_out":"off","quic":"false","responses":null,"resurrectime":10,"source":null,"tags":[],"trusted":[],"ttl":60}`},
		"a full l4xnat farm": {answerOf(t, &l4farm.Answer, &farm.Farm{Name: "a", L4: full, Notes: &farm.Notes{Comment: "names", Tags: []string{"b", "a"}}}),
			`{"algorithm":"weight","comment":"names","contimeout":5,"datapath":"kernel","farmguardian":"","grace":0,"idle_timeout":9,"log_count":6,"log_fields":["backend"],"log_file":"all","log_limit":10,"log_prefix":"x: ","log_sample":3,"log_sink":"syslog","log_size":5,"log_target":"udp://[::1]:514","logs":"true","mark":7,"maxconnections":0,"nattype":"nat","persistence":"ip","protocol":"udp","proxyprotocol_in":"off","proxyprotocol_out":"off","quic":"false","responses":2,"resurrectime":10,"source":"10.0.0.5","tags":["b","a"],"trusted":["10.0.0.0/8","::1"],"ttl":60}`},
		"a backend": {answerOf(t, &httpfarm.BackendAnswer, &farm.Backend{Host: "a", Port: 80}),
			`{"alias":null,"connection_limit":null,"contimeout":null,"mark":null,"priority":null,"source":null,"timeout":null,"weight":null}`},
		"a full backend": {answerOf(t, &httpfarm.BackendAnswer, &farm.Backend{Alias: "b", ConnLimit: 1, Mark: 2, Priority: 3, Source: validatetest.Addr("::1"), Timeout: 4, ConnectTimeout: 6, Weight: 5}),
			`{"alias":"b","connection_limit":1,"contimeout":6,"mark":2,"priority":3,"source":"::1","timeout":4,"weight":5}`},
		"a full l4xnat backend": {answerOf(t, &l4farm.BackendAnswer, &farm.Backend{Alias: "b", Port: 81, ConnLimit: 1, Mark: 2, Priority: 3, Source: validatetest.Addr("::1"), Weight: 5, ServerNames: []string{"a"}}),
			`{"alias":"b","mark":2,"max_conns":1,"port":81,"priority":3,"server_names":["a"],"source":"::1","weight":5}`},
		"an added header":   {answerOf(t, &httpfarm.AddRequest.Rule, &farm.HeaderAdd{Header: "X: 1"}), `{"header":"X: 1"}`},
		"a removed header":  {answerOf(t, &httpfarm.RemoveRequest.Rule, &farm.HeaderRemove{Pattern: "^X"}), `{"pattern":"^X"}`},
		"a replaced header": {answerOf(t, &httpfarm.ReplaceRequest.Rule, &farm.HeaderReplace{Header: "a", Match: "b", Replace: "c"}), `{"header":"a","match":"b","replace":"c"}`},
		"a rewritten URL":   {answerOf(t, &httpfarm.Rewrites.Rule, &farm.URLRewrite{Pattern: "a", Replace: "b", Last: true}), `{"last":"true","pattern":"a","replace":"b"}`},
	} {
		if c.got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", name, c.got, c.want)
		}
	}
}

// An l4xnat farm can be sent back as read, and unset settings stay unset.
func TestAnL4FarmThatIsSentBackStaysAsItIs(t *testing.T) {
	for _, was := range []string{`{}`, `{"logs":true,"datapath":"kernel"}`, `{"logs":true,"datapath":"kernel","log_prefix":"l4:b "}`, `{"protocol":"udp","responses":0,"idle_timeout":5,"persistence":"ip"}`} {
		f := validatetest.L4Farm(t, validatetest.L4Create("80"), was)
		before := answerOf(t, &l4farm.Answer, f)
		f = validatetest.L4Farm(t, validatetest.L4Create("80"), was, before)
		if after := answerOf(t, &l4farm.Answer, f); after != before || strings.HasPrefix(f.L4.LogPrefix, "l4:a") {
			t.Errorf("%s\nafter a round trip %s, log_prefix %q", before, after, f.L4.LogPrefix)
		}
	}
}

// Callers of a profile need not know which one it is.
func TestProfilesAnswerForTheirGroups(t *testing.T) {
	http := farm.Farm{Name: "h", Profile: farm.ProfileHTTP, VIP: validatetest.Addr("10.0.0.5"), VPort: 80, HTTP: farm.DefaultHTTP()}
	http.HTTP.Services = []farm.Service{{Name: "s", Persistence: farm.PersistIP}, {Name: "r", Redirect: "http://x", Persistence: farm.PersistCookie}, {Name: "n"}}
	l4 := farm.Farm{Name: "l", Profile: farm.ProfileL4, VIP: validatetest.Addr("10.0.0.5"), L4: farm.DefaultL4()}
	l4.L4.Persist, l4.L4.Ports = farm.L4PersistSrcSrc, validatetest.Ports(80, 81)
	for _, c := range []struct {
		f       *farm.Farm
		group   int
		session any
		want    string
	}{
		{&http, 0, "10.0.0.1", "10.0.0.1"}, {&http, 0, "::FFFF:10.0.0.1", "10.0.0.1"}, {&http, 0, "2001:DB8::1", "2001:db8::1"},
		{&http, 0, "joe", `session must be the address of a client with persistence IP, got "joe"`},
		{&http, 0, "", "session must be a text of at least one character"}, {&http, 0, 7.0, "session must be a text of at least one character"},
		{&http, 1, "a b", "a b"}, {&http, 1, strings.Repeat("a", 255), strings.Repeat("a", 255)}, {&http, 1, strings.Repeat("a", 256), fmt.Sprintf("%s%x", strings.Repeat("a", 191), sha256.Sum256([]byte(strings.Repeat("a", 256))))},
		{&http, 1, "a\x1f", `session must be a text without control characters, got "a\x1f": it holds a control character`},
		{&http, 2, "a", "session: the service keeps no sessions; set persistence first"},
		{&l4, 0, "10.0.0.1 . 80", "10.0.0.1 . 80"}, {&l4, 0, true, "session must be an address and a port as 10.0.0.1 . 4022 with persistence srcip_srcport, got true"},
		{&l4, 0, "x", `session must be an address and a port as 10.0.0.1 . 4022 with persistence srcip_srcport, got "x": `},
	} {
		got, err := profile.Of(c.f).Session(c.f.Groups()[c.group], c.session)
		if err != nil {
			got = err.Error()
		}
		if got != c.want && (!strings.HasSuffix(c.want, ": ") || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%v in group %d of %s: got  %s\nwant %s", c.session, c.group, c.f.Name, got, c.want)
		}
	}
	for i, want := range []string{"<nil>", "redirect must be empty before a backend can be added: a service that redirects uses no backends"} {
		if err := profile.Of(&http).TakesBackend(http.Groups()[i]); fmt.Sprint(err) != want {
			t.Errorf("a backend for group %d: %v", i, err)
		}
	}
	if err := profile.Of(&l4).TakesBackend(l4.Groups()[0]); err != nil {
		t.Error(err)
	}
	if h, l := profile.Of(&http).ListensOn(&http), profile.Of(&l4).ListensOn(&l4); h != "10.0.0.5:80" || l != "10.0.0.5 protocol tcp port 80:81" {
		t.Errorf("they listen on %q and %q", h, l)
	}
}

// Changing a rule requires no field, creating one requires some.
func TestAChangeOfARuleRequiresNothing(t *testing.T) {
	change := httpfarm.ReplaceRequest.Rule.Optional()
	if _, err := change.Decode("", map[string]any{}); err != nil {
		t.Error(err)
	}
	if _, err := change.Decode("", map[string]any{"match": ""}); err == nil {
		t.Error("a blank pattern was accepted")
	}
	if _, broken := httpfarm.ReplaceRequest.Rule.DecodeAll("", map[string]any{}); len(broken) != 3 {
		t.Errorf("missing fields of a new rule: %v", broken)
	}
}

// Sessions are keys of a kind of persistence, and are deleted with it.
func TestSessionsGoWithTheKindTheyAreKeysOf(t *testing.T) {
	for body, kept := range map[string]bool{`{"persistence":"COOKIE"}`: true, `{"persistence":"HEADER"}`: false, `{"persistence":""}`: false, `{"ttl":5}`: true} {
		s := farm.Service{Persistence: farm.PersistCookie, Backends: []farm.Backend{{Host: "a", Sessions: []string{"x"}}, {Host: "b", Sessions: []string{"y"}}}}
		if _, err := validatetest.Change(t, &httpfarm.ServiceUpdate, &s, body); err != nil {
			t.Fatal(err)
		}
		for i, b := range s.Backends {
			if (len(b.Sessions) == 1) != kept {
				t.Errorf("%s: backend %d has sessions %q", body, i, b.Sessions)
			}
		}
	}
}

// All violations in an object are reported, each once.
func TestEveryProblemIsToldOnce(t *testing.T) {
	for name, c := range map[string]struct {
		http func(*farm.HTTP)
		l4   func(*farm.Farm, *farm.L4)
		want []string
	}{
		"a pattern with groups that is none": {http: func(h *farm.HTTP) { h.ReplaceRequest = []farm.HeaderReplace{validatetest.Replacement("a", "(", "$1")} },
			want: []string{"match must be a valid regular expression, got \"(\": missing closing ): `(`"}},
		"ranges that overlap": {l4: func(_ *farm.Farm, l *farm.L4) {
			l.Ports, l.Backends = []farm.PortRange{{First: 80, Last: 90}, {First: 85, Last: 95}}, nil
		}, want: []string{`port 85 is in 80:90 and in 85:95`}},
		"no VIP":                         {l4: func(f *farm.Farm, l *farm.L4) { f.VIP, l.NAT, l.Backends = netip.Addr{}, farm.NATDirect, nil }, want: []string{`vip must be an IPv4 or IPv6 address, got ""`}},
		"no settings":                    {l4: func(f *farm.Farm, _ *farm.L4) { f.L4 = nil }, want: []string{`profile l4xnat needs its settings; they are missing`}},
		"two of three kinds in a farm":   {http: func(h *farm.HTTP) { h.Mark, h.MaxHead, h.ResurrectTime = 1<<31, 5, 1 }, want: []string{"maxrequest must be a number from 1024 to 65536 (bytes), got 5", "resurrectime must be at least contimeout (20), got 1"}},
		"several of a backend of l4xnat": {l4: func(_ *farm.Farm, l *farm.L4) { l.Backends[0].Weight, l.Backends[1].Host = 10, "10.0.0.0" }, want: []string{"weight must be a number from 1 to 9, got 10", "ip must be the address of one server, got 10.0.0.0"}},
	} {
		cfg := validatetest.Good()
		cfg.Farms = cfg.Farms[:1]
		if c.l4 != nil {
			cfg = validatetest.GoodL4()
			c.l4(&cfg.Farms[0], cfg.Farms[0].L4)
		} else {
			c.http(cfg.Farms[0].HTTP)
		}
		all := validatetest.Rules.All(cfg)
		if len(all) < len(c.want) {
			t.Errorf("%s: %v", name, all)
			continue
		}
		for i, want := range c.want {
			if !strings.Contains(all[i].Message, want) {
				t.Errorf("%s: %v, want %s", name, all[i], want)
			}
		}
		seen := map[string]bool{}
		for _, err := range all {
			if seen[err.Error()] || len(all) > 2 {
				t.Errorf("%s: %v", name, all)
			}
			seen[err.Error()] = true
		}
		validate.Warnings(cfg) // also for invalid configurations: it must terminate
	}
}

// The static sessions of an l4xnat farm have a total limit, as in a service.
func TestStaticSessionsOfAnL4FarmAreBounded(t *testing.T) {
	cfg := validatetest.GoodL4()
	l := cfg.Farms[0].L4
	l.Persist = farm.L4PersistDstPt
	for i := range profile.MaxStatic {
		b := &l.Backends[i%2]
		b.Sessions = append(b.Sessions, fmt.Sprint(i+1))
	}
	if err := validatetest.Rules.Config(cfg); err != nil {
		t.Error(err)
	}
	l.Backends[1].Sessions = append(l.Backends[1].Sessions, "2000")
	if err := validatetest.First(cfg); err == nil || err.Error() != `farm "relay": sessions: a farm has at most 1000 static ones, got 1001` {
		t.Error(err)
	}
}

// The servers of a host name belong to one backend and may be anywhere in the list.
func TestServersOfANameAreNotTheSameTwice(t *testing.T) {
	cfg, of := validatetest.GoodL4(), validatetest.Good()
	for i := range 2 {
		cfg.Farms[0].L4.Backends = append(cfg.Farms[0].L4.Backends, farm.Backend{Host: "db.example", Addr: validatetest.Addr(fmt.Sprintf("10.0.0.2%d", i)), Of: 1, Port: 9})
		of.Farms[0].HTTP.Services[0].Backends = append(of.Farms[0].HTTP.Services[0].Backends, farm.Backend{Host: "db.example", Addr: validatetest.Addr(fmt.Sprintf("10.0.0.2%d", i)), Of: 1, Port: 9})
	}
	for _, cfg := range []*farm.Config{cfg, of} {
		if err := validatetest.Rules.Config(cfg); err != nil {
			t.Error(err)
		}
	}
}

func TestAnEmptyBodyChangesNothing(t *testing.T) {
	var f farm.Farm
	if err := (field.Values[farm.Farm]{}).Apply(&f); err != nil || f.HTTP != nil {
		t.Errorf("%v %+v", err, f)
	}
	v, _ := httpfarm.Update.DecodeAll("", map[string]any{"trusted": []any{"::1"}, "contimeout": 5.0})
	for name, c := range map[string]struct {
		list, text, null bool
		as               string
	}{"trusted": {list: true, as: "[::1]"}, "contimeout": {as: "5"}, "vip": {null: true, as: "null"}} {
		if got := v.Get(name); got.IsList() != c.list || got.IsText() != c.text || got.Null() != c.null ||
			got.String() != c.as {
			t.Errorf("%s is %v", name, got)
		}
	}
}

// An iteration over names stops when the caller stops.
func TestListsStopWithTheirReader(t *testing.T) {
	f := validatetest.Good().Farms[0]
	var names []string
	for name := range httpfarm.Update.Shown(&f) {
		names = append(names, name)
		break
	}
	if !slices.Equal(names, []string{"vip"}) && !slices.Equal(names, []string{"newfarmname"}) {
		t.Errorf("given is %q", names)
	}
}
