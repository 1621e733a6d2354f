package table_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/ports"
	"github.com/sluicelb/sluice/core/proxyproto"
	"github.com/sluicelb/sluice/l7/compress"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/l7test"
	"github.com/sluicelb/sluice/l7/outlier"
	"github.com/sluicelb/sluice/l7/table"
)

// same compares the text forms of two values.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w {
		t.Errorf("%s: got %s, want %s", what, g, w)
	}
}

func TestFarmSettingsAreCompiled(t *testing.T) {
	t.Parallel()
	p := newPlanner(t, func(h *farm.HTTP) { h.TunnelTimeout, h.StopGrace = 0, 0 }, web())
	f := p.farm
	same(t, "defaults", []any{f.ID, f.Name, f.Origin, f.TunnelIdle, f.Grace, f.ClientLimit == nil, f.MaxClients, f.Refuses, f.TLS},
		[]any{1, "test", "192.0.2.80:80", int64(600e9), 30 * time.Second, true, 0, false, nil})
	p.edit(func(h *farm.HTTP) {
		h.TunnelTimeout, h.StopGrace, h.RequestTimeout, h.MaxConnections, h.Overflow = 7, 8, 9, 10, farm.OverflowRefuse
		h.Trusted, h.ProxyIn = l7test.Networks("10.0.0.0/8"), farm.ProxyInOptional
	})
	f = p.farm
	same(t, "said", []any{f.TunnelIdle, f.Grace, f.RequestTimeout, f.ClientLimit == p.registry.ClientLimits.Of(1), f.MaxClients, f.Refuses, f.Trusted, f.ProxyIn},
		[]any{int64(7e9), 8 * time.Second, int64(9e9), true, 10, true, "[10.0.0.0/8]", "optional"})
	p.edit(func(h *farm.HTTP) { h.Overflow = farm.OverflowWait })
	if p.edit(func(h *farm.HTTP) { h.MaxConnections = 1 }); p.farm.ClientLimit == nil || p.farm.MaxClients != 1 {
		t.Error("a farm for one client has no bound")
	}
	if p.farm.Refuses {
		t.Error("clients above the limit are refused instead of waiting")
	}
	same(t, "listeners", p.table.Listeners()[1], []farm.Listener{{Transport: farm.L4TCP, Addr: netip.MustParseAddrPort("192.0.2.80:80")}})
	second := &ports.Port{Number: 2}
	p.table.Bind(second, 1)
	for n, want := range map[int]*table.Farm{0: nil, 1: nil, 2: p.farm, 3: nil} {
		if got := p.table.On(&ports.Port{Number: n}); got != want {
			t.Errorf("behind port %d is %v, want %v", n, got, want)
		}
	}
	// Farms that do not compile are omitted, like those that are stopped or belong to
	// others.
	for what, c := range map[string]struct {
		edit func(f *farm.Farm)
		says string
	}{
		"stopped":           {func(f *farm.Farm) { f.Stopped = true }, ""},
		"of another kind":   {func(f *farm.Farm) { f.Profile = farm.ProfileL4 }, ""},
		"no directives":     {func(f *farm.Farm) { f.HTTP = nil }, `farm "test": it has no http settings`},
		"a bad removal":     {func(f *farm.Farm) { f.HTTP.RemoveRequest = l7test.Remove("(") }, `farm "test": removal of request fields: `},
		"a bad path":        {func(f *farm.Farm) { f.HTTP.CheckURL = "(" }, "checkurl: "},
		"a bad host":        {func(f *farm.Farm) { f.HTTP.Services[0].VHost = "(" }, `farm "test": `},
		"a bad condition":   {func(f *farm.Farm) { f.HTTP.Services[0].HeadRequire = []string{"("} }, `service "web": headrequire: `},
		"a bad exclusion":   {func(f *farm.Farm) { f.HTTP.Services[0].HeadDeny = []string{"("} }, `service "web": headdeny: `},
		"a bad compression": {func(f *farm.Farm) { f.HTTP.Services[0].Compression = &farm.Compression{Codings: []farm.Coding{"x"}} }, `service "web": compression: there is no coding "x"`},
		"a bad level": {func(f *farm.Farm) {
			f.HTTP.Services[0].Compression = &farm.Compression{Codings: []farm.Coding{"br"}, Level: "x"}
		}, `there is no level "x"`},
		"a bad name":        {func(f *farm.Farm) { f.HTTP.Services[0].ServedBy = "a b" }, `served_by: "a b" cannot be`},
		"a fixed name":      {func(f *farm.Farm) { f.HTTP.Services[0].ServedBy = "Content-Length" }, "cannot be the name of a field that is added"},
		"a bad alias":       {func(f *farm.Farm) { f.HTTP.Services[0].ServedBy, f.HTTP.Services[0].Backends[1].Alias = "X", "a\nb" }, "the alias of backend 1 is no field value"},
		"a bad cookie":      {func(f *farm.Farm) { f.HTTP.Services[0].Cookie = &farm.CookieInsert{Name: "a b"} }, `service "web": cookie: `},
		"a bad redirect":    {func(f *farm.Farm) { f.HTTP.Services[0].Redirect, f.HTTP.Services[0].RedirectCode = "http://b", 1 }, "redirect: 1 is no code"},
		"bad groups":        {func(f *farm.Farm) { f.HTTP.Services[0].Redirect, f.HTTP.Services[0].URL = "http://b/$1", "a(?!b)" }, "farm"},
		"a bad rewrite":     {func(f *farm.Farm) { f.HTTP.Services[0].Rewrites = []farm.URLRewrite{{Pattern: "("}} }, "rules for paths: "},
		"a bad rule":        {func(f *farm.Farm) { f.HTTP.Services[0].AddRequest = l7test.Add("a b: c") }, "rules for request fields: "},
		"a bad remover":     {func(f *farm.Farm) { f.HTTP.Services[0].RemoveRequest = l7test.Remove("(") }, "rules for request fields: "},
		"a bad replacer":    {func(f *farm.Farm) { f.HTTP.ReplaceRequest = []farm.HeaderReplace{{Header: "("}} }, "rules for request fields: "},
		"a bad answer rule": {func(f *farm.Farm) { f.HTTP.AddResponse = l7test.Add("a b: c") }, "rules for response fields: "},
		"an answer remover": {func(f *farm.Farm) { f.HTTP.RemoveResponse = l7test.Remove("(") }, "rules for response fields: "},
		"answer replacer":   {func(f *farm.Farm) { f.HTTP.ReplaceResponse = []farm.HeaderReplace{{Header: "("}} }, "rules for response fields: "},
		"no certificate":    {func(f *farm.Farm) { f.HTTP.TLS = &farm.TLS{Certificates: []string{"none.pem"}} }, `farm "test": TLS: `},
		"no authority":      {func(f *farm.Farm) { f.HTTP.Services[0].TLS = &farm.BackendTLS{Verify: farm.VerifyCA, CA: "none"} }, "TLS to backends: "},
		"plain text":        {func(f *farm.Farm) { f.HTTP.TLS = &farm.TLS{Certificates: []string{"ec.pem"}, NoSSLRedirect: "a\nb"} }, "TLS: nosslredirect is no value"},
	} {
		q := newPlanner(t, nil, web())
		cfg := q.cfg
		cfg.Certificates = []farm.Certificate{l7test.Certificate(t, "ec.pem", "a.test")}
		cfg.Farms = []farm.Farm{cfg.Farms[0].Clone()}
		c.edit(&cfg.Farms[0])
		made, problems := q.compiler.Compile(2, false, &cfg, nil)
		if len(made.ByID) != 0 || made.Backends.Len() != 0 || (problems[1] == nil) != (c.says == "") || c.says != "" && !strings.Contains(problems[1].Error(), c.says) {
			t.Errorf("%s: %d farms, %v, want %q", what, len(made.ByID), problems[1], c.says)
		}
	}
}

func TestBackendSettingsAreCompiled(t *testing.T) {
	t.Parallel()
	p := newPlanner(t, func(h *farm.HTTP) { h.ConnectTimeout, h.ResponseTimeout, h.ResurrectTime = 3, 4, 5 }, web(func(s *farm.Service) {
		s.Backends[0].ConnectTimeout = 2
		s.Backends[0].Alias, s.Backends[0].Timeout, s.Backends[0].Source = "first", 9, netip.MustParseAddr("192.0.2.3")
		s.Backends[1].Host, s.Backends[1].Maintenance, s.Backends[1].ID, s.ServedBy = "App.Internal.", farm.MaintenanceCut, 5, "X-By"
		s.ProxyOut = farm.ProxyOutV2
	}))
	b := p.service().Backends
	same(t, "the first", []any{b[0].ID, b[0].Number, b[0].Alias, b[0].Origin, b[0].Named, b[0].Timeout, b[0].Mode, string(b[0].ServedBy), b[0].SetCookie == nil, b[0].Load == p.registry.Loads.Of(1)},
		[]any{1, 0, "first", "198.51.100.1:8001", "198.51.100.1:8001", int64(9e9), farm.MaintenanceOff, "X-By: first\r\n", true, true})
	same(t, "the second", []any{b[1].ID, b[1].Origin, b[1].Named, b[1].Timeout, b[1].Mode, string(b[1].ServedBy), p.service().ServedBy},
		[]any{5, "198.51.100.2:8002", "app.internal:8002", int64(4e9), farm.MaintenanceCut, "X-By: 198.51.100.2:8002\r\n", "x-by"})
	to := b[0].Target
	same(t, "its target", []any{to.ID, to.Addr, to.Timeout, to.Options.Source, to.Announce}, []any{1, "198.51.100.1:8001", int64(2e9), "192.0.2.3", proxyproto.V2})
	same(t, "the target of the second", b[1].Target.Timeout, int64(3e9))
	r := b[0].Reach
	same(t, "how it is tried", []any{r.ID, r.Addr, r.Timeout, r.Every, r.Owner, r.Alias, r.Options.Source, string(r.Options.Preface)},
		[]any{1, "198.51.100.1:8001", 2 * time.Second, 5 * time.Second, []any{"farm", "test", "service", "web"}, "first", "192.0.2.3", string(proxyproto.V2.Own())})
	for _, c := range []struct {
		what string
		edit func(h *farm.HTTP)
	}{
		{"address", func(h *farm.HTTP) { h.Services[0].Backends[0].Port++ }},
		{"source", func(h *farm.HTTP) { h.Services[0].Backends[0].Source = netip.MustParseAddr("192.0.2.4") }},
		{"header", func(h *farm.HTTP) { h.Services[0].ProxyOut = farm.ProxyOutV1 }},
		{"TLS", func(h *farm.HTTP) { h.Services[0].TLS = &farm.BackendTLS{} }},
		{"name", func(h *farm.HTTP) { h.Services[0].TLS = &farm.BackendTLS{Name: "x"} }},
		{"protocol", func(h *farm.HTTP) { h.Services[0].BackendProtocol = farm.BackendHTTP2 }},
	} {
		before := p.service().Backends[0].Reach.Reach
		p.edit(c.edit)
		if p.service().Backends[0].Reach.Reach == before {
			t.Errorf("another %s does not change how it is reached", c.what)
		}
	}
	if s := p.service(); s.Backends[0].Target.Announce != 0 || !s.Multiplexed || s.Pinned {
		t.Errorf("connections that clients share announce one: %+v", s.Backends[0].Target)
	}
	// A backend is probed with TLS if the handshake is the same for all exchanges.
	fixed := func(tls *farm.BackendTLS) bool {
		p := newPlanner(t, nil, web(func(s *farm.Service) { s.TLS = tls }))
		return p.service().Backends[1].Reach.Options.Security.Config != nil
	}
	if fixed(nil) || fixed(&farm.BackendTLS{}) || !fixed(&farm.BackendTLS{Name: "x"}) {
		t.Error("a backend is tried with a handshake that exchanges do not make, or without one they all make")
	}
	// Required marks are listed and may be missing.
	marked := newPlanner(t, nil, web(func(s *farm.Service) { s.Backends[1].Mark = 7 }))
	if kinds := marked.table.Kinds(); len(kinds) != 1 || !slices.Contains(kinds, marks.Kind{Mark: 7}) || marked.table.Backends.Len() != 2 {
		t.Errorf("kinds %v, %d reached", marked.table.Kinds(), marked.table.Backends.Len())
	}
	marked.missing = map[marks.Kind]error{{Mark: 7}: errors.New("no netd")}
	if err := marked.try(nil); err == nil || !strings.Contains(err.Error(), `service "web": backend 1 has`) || !strings.Contains(err.Error(), "no netd") {
		t.Errorf("got %v", err)
	}
	t2 := p.table
	for id, want := range map[uint32][2]bool{1: {false, false}, 5: {true, true}, 9: {false, true}} {
		if t2.Cut(id) != want[0] || t2.Lost(id) != want[1] {
			t.Errorf("backend %d: cut %t, lost %t", id, t2.Cut(id), t2.Lost(id))
		}
	}
	if t2.Service(1) != p.service() || t2.Service(2) != nil || p.service().Find(5) != 1 || p.service().Find(9) != -1 {
		t.Error("a service or a backend is not found by its number")
	}
}

func TestServiceSettingsAreCompiled(t *testing.T) {
	t.Parallel()
	p := newPlanner(t, nil, web())
	s := p.service()
	same(t, "defaults", []any{s.ID, s.Tracked, s.Pinned, s.IgnoreClose, s.Persist.Kind, s.Sessions == nil, s.Cookie == nil, s.TLS == nil, s.Request == nil, s.Response == nil, s.Compress == nil,
		s.Retry == nil, s.Outlier == nil, s.QueueLength, s.QueueTimeout, s.Queue == p.registry.Queues.Of(1), s.Persist.TTL, s.Locate},
		[]any{1, false, false, false, farm.PersistNone, true, true, true, true, true, true, true, true, 0, int64(5e9), true, 2 * time.Minute, "{On:true Own:true paths:false}"})
	p.edit(func(h *farm.HTTP) {
		s := &h.Services[0]
		s.Pinned, s.IgnoreClose, s.Policy, s.Persistence, s.SessionID, s.TTL = true, true, farm.PolicyPending, farm.PersistHeader, "X-ID", 9
		s.Queue, s.QueueTimeout, s.SlowStart = 7, 8, 6
		s.OutlierErrors, s.RetryOn = 3, []farm.RetryCondition{farm.RetryConnect, farm.RetryReset, farm.RetryTimeout, "503", "nonsense"}
		s.Backends[0].Weight, s.Backends[0].Priority, s.Backends[0].ConnLimit, s.Backends[1].Maintenance = 3, 2, 4, farm.MaintenanceDrain
	})
	s = p.service()
	same(t, "said", []any{s.Tracked, s.Pinned, s.IgnoreClose, s.Persist.Kind, string(s.Persist.Name), s.Persist.TTL, s.Sessions != nil, s.QueueLength, s.QueueTimeout},
		[]any{true, true, true, farm.PersistHeader, "x-id", 9 * time.Second, true, 7, int64(8e9)})
	same(t, "outliers", *s.Outlier, table.Outlier{Limits: outlier.Limits{Requests: 20}, Window: 10 * time.Second, Errors: 3, Time: 30 * time.Second, Percent: 50})
	same(t, "whether backends are compared", s.Outlier.Compares(), false)
	same(t, "retries", []any{s.Retry.On, s.Retry.Most, s.Retry.Percent, s.Retry.Unsafe, len(s.Retry.Spent), s.Retry.Status(503), s.Retry.Status(502)},
		[]any{table.RetryReset | table.RetryTimeout | table.RetryStatus, 1, 20, false, 1, true, false})
	m := s.Picker.Member(0)
	same(t, "member", []any{m.ID, m.Weight, m.Priority, m.Limit, m.Out, m.SlowStart, s.Picker.Member(1).Out, m.Load == p.registry.Loads.Of(1), m.Slot == p.health.Slot(1)}, []any{1, 3, 2, 4, false, 6 * time.Second, true, true, true})
	p.edit(func(h *farm.HTTP) {
		s := &h.Services[0]
		s.OutlierRate, s.OutlierSlow, s.OutlierWindow, s.OutlierRequests = 9, 4, 5, 30
		s.OutlierTime, s.OutlierPercent, s.Retries, s.RetryBudget, s.RetryUnsafe, s.RetryOn = 7, 8, 5, 6, true, []farm.RetryCondition{"200", "400"}
		s.Policy = farm.PolicyRoundRobin
	})
	s = p.service()
	same(t, "outliers", *s.Outlier, table.Outlier{Limits: outlier.Limits{Rate: 9, Slow: 4, Requests: 30}, Window: 5 * time.Second, Errors: 3, Time: 7 * time.Second, Percent: 8})
	same(t, "whether backends are compared", s.Outlier.Compares(), true)
	same(t, "retries", []any{s.Retry.On, s.Retry.Most, s.Retry.Percent, s.Retry.Unsafe, s.Retry.Status(200), s.Retry.Status(400)}, []any{table.RetryStatus, 5, 6, true, false, true})
	if p.edit(func(h *farm.HTTP) { h.Services[0].RetryOn = []farm.RetryCondition{farm.RetryConnect} }); p.service().Retry != nil {
		t.Error("connects alone, which are always repeated, are a rule")
	}
	for mode, want := range map[farm.RewriteLocation]string{
		farm.RewriteDisabled: "{On:false Own:false paths:false}", farm.RewriteEnabled: "{On:true Own:true paths:false}", farm.RewriteEnabledBackends: "{On:true Own:false paths:false}",
		farm.RewriteEnabledPath: "{On:true Own:true paths:true}", farm.RewriteEnabledBackendsPath: "{On:true Own:false paths:true}",
	} {
		p.edit(func(h *farm.HTTP) { h.RewriteLocation = mode })
		same(t, string(mode), p.service().Locate, want)
	}
	if p.edit(func(h *farm.HTTP) { h.Services[0].RewriteLocation = farm.RewriteDisabled }); p.service().Locate.On {
		t.Error("the mode of the farm holds, not that of the service")
	}
}

func TestResponseRulesBelongToTheService(t *testing.T) {
	t.Parallel()
	answer := func(p *planner, lines ...string) string {
		var r http1.Response
		r.Reset()
		if _, err := r.Parse([]byte("HTTP/1.1 200 OK\r\n" + strings.Join(append(lines, "\r\n"), "\r\n"))); err != nil {
			t.Fatal(err)
		}
		rules := p.service().Response
		if err := rules.Apply(&r.Head, p.query.Scratch); err != nil {
			return "broken"
		}
		var left []string
		for i := range r.NumFields {
			if !r.Fields[i].Removed() {
				left = append(left, string(r.Name(i))+": "+string(r.Value(i)))
			}
		}
		if rules != nil {
			left = append(left, strings.Fields(strings.ReplaceAll(string(rules.Add), ": ", ":"))...)
		}
		return strings.Join(left, ", ")
	}
	certificate := l7test.Certificate(t, "ec.pem", "a.test")
	for what, c := range map[string]struct {
		edit func(h *farm.HTTP)
		want string
	}{
		"none":       {nil, "X: 1, Y: 1, Strict-Transport-Security: a"},
		"the farm's": {func(h *farm.HTTP) { h.RemoveResponse, h.AddResponse = l7test.Remove("^X"), l7test.Add("A:1") }, "Y: 1, Strict-Transport-Security: a, A:1"},
		"the other's": {func(h *farm.HTTP) {
			h.RemoveResponse, h.AddResponse = l7test.Remove("^X"), l7test.Add("A:1")
			h.Services[0].RemoveResponse, h.Services[0].AddResponse = l7test.Remove("^Y"), l7test.Add("B:1")
		}, "Strict-Transport-Security: a, B:1, A:1"},
		"the same header of both": {func(h *farm.HTTP) {
			h.AddResponse = l7test.Add("A_x:1", "Set-Cookie:c", "C:1")
			h.Services[0].AddResponse = l7test.Add("a-X:2", "Set-Cookie:d")
		}, "X: 1, Y: 1, Strict-Transport-Security: a, a-X:2, Set-Cookie:d, Set-Cookie:c, C:1"},
		"both": {func(h *farm.HTTP) {
			h.ReplaceResponse = []farm.HeaderReplace{{Header: "^X$", Match: "2", Replace: "3"}}
			h.Services[0].ReplaceResponse = []farm.HeaderReplace{{Header: "^X$", Match: "1", Replace: "2"}}
		}, "X: 3, Y: 1, Strict-Transport-Security: a"},
		"STS without TLS": {func(h *farm.HTTP) { h.Services[0].STS = 60 }, "X: 1, Y: 1, Strict-Transport-Security: a"},
		"STS":             {func(h *farm.HTTP) { h.Services[0].STS, h.TLS = 60, &farm.TLS{Certificates: []string{certificate.Name}} }, "X: 1, Y: 1, Strict-Transport-Security:max-age=60"},
		"no STS":          {func(h *farm.HTTP) { h.TLS = &farm.TLS{Certificates: []string{certificate.Name}} }, "X: 1, Y: 1, Strict-Transport-Security: a"},
		"STS and rules": {func(h *farm.HTTP) {
			h.Services[0].STS, h.TLS, h.AddResponse = 60, &farm.TLS{Certificates: []string{certificate.Name}}, l7test.Add("A:1")
		}, "X: 1, Y: 1, A:1, Strict-Transport-Security:max-age=60"},
	} {
		p := newPlanner(t, nil, web())
		p.cfg.Certificates = []farm.Certificate{certificate}
		p.edit(c.edit)
		p.become(ask("GET", "/"))
		if got := answer(p, "X: 1", "Y: 1", "Strict-Transport-Security: a"); got != c.want {
			t.Errorf("%s: got %s, want %s", what, got, c.want)
		}
	}
	p := newPlanner(t, nil, web())
	p.cfg.Certificates = []farm.Certificate{certificate}
	p.edit(func(h *farm.HTTP) {
		h.TLS = &farm.TLS{Certificates: []string{certificate.Name}}
		h.Services[0].Redirect, h.Services[0].STS = "https://b.test", 60
	})
	same(t, "a redirect's STS", string(p.service().Redirect.STS), "Strict-Transport-Security: max-age=60\r\n")
}

func TestPlainHTTPResponseFollowsTheFarm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tls      farm.TLS
		status   int
		location string
		body     string
	}{
		{farm.TLS{}, 400, "", "This address is served by HTTPS only.\n"},
		{farm.TLS{ErrorNoSSL: "<p>no"}, 400, "", "<p>no"},
		{farm.TLS{ErrorNoSSL: "no", NoSSLRedirect: "https://a.test/"}, 302, "https://a.test/", ""},
		{farm.TLS{NoSSLRedirect: "https://a.test/", NoSSLCode: 307}, 307, "https://a.test/", ""},
	} {
		p := newPlanner(t, nil, web())
		p.cfg.Certificates = []farm.Certificate{l7test.Certificate(t, "ec.pem", "a.test")}
		c.tls.Certificates = []string{"ec.pem"}
		p.edit(func(h *farm.HTTP) { h.TLS = &c.tls })
		s := p.farm.TLS
		head, body, _ := strings.Cut(string(s.Plain), "\r\n\r\n")
		same(t, "answer", []any{s.PlainStatus, s.PlainLocation, body, s.TellsClients, s.Security.Config != nil}, []any{c.status, c.location, c.body, false, true})
		if !strings.HasPrefix(head, fmt.Sprint("HTTP/1.1 ", c.status, " ")) || !strings.HasSuffix(head, "\r\nConnection: close") || strings.Contains(head, "\r\nLocation: "+c.location) != (c.location != "") {
			t.Errorf("got %q", head)
		}
	}
	for text, want := range map[string]string{"a": "a", "a:80": "a", "[::1]:80": "[::1]", "[::1]": "[::1]", "": "", ":80": ""} {
		same(t, text, string(table.WithoutPort([]byte(text))), want)
	}
}

func TestGeneratedResponsesAreComplete(t *testing.T) {
	t.Parallel()
	names := map[int]string{413: "Content Too Large", 414: "URI Too Long"} // names of RFC 9110
	for _, status := range []int{200, 301, 302, 307, 400, 401, 403, 405, 408, 413, 414, 417, 421, 429, 431, 500, 501, 502, 503, 504, 505} {
		name := names[status]
		if name == "" {
			name = http.StatusText(status)
		}
		same(t, "first line", string(table.AppendStatus(nil, status)), fmt.Sprintf("HTTP/1.1 %d %s\r\n", status, name))
		if status < 400 {
			continue
		}
		head, body, _ := strings.Cut(string(new(table.Answers).Append([]byte("before"), status, false, true)), "\r\n\r\n")
		allow := ""
		if status == 405 {
			allow = "Allow: GET, HEAD, POST\r\n"
		}
		if want := fmt.Sprintf("beforeHTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nCache-Control: no-cache\r\n%sContent-Length: %d\r\nConnection: close", status, name, allow, len(body)); head != want {
			t.Errorf("%d: got %q, want %q", status, head, want)
		}
		if !strings.HasSuffix(body, ".\n") {
			t.Errorf("the body of %d is %q", status, body)
		}
	}
	p := newPlanner(t, func(h *farm.HTTP) {
		h.ErrorWAF, h.Error414, h.Error500, h.Error501, h.Error503 = "waf", "414", " \n<p>500", "501", "503 <"
	}, web())
	for status, want := range map[int]string{403: "waf", 414: "414", 431: "414", 500: " \n<p>500", 501: "501", 503: "503 <"} {
		for _, head := range []bool{false, true} {
			got := string(p.farm.Answers.AppendWith(nil, status, []byte("X: y\r\n"), head, false))
			kind := map[bool]string{false: "text/plain", true: "text/html"}[status == 500]
			if head {
				want = ""
			}
			if !strings.HasSuffix(got, "\r\n\r\n"+want) || !strings.Contains(got, "\r\nX: y\r\nContent-Length: ") || strings.Contains(got, "Connection") || !strings.Contains(got, kind) {
				t.Errorf("%d: got %q", status, got)
			}
		}
	}
}

func TestCompressionSelectsTypesAndSizes(t *testing.T) {
	t.Parallel()
	long, wide := "text/"+strings.Repeat("x", 123), strings.Repeat("y", 126)
	p := newPlanner(t, nil, web(func(s *farm.Service) {
		s.Compression = &farm.Compression{Codings: []farm.Coding{farm.CodingZstd, farm.CodingGzip}, Types: []string{"Text/*", "application/JSON", "a/*", "b/{z`", long + "y", wide + "/*", "/*"}}
	}))
	c := p.service().Compress
	same(t, "defaults", []any{c.Min, c.Level}, []any{1024, compress.Default})
	for value, want := range map[string]bool{
		"B/{Z`": true, "b/[z`": false, "b/{z@": false,
		"text/html": true, "TEXT/Plain": true, "text/html; charset=x": true, "text/html \t;x": true, "application/json": true, "application/jsonx": false, "application/xml": false,
		"application/json; charset=x": true, "application/json \t;x": true, wide + "/z": true, "/z": true, "/a/z": true,
		"text": false, "": false, "text/": true, "a/b": true, "A/B/C": true, "ab/c": false, long: true, long + "y": false, "/": true, "application/x/json": false, strings.Repeat("x", 127) + "/": false,
	} {
		if got := c.Wants([]byte(value)); got != want {
			t.Errorf("%.30q (%d bytes): %t, want %t", value, len(value), got, want)
		}
	}
	for line, want := range map[string]compress.Coding{
		"": compress.None, "Accept-Encoding: gzip": compress.Gzip, "accept-encoding: gzip, zstd": compress.Zstd, "Accept-Encoding: br": compress.None, "Accept-Encodinx: gzip": compress.None,
		"Accept-Encoding: gzip;q=0": compress.None,
	} {
		raw := ask("GET", "/")
		if line != "" {
			raw = ask("GET", "/", line)
		}
		p.become(raw)
		if got := c.Accepted(&p.query.Req.Head); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
	for level, want := range map[farm.CompressionLevel]compress.Level{farm.CompressionFast: compress.Fast, farm.CompressionDefault: compress.Default, farm.CompressionBest: compress.Best} {
		p.edit(func(h *farm.HTTP) {
			h.Services[0].Compression = &farm.Compression{Codings: []farm.Coding{farm.CodingGzip}, Level: level, Min: 7}
		})
		c := p.service().Compress
		same(t, string(level), []any{c.Level, c.Min, c.Wants([]byte("text/html")), c.Wants([]byte("image/png"))}, []any{want, 7, true, false})
	}
	p.edit(func(h *farm.HTTP) { h.Services[0].Compression = &farm.Compression{} })
	if p.service().Compress != nil {
		t.Error("without a coding something is compressed")
	}
}

func TestRecordedFieldsMatchTheLog(t *testing.T) {
	t.Parallel()
	lines := []string{"User-Agent: me", "Referer: there", "X-A: 1", "X-B: 2"}
	for what, c := range map[string]struct {
		log            farm.AccessLog
		watched        bool
		agent, referer bool
		headers        []string
	}{
		"JSON":         {farm.AccessLog{}, false, true, true, nil},
		"little":       {farm.AccessLog{Fields: []farm.LogField{farm.LogTries}}, false, false, false, nil},
		"the agent":    {farm.AccessLog{Fields: []farm.LogField{farm.LogAgent}}, false, true, false, nil},
		"the referer":  {farm.AccessLog{Fields: []farm.LogField{farm.LogReferer, farm.LogTries}}, false, false, true, nil},
		"combined":     {farm.AccessLog{Format: farm.LogCombined, Fields: []farm.LogField{farm.LogTries}}, false, true, true, nil},
		"watched":      {farm.AccessLog{Fields: []farm.LogField{farm.LogTries}}, true, true, true, nil},
		"some headers": {farm.AccessLog{Fields: []farm.LogField{farm.LogTries}, Headers: []string{"X-B", "X-None", "x-a"}}, false, false, false, []string{"x-b", "x-a"}},
	} {
		p := newPlanner(t, func(h *farm.HTTP) { h.AccessLog, h.Logs = c.log, true; h.AccessLog.Sample = 3 }, web())
		p.become(ask("GET", "/", lines...))
		var got, want accesslog.Entry
		for _, e := range []*accesslog.Entry{&got, &want} {
			if e.Begin(); c.watched {
				e.Flags |= accesslog.Watched
			}
		}
		p.farm.Recording.Fields(&got, p.query.Req)
		if c.agent {
			want.Agent([]byte("me"))
		}
		if c.referer {
			want.Referer([]byte("there"))
		}
		for _, name := range c.headers {
			want.Header(name, []byte(map[string]string{"x-a": "1", "x-b": "2"}[name]))
		}
		if !reflect.DeepEqual(got, want) || !p.farm.Recording.Logged || p.farm.Recording.Sample != 3 {
			t.Errorf("%s: got %+v, want %+v", what, got, want)
		}
		p.become(ask("GET", "/")) // without any of them
		var none, nothing accesslog.Entry
		none.Begin()
		nothing.Begin()
		if p.farm.Recording.Fields(&none, p.query.Req); !reflect.DeepEqual(none, nothing) {
			t.Errorf("%s: an empty request is recorded as %+v, want %+v", what, none, nothing)
		}
	}
	// The id of a request is a trusted peer's, if it is one.
	p := newPlanner(t, nil, web())
	ids := accesslog.NewIDs()
	for _, c := range []struct {
		trusted string
		line    string
		kept    bool
	}{
		{"", "X-Request-ID: theirs", false}, {"198.51.100.0/24", "X-Request-ID: theirs", false}, {"192.0.2.0/24", "X-Request-ID: theirs", true},
		{"192.0.2.0/24", "X-Request-ID: a b", false}, {"192.0.2.0/24", "X: y", false},
	} {
		p.edit(func(h *farm.HTTP) { h.Trusted = l7test.Networks(strings.Fields(c.trusted)...) })
		p.become(ask("GET", "/", c.line))
		got := string(p.query.AppendID([]byte("id "), ids))
		if (got == "id theirs") != c.kept || !accesslog.ValidID([]byte(got[3:])) || len(got) < 6 {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}

func TestReferencesAreCutAndCompared(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][3]string{
		"http://a/b": {"http", "a", "/b"}, "HTTPS://a": {"HTTPS", "a", ""}, "http://a?b": {"http", "a", "?b"}, "http://a#b": {"http", "a", "#b"}, "//a/b": {"", "a", "/b"}, "/b": {"", "", "/b"}, "b": {"", "", "b"},
		"ftp://a/b": {}, "x://a/b": {}, "http:a": {}, "http:/a": {}, "a/b:c": {"", "", "a/b:c"}, ":a": {"", "", ":a"}, "": {}, "/a//b": {"", "", "/a//b"}, "httpx://a": {},
	} {
		scheme, authority, path := table.CutURL([]byte(text))
		same(t, text, [3]string{string(scheme), string(authority), string(path)}, want)
	}
	for _, c := range []struct {
		scheme, authority, place string
		want                     bool
	}{
		{"http", "a", "a:80", true}, {"http", "a:80", "a:80", true}, {"http", "a:80", "a", true}, {"http", "A", "a:80", true}, {"http", "a:81", "a:80", false}, {"http", "a:443", "a:80", false},
		{"https", "a", "a:443", true}, {"https", "a:443", "a:443", true}, {"https", "a", "a:80", false}, {"https", "a:80", "a:80", true}, {"", "a", "a:80", true}, {"http", "b", "a:80", false}, {"http", "ab", "a:80", false},
		{"http", ":80", ":80", false}, {"http", "[::1]", "[::1]:80", true}, {"http", "a@", "a`", false}, {"http", "a[", "a{", false}, {"http", "z", "Z", true}, {"http", "a", "A", true}, {"http", "0", "P", false},
	} {
		if got := table.Names([]byte(c.scheme), []byte(c.authority), c.place); got != c.want {
			t.Errorf("%+v: got %t, want %t", c, got, c.want)
		}
	}
}

func TestForwardedClientNeedsTrustedPeers(t *testing.T) {
	t.Parallel()
	hops := func(n int) string { return "192.0.2.9" + strings.Repeat(", 10.0.0.1", n) }
	for text, want := range map[string]string{
		"":                                   "10.0.0.9:5",
		"192.0.2.1":                          "192.0.2.1:0",
		hops(14):                             "192.0.2.9:0",
		hops(15):                             "192.0.2.9:0",
		hops(16):                             "10.0.0.1:0",
		"10.0.0.1":                           "10.0.0.1:0",
		"x":                                  "10.0.0.9:5",
		"192.0.2.1, x":                       "10.0.0.9:5",
		"x, 10.0.0.2":                        "10.0.0.2:0",
		"fe80::1%eth0":                       "[fe80::1]:0",
		"[2001:db8::1]:99":                   "[2001:db8::1]:0",
		"192.0.2.1:99":                       "192.0.2.1:0",
		"::ffff:192.0.2.1":                   "192.0.2.1:0",
		"fe80::1%" + strings.Repeat("x", 56): "[fe80::1]:0",
		"fe80::1%" + strings.Repeat("x", 57): "10.0.0.9:5",
	} {
		p := newPlanner(t, func(h *farm.HTTP) { h.Trusted = l7test.Networks("10.0.0.0/8") }, web())
		lines := []string{"X-Forwarded-For: " + text}
		if text == "" {
			lines = nil
		}
		p.become(ask("GET", "/", lines...))
		same(t, text, table.RealClient(p.farm, netip.MustParseAddrPort("10.0.0.9:5"), p.query.Req), want)
		same(t, "an untrusted peer", table.RealClient(p.farm, netip.MustParseAddrPort("192.0.2.77:5"), p.query.Req), "192.0.2.77:5")
	}
	p := newPlanner(t, nil, web())
	p.from = "192.0.2.33"
	p.become(ask("GET", "/", "X-Forwarded-For: 192.0.2.1"))
	same(t, "without trusted peers", p.query.Client(), "192.0.2.33")
	same(t, "without a request", table.RealClient(p.farm, netip.MustParseAddrPort("10.0.0.9:5"), nil), "10.0.0.9:5")
}

func TestCertificateHeadersUseOpenSSLFormats(t *testing.T) {
	t.Parallel()
	name := func(common string) []byte {
		der, err := asn1.Marshal(pkix.Name{CommonName: common, Organization: []string{"Ä"}}.ToRDNSequence())
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	c := &x509.Certificate{
		RawSubject: name("me"), RawIssuer: name("them"), SerialNumber: big.NewInt(0xabc), Raw: make([]byte, 49),
		NotBefore: time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600)), NotAfter: time.Date(2027, 11, 12, 3, 4, 5, 0, time.UTC),
	}
	agreed := &loop.TLS{Peer: []*x509.Certificate{c}, Version: tls.VersionTLS12, Cipher: tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}
	want := []string{
		`X-SSL-Subject: CN=me,O=\C3\84`, `X-SSL-Issuer: CN=them,O=\C3\84`, "X-SSL-notBefore: Jan  2 02:04:05 2026 GMT", "X-SSL-notAfter: Nov 12 03:04:05 2027 GMT", "X-SSL-serial: 0ABC",
		"X-SSL-cipher: TLSv1.2/TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
		"X-SSL-certificate: -----BEGIN CERTIFICATE----- " + strings.Repeat("A", 64) + " AA== -----END CERTIFICATE-----", "",
	}
	same(t, "fields", string(table.CertificateLines(agreed)), strings.Join(want, "\r\n"))
	for version, text := range map[uint16]string{tls.VersionTLS10: "TLSv1", tls.VersionTLS11: "TLSv1.1", tls.VersionTLS12: "TLSv1.2", tls.VersionTLS13: "TLSv1.3"} {
		same(t, "version", table.VersionName(version), text)
	}
	for n, text := range map[int64]string{0: "00", -5: "00", 5: "05"} {
		c.SerialNumber = big.NewInt(n)
		if lines := string(table.CertificateLines(agreed)); !strings.Contains(lines, "X-SSL-serial: "+text+"\r\n") {
			t.Errorf("serial number %d: %q", n, lines)
		}
	}
	// Values beyond the exact limit are omitted, like unreadable names.
	head := len("-----BEGIN CERTIFICATE----- -----END CERTIFICATE-----")
	whole := (16<<10 - head) / 65 // lines of 64 characters and a space
	c.RawSubject = []byte("no name")
	for size, told := range map[int]bool{48 * whole: true, 48*whole + 48: false} {
		c.Raw = make([]byte, size)
		lines := string(table.CertificateLines(agreed))
		if strings.Contains(lines, "X-SSL-certificate: ") != told || !strings.Contains(lines, "X-SSL-Subject: \r\n") || !strings.Contains(lines, "X-SSL-Issuer: CN=them") {
			t.Errorf("a certificate of %d bytes is included: %t", size, !told)
		}
	}
	for _, none := range []*loop.TLS{nil, {}} {
		if lines := table.CertificateLines(none); lines == nil || len(lines) > 0 {
			t.Errorf("a missing certificate yields %q", lines)
		}
	}
}

// Each of the three limits alone enables ejection.
func TestOutlierLimitsAreCompiled(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]farm.Outlier{"errors": {OutlierErrors: 1}, "rate": {OutlierRate: 1}, "slow": {OutlierSlow: 1}} {
		s := l7test.Service("web", "127.0.0.1:1")
		s.Outlier = o
		p := newPlanner(t, func(*farm.HTTP) {}, s)
		if got := p.service().Outlier; got == nil || got.Compares() != (name != "errors") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
