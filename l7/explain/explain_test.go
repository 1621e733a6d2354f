package explain_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// explained explains a request to an appliance's farm; lines are its header fields.
func explained(t *testing.T, a *l7test.Appliance, url string, lines ...string) *explain.Explanation {
	t.Helper()
	e, err := a.Engine.Explain(&explain.Question{Farm: 1, URL: url, Headers: lines})
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	return e
}

func TestExplanationNamesWhyServicesDoNotMatch(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(l7test.OK))
	var services []farm.Service
	for i, edit := range []func(*farm.Service){
		func(s *farm.Service) { s.VHost = `b\.test` },
		func(s *farm.Service) { s.URL = "^/api/" },
		func(s *farm.Service) { s.HeadRequire = []string{"^Host:", "^X-A: [0-9]"} },
		func(s *farm.Service) { s.HeadDeny = []string{"^X-No:", "^X-Stop:"} },
		func(s *farm.Service) { s.VHost, s.URL, s.HeadDeny = `a\.test`, "x", []string{"^X-A"} },
		func(*farm.Service) {},
	} {
		s := l7test.Service(fmt.Sprint(i), b.Addr)
		s.ID, s.Backends[0].ID = uint32(i+1), uint32(i+1)
		edit(&s)
		services = append(services, s)
	}
	a := l7test.New(t, 1)
	a.Serve(nil, services...)
	e := explained(t, a, "http://A.test/x/../x?q=1", "X-Stop: 1")
	want := []explain.Service{
		{Name: "0", Reason: `host "a.test" does not match "b\.test"`},
		{Name: "1", Reason: `url "/x?q=1" does not match "^/api/"`},
		{Name: "2", Reason: `headrequire[1]: no header matches "^X-A: [0-9]"`},
		{Name: "3", Reason: `headdeny[1]: a header matches "^X-Stop:"`},
		{Name: "4", Matched: true, Reason: `host matches "a\.test", url matches "x", headers are as it asks`},
	}
	if fmt.Sprint(e.Services) != fmt.Sprint(want) || e.NotTried != 1 || e.Result.Service != "4" {
		t.Errorf("got %+v, %d not tried", e.Services, e.NotTried)
	}
	if e := explained(t, a, "/", "X-A: 1", "Host: c"); e.Result.Service != "2" {
		t.Errorf("with X-A: %+v", e.Services)
	}
	if e := explained(t, a, "/", "Host: c", "X-A: a"); e.Result.Service != "3" || e.Services[3].Reason != "headers are as it asks" {
		t.Errorf("got %+v", e.Services)
	}
	a.Serve(nil, services[:3]...)
	if e := explained(t, a, "/"); e.Result.Outcome != explain.Refuse || e.Result.Status != 503 || e.Result.Step != "services" || len(e.Services) != 3 {
		t.Errorf("got %+v", e)
	}
}

func TestExplanationNamesTheRefusingStep(t *testing.T) {
	t.Parallel()
	a := l7test.New(t, 1)
	a.Serve(func(h *farm.HTTP) { h.Verbs, h.MaxBody, h.CheckURL = farm.VerbsStandard, 10, "^/[a-z]*$" }, l7test.Service("web", "127.0.0.1:1"))
	for _, c := range []struct {
		q      explain.Question
		status int
		step   string
		reason string
	}{
		{explain.Question{URL: "/../x"}, 400, "request", "path climbs above the root"},
		{explain.Question{URL: "/%00"}, 400, "request", "escaped NUL"},
		{explain.Question{URL: "/", Headers: []string{"Host: a", "Host: b"}}, 400, "request", "several Host fields"},
		{explain.Question{URL: "/", Headers: []string{"X : 1"}}, 400, "request", "malformed field name"},
		{explain.Question{URL: "/", Headers: []string{"X: a\rb"}}, 400, "request", ""},
		{explain.Question{URL: "/a b"}, 400, "request", "protocol version"},
		{explain.Question{URL: "/" + strings.Repeat("x", 70<<10)}, 414, "request", "too long"},
		{explain.Question{URL: "/", Headers: []string{"X: " + strings.Repeat("x", 100<<10)}}, 431, "request", "head too long"},
		{explain.Question{URL: "/", Method: "DELETE"}, 501, "method", "not in the set"},
		{explain.Question{URL: "/", Method: "POST", Headers: []string{"Content-Length: 11"}}, 413, "limits", "body over the limit"},
		{explain.Question{URL: "/1"}, 400, "limits", "does not match"},
		{explain.Question{URL: "https://a.test/"}, 400, "tls", "plain HTTP"},
	} {
		c.q.Farm = 1
		e, err := a.Engine.Explain(&c.q)
		if err != nil || e.Result.Outcome != explain.Refuse || e.Result.Status != c.status || e.Result.Step != c.step || !strings.Contains(e.Result.Reason, c.reason) {
			t.Errorf("%.50v: %+v, %v", c.q, e, err)
			continue
		}
		if last := e.Steps[len(e.Steps)-1]; last.Passed || last.Name != c.step {
			t.Errorf("%.50v: steps %+v", c.q, e.Steps)
		}
	}
	for _, q := range []explain.Question{
		{Farm: 2, URL: "/"}, {Farm: 1, URL: "a.test/"}, {Farm: 1, URL: "ftp://a.test/"}, {Farm: 1}, {Farm: 1, URL: "/", From: "me"}, {Farm: 1, URL: "http://a:b@c/"},
		{Farm: 1, URL: "/\nX: 1"}, {Farm: 1, URL: "/", Method: "GET /\n"}, {Farm: 1, URL: "/", Headers: []string{"X: 1\r\nY: 2"}}, {Farm: 1, URL: "/", Headers: []string{""}},
		{Farm: 1, URL: "/", Headers: make([]string, explain.MaxHeaders+1)}, {Farm: 1, URL: "/" + strings.Repeat("x", explain.MaxQuestion)},
	} {
		if e, err := a.Engine.Explain(&q); err == nil {
			t.Errorf("%.50v is explained: %+v", q, e)
		}
	}
}

func TestExplanationShowsRequestRules(t *testing.T) {
	t.Parallel()
	s := l7test.Service("web", "127.0.0.1:1")
	s.ReplaceRequest = []farm.HeaderReplace{{Header: "none", Match: "x"}, {Header: "^X-B$", Match: "1", Replace: "2"}}
	s.Rewrites = []farm.URLRewrite{{Pattern: "^/old", Replace: "/new"}, {Pattern: "never", Replace: "x"}, {Pattern: "w/", Replace: "w/e/", Last: true}, {Pattern: "^", Replace: "/z"}}
	a := l7test.New(t, 1)
	edit := func(h *farm.HTTP) {
		h.RemoveRequest = l7test.Remove("^none", "^X-A:", "^Authorization")
		h.ReplaceRequest = []farm.HeaderReplace{{Header: "^(X-B|Cookie)$", Match: "2|SID", Replace: "3"}}
		h.AddRequest = l7test.Add("X-In: 1", "X-Api-Key: secret")
	}
	a.Serve(edit, s)
	lines := []string{"X-A: 1", "X-B: 1", "Authorization: Bearer b", "Cookie: SID=1"}
	e := explained(t, a, "/old/x", lines...)
	want := []explain.Change{
		{Kind: "remove-header", Owner: "farm", Rule: 1, Header: "X-A", Before: "1"},
		{Kind: "remove-header", Owner: "farm", Rule: 2, Header: "Authorization", Before: "***"},
		{Kind: "replace-header", Owner: "service", Rule: 1, Header: "X-B", Before: "1", After: "2"},
		{Kind: "replace-header", Owner: "farm", Rule: 0, Header: "X-B", Before: "2", After: "3"},
		{Kind: "replace-header", Owner: "farm", Rule: 0, Header: "Cookie", Before: "***", After: "***"},
		{Kind: "rewrite-url", Owner: "service", Rule: 0, Before: "/old/x", After: "/new/x"},
		{Kind: "rewrite-url", Owner: "service", Rule: 2, Before: "/new/x", After: "/new/e/x", Last: true},
		{Kind: "add-header", Owner: "farm", Rule: 0, Header: "X-In", After: "1"},
		{Kind: "add-header", Owner: "farm", Rule: 1, Header: "X-Api-Key", After: "***"},
	}
	if len(e.Changes) != len(want) {
		t.Fatalf("got %+v", e.Changes)
	}
	for i := range want {
		if e.Changes[i] != want[i] {
			t.Errorf("change %d: %+v, want %+v", i, e.Changes[i], want[i])
		}
	}
	if e.Head[0] != "GET /new/e/x HTTP/1.1" || strings.Contains(strings.Join(e.Head, "\n"), "SID") || strings.Contains(fmt.Sprintf("%+v", e), "secret") {
		t.Errorf("the head is %q", e.Head)
	}
	s.RemoveRequest, s.AddRequest = l7test.Remove("^X-B"), l7test.Add("X-Own: 1")
	a.Serve(edit, s)
	e = explained(t, a, "/", lines...)
	added := e.Changes[max(0, len(e.Changes)-3):]
	if len(e.Changes) < 6 || e.Changes[1].Owner != "farm" ||
		e.Changes[2] != (explain.Change{Kind: "remove-header", Owner: "service", Rule: 0, Header: "X-B", Before: "1"}) ||
		added[0] != (explain.Change{Kind: "add-header", Owner: "service", Rule: 0, Header: "X-Own", After: "1"}) ||
		added[1] != (explain.Change{Kind: "add-header", Owner: "farm", Rule: 0, Header: "X-In", After: "1"}) || added[2].Rule != 1 {
		t.Errorf("with lists of the service: %+v", e.Changes)
	}
	s.Rewrites = []farm.URLRewrite{{Pattern: "^", Replace: "/%"}}
	a.Serve(edit, s)
	if e = explained(t, a, "/"); e.Result.Outcome != explain.Refuse || e.Result.Step != "rules" || e.Result.Service != "web" {
		t.Errorf("a path that cannot be: %+v", e.Result)
	}
}

func TestExplanationShowsTheRedirectTarget(t *testing.T) {
	t.Parallel()
	a := l7test.New(t, 1)
	a.Serve(nil, farm.Service{ID: 1, Name: "moved", URL: "^/old(.*)", Redirect: "https://${VHOST}/new$1", RedirectCode: 307})
	e := explained(t, a, "/old/x?y", "Host: a.test")
	if r := e.Result; r.Outcome != explain.Redirect || r.Status != 307 || r.Location != "https://a.test/new/x?y" || r.Service != "moved" {
		t.Errorf("got %+v", r)
	}
	secure := l7test.New(t, 1)
	tls := secure.HTTPS(l7test.Certificate(t, "a.pem", "a.test"))
	secure.Serve(func(h *farm.HTTP) {
		tls(h)
		h.TLS.NoSSLRedirect, h.TLS.NoSSLCode = "https://a.test/", 301
	}, l7test.Service("web", "127.0.0.1:1"))
	if r := explained(t, secure, "http://a.test/").Result; r.Outcome != explain.Redirect || r.Status != 301 || r.Location != "https://a.test/" {
		t.Errorf("plain HTTP: %+v", r)
	}
	for url, want := range map[string]string{"https://A.test:8/": "a.test", "https://127.0.0.1/": "", "https://[::1]:443": "", "/": ""} {
		if e := explained(t, secure, url); e.SNI != want {
			t.Errorf("%s asks for %q, want %q", url, e.SNI, want)
		}
	}
	if e := explained(t, secure, "/", "Host: b.test:443"); e.SNI != "b.test" {
		t.Errorf("by Host: got %q, want %q", e.SNI, "b.test")
	}
	if e := explained(t, secure, "https://a.test:443/"); e.Result.Outcome != explain.Forward || !e.TLS || e.Request.Host != "a.test" || !strings.Contains(strings.Join(e.Head, "\n"), "X-Forwarded-Proto: https") {
		t.Errorf("got %+v", e)
	}
}

// Explanations change no rotations, sessions, limits or counters.
func TestExplanationsHaveNoSideEffects(t *testing.T) {
	t.Parallel()
	one, two := l7test.NewNamed(t, "0"), l7test.NewNamed(t, "1")
	s := l7test.Service("web", one.Addr, two.Addr)
	s.RateLimit = &farm.RateLimit{Requests: 4, Period: 3600}
	s.Backends[0].ConnLimit = 1
	a := l7test.New(t, 1)
	addr := a.Serve(l7test.Logged, s)
	for i := range 4 {
		var said *explain.Explanation
		for range 20 {
			said = quiet(t, a, explain.Question{Farm: 1, URL: "/"})
		}
		if got := l7test.Dial(t, addr).Send(l7test.Get("/")).Get().Text; got != fmt.Sprint(*said.Result.Backend) {
			t.Fatalf("request %d went to %s, explained as %d", i, got, *said.Result.Backend)
		}
	}
	if e := explained(t, a, "/"); e.Result.Status != 429 || e.Result.Step != "rate" || e.Result.Service != "web" {
		t.Errorf("beyond the limit: %+v", e.Result)
	}
	if n := a.Segment.SumFarm(1).Requests; n != 4 {
		t.Errorf("%d requests are counted", n)
	}
}

func TestExplanationShowsTheSplit(t *testing.T) {
	t.Parallel()
	a := l7test.New(t, 1)
	var list []farm.Service
	for i, weight := range []uint8{5, 0, 95} {
		name := string(rune('a' + i))
		s := l7test.Service(name, l7test.NewNamed(t, name).Addr)
		s.ID, s.Backends[0].ID, s.Split, s.Persistence = uint32(i+1), uint32(i+1), &weight, farm.PersistIP
		list = append(list, s)
	}
	addr := a.Serve(nil, list...)
	told := func() (service, reason string) {
		x, err := a.Engine.Explain(&explain.Question{Farm: 1, URL: "/", From: "127.0.0.1"})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range x.Steps {
			if s.Name == "split" {
				reason = s.Reason
			}
		}
		return x.Result.Service, reason
	}
	service, reason := told()
	if want := fmt.Sprintf("service %s, drawn by chance among a with weight 5, b with weight 0, c with weight 95", service); reason != want {
		t.Errorf("got %q, want %q", reason, want)
	}
	known := l7test.Dial(t, addr).Send(l7test.Get("/")).Get().Text
	for range 10 {
		if service, reason = told(); service != known || reason != "service "+known+": it knows the client by its session or cookie" {
			t.Errorf("want %s, the explanation has %s: %q", known, service, reason)
		}
	}
}

func TestExplanationCoversACMEChallenges(t *testing.T) {
	t.Parallel()
	a := l7test.New(t, 1)
	a.Serve(nil, l7test.Service("web", "127.0.0.1:1"))
	a.Publish(farm.Config{Farms: []farm.Farm{a.Farm}, Challenges: []farm.Challenge{{Token: "abc", Answer: "abc.def"}}})
	e := explained(t, a, farm.ChallengePath+"abc")
	if r := e.Result; r.Outcome != explain.Answer || r.Status != 200 || r.Step != "challenge" || strings.Contains(fmt.Sprintf("%+v", e), "abc.def") {
		t.Errorf("%+v", r)
	}
	if r := explained(t, a, farm.ChallengePath+"other").Result; r.Outcome != explain.Forward || r.Service != "web" {
		t.Errorf("another token: %+v", r)
	}
}

func TestExplanationShowsTheHeadTheBackendGets(t *testing.T) {
	t.Parallel()
	s := l7test.Service("web", "127.0.0.1:81", "127.0.0.1:82")
	s.Backends[1].Host, s.Backends[0].Maintenance = "b.test", farm.MaintenanceDrain
	for _, c := range []struct {
		edit func(h *farm.HTTP)
		has  map[string]bool
	}{
		{func(h *farm.HTTP) { h.RequestID = farm.RequestIDOff }, map[string]bool{"Host: a.test": true, "Expect: 100-continue": true, "X-Request-Id: ": false}},
		{func(h *farm.HTTP) { h.RequestID = farm.RequestIDBackend }, map[string]bool{"X-Request-Id: ": true}},
		{func(h *farm.HTTP) { h.Continue = farm.ContinueIgnore }, map[string]bool{"Expect: ": false}},
		{func(h *farm.HTTP) { h.RewriteHost = true }, map[string]bool{"Host: a.test": false, "Host: b.test:82": true}},
	} {
		a := l7test.New(t, 1)
		a.Serve(c.edit, s)
		e, err := a.Engine.Explain(&explain.Question{Farm: 1, Method: "POST", URL: "http://a.test/", Headers: []string{"Content-Length: 3", "Expect: 100-continue"}})
		if err != nil {
			t.Fatal(err)
		}
		for line, want := range c.has {
			if got := strings.Contains(strings.Join(e.Head, "\n")+"\n", "\n"+line); got != want {
				t.Errorf("%q is in %q: got %t, want %t", line, e.Head, got, want)
			}
		}
	}
}

func TestExplanationShowsTheOverflowPolicy(t *testing.T) {
	t.Parallel()
	for what, want := range map[farm.Overflow]string{farm.OverflowWait: "1 of 1: connections of others wait", farm.OverflowRefuse: "1 of 1: connections of others are told 503"} {
		a := l7test.New(t, 1)
		l7test.Dial(t, a.Serve(func(h *farm.HTTP) { h.MaxConnections, h.Overflow = 1, what }, l7test.Service("web", "127.0.0.1:1")))
		l7test.Eventually(t, want, func() bool { return explained(t, a, "/").Steps[0].Reason == want })
	}
}
