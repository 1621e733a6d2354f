package proxy_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/l7/l7test"
	"github.com/sluicelb/sluice/l7/proxy"
)

// explained asks about a request to the farm of an appliance; lines are its
// headers.
func explained(t *testing.T, a *l7test.Appliance, url string, lines ...string) *explain.Explanation {
	t.Helper()
	e, err := a.Engine.Explain(&explain.Question{Farm: 1, URL: url, Headers: lines})
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	return e
}

func TestExplanationTellsWhyServicesDoNotMatch(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	var services []farm.Service
	for i, edit := range []func(*farm.Service){
		func(s *farm.Service) { s.VHost = `b\.test` },
		func(s *farm.Service) { s.URL = "^/api/" },
		func(s *farm.Service) { s.HeadRequire = []string{"^Host:", "^X-A: [0-9]"} },
		func(s *farm.Service) { s.HeadDeny = []string{"^X-No:", "^X-Stop:"} },
		func(s *farm.Service) { s.VHost, s.URL, s.HeadDeny = "a", "x", []string{"^X-A"} },
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
		{Name: "4", Matched: true, Reason: `host matches "a", url matches "x", headers are as it asks`},
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

func TestExplanationTellsWhatIsRefused(t *testing.T) {
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
		{explain.Question{URL: "/%00"}, 400, "request", "hidden by a percent escape"},
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

func TestExplanationTellsWhatRulesChange(t *testing.T) {
	t.Parallel()
	s := l7test.Service("web", "127.0.0.1:1")
	s.ReplaceRequest = []farm.HeaderReplace{{Header: "none", Match: "x"}, {Header: "^X-B$", Match: "1", Replace: "2"}}
	s.Rewrites = []farm.URLRewrite{{Pattern: "^/old", Replace: "/new"}, {Pattern: "never", Replace: "x"}, {Pattern: "w/", Replace: "w/e/", Last: true}, {Pattern: "^", Replace: "/z"}}
	a := l7test.New(t, 1)
	edit := func(h *farm.HTTP) {
		h.RemoveRequest = remove("^none", "^X-A:", "^Authorization")
		h.ReplaceRequest = []farm.HeaderReplace{{Header: "^(X-B|Cookie)$", Match: "2|SID", Replace: "3"}}
		h.AddRequest = add("X-In: 1", "X-Api-Key: secret")
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
	s.RemoveRequest, s.AddRequest = remove("^X-B"), add("X-Own: 1")
	a.Serve(edit, s)
	e = explained(t, a, "/", lines...)
	if len(e.Changes) < 4 || e.Changes[2] != (explain.Change{Kind: "restore-header", Owner: "service", Rule: -1}) ||
		e.Changes[3] != (explain.Change{Kind: "remove-header", Owner: "service", Rule: 0, Header: "X-B", Before: "1"}) || e.Changes[len(e.Changes)-1].Owner != "service" {
		t.Errorf("with lists of the service: %+v", e.Changes)
	}
	s.Rewrites = []farm.URLRewrite{{Pattern: "^", Replace: "/%"}}
	a.Serve(edit, s)
	if e = explained(t, a, "/"); e.Result.Outcome != explain.Refuse || e.Result.Step != "rules" || e.Result.Service != "web" {
		t.Errorf("a path that cannot be: %+v", e.Result)
	}
}

func TestExplanationTellsWhereARedirectLeads(t *testing.T) {
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
		t.Errorf("by Host: %q", e.SNI)
	}
	if e := explained(t, secure, "https://a.test:443/"); e.Result.Outcome != explain.Forward || !e.TLS || e.Request.Host != "a.test" || !strings.Contains(strings.Join(e.Head, "\n"), "X-Forwarded-Proto: https") {
		t.Errorf("got %+v", e)
	}
}

// Of very many backends the chosen one is always among those that are shown.
func TestExplanationNamesTheRightOneOfVeryManyBackends(t *testing.T) {
	t.Parallel()
	addrs := make([]string, explain.MaxItems+500)
	for i := range addrs {
		addrs[i] = fmt.Sprintf("127.0.%d.%d:1", 1+i/250, 1+i%250)
	}
	const last = explain.MaxItems + 400
	s := l7test.Service("web", addrs...)
	for i := range s.Backends {
		if i != last {
			s.Backends[i].Maintenance = farm.MaintenanceDrain
		}
	}
	a := l7test.New(t, 1)
	a.Serve(nil, s)
	e := explained(t, a, "/")
	b := e.Balance.Backends[len(e.Balance.Backends)-1]
	if *e.Result.Backend != last || e.Result.Reason != "it is its turn" || b.ID != last || !b.Chosen || b.Address != addrs[last] {
		t.Errorf("backend %d, %q, the last shown is %+v", *e.Result.Backend, e.Result.Reason, b)
	}
	if len(e.Balance.Backends) != explain.MaxItems || e.Balance.NotShown != 500 {
		t.Errorf("%d backends are shown, %d are said not to be", len(e.Balance.Backends), e.Balance.NotShown)
	}
}

func TestExplanationTellsAboutEachBackend(t *testing.T) {
	t.Parallel()
	s := l7test.Service("web", "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3", "127.0.0.1:4", "127.0.0.1:5")
	s.Backends[1].Maintenance, s.Backends[2].Priority, s.Backends[3].Alias = farm.MaintenanceDrain, 9, "fourth"
	a := l7test.New(t, 1)
	a.Serve(nil, s)
	a.Board.SetGuardian(5, health.Down, time.Now())
	e := explained(t, a, "/")
	for i, want := range []string{"", "in maintenance: drain", "priority 9 is not served", "", "down"} {
		b := e.Balance.Backends[i]
		if want != "" && (!strings.HasPrefix(b.Reason, want) || b.Chosen || b.Might) {
			t.Errorf("backend %d: %+v", i, b)
		}
	}
	first := *e.Result.Backend
	other := 3 - first
	if b := e.Balance.Backends[other]; b.Reason != "not its turn" || !b.Might || e.Balance.Backends[first].Reason != "it is its turn" {
		t.Errorf("got %+v", e.Balance.Backends)
	}
	if b := e.Balance.Backends[1]; b.Status != "maintenance" || e.Balance.Backends[4].Status != "down" || e.Balance.Backends[3].Alias != "fourth" {
		t.Errorf("got %+v", e.Balance.Backends)
	}
	a.Board.Eject(uint32(first+1), health.CauseTimeout, time.Now(), time.Minute)
	if b := explained(t, a, "/").Balance.Backends[first]; b.Reason != "ejected for 60 more seconds at most: no answer in time" || b.Might {
		t.Errorf("ejected: %+v", b)
	}
	for id := range uint32(4) {
		a.Board.SetGuardian(id+1, health.Down, time.Now())
	}
	if e = explained(t, a, "/"); e.Result.Outcome != explain.Refuse || e.Result.Status != 503 || e.Result.Step != "backends" || len(e.Balance.Backends) != 5 || e.Head != nil {
		t.Errorf("all down: %+v", e)
	}
}

func TestExplanationTellsWhatKeepsTheClient(t *testing.T) {
	t.Parallel()
	one, two := named(t, "0"), named(t, "1")
	s := sticky(60, one.Addr, two.Addr)
	a := l7test.New(t, 1)
	addr := a.Serve(nil, s)
	if p := explained(t, a, "/").Persistence; p.Key != "" || p.Found || !strings.Contains(p.Reason, "nothing the client is recognised by") {
		t.Errorf("without a cookie: %+v", p)
	}
	e := explained(t, a, "/", "Cookie: SID=me")
	if p := e.Persistence; !strings.HasPrefix(p.Key, "sha256:") || p.Found || p.Reason != fmt.Sprintf("no session: one with backend %d would be made", *e.Result.Backend) {
		t.Errorf("the first time: %+v", p)
	}
	if total, _ := listed(a.Engine, 1, 1); total != 0 {
		t.Errorf("to ask made %d sessions", total)
	}
	first := come(t, addr, "me")
	e = explained(t, a, "/", "Cookie: SID=me")
	if p := e.Persistence; !p.Found || p.Static || fmt.Sprint(*p.Backend) != first || e.Result.Decision != "session" || fmt.Sprint(*e.Result.Backend) != first {
		t.Errorf("the second time: %+v, %+v", p, e.Result)
	}
	if other := e.Balance.Backends[1-*e.Result.Backend]; other.Reason != "not asked: the session names another" {
		t.Errorf("the other: %+v", other)
	}
	a.Board.SetGuardian(uint32(*e.Result.Backend+1), health.Down, time.Now())
	if e = explained(t, a, "/", "Cookie: SID=me"); e.Result.Decision != "algorithm" || !strings.HasSuffix(e.Persistence.Reason, "of the session cannot be used: it is down") {
		t.Errorf("it is down: %+v, %+v", e.Persistence, e.Result)
	}
	s.Cookie, s.Persistence = &farm.CookieInsert{Name: "LB"}, farm.PersistNone
	a.Serve(nil, s)
	mine := *e.Result.Backend
	if e = explained(t, a, "/", "Cookie: LB="+proxy.CookieValue(1, uint32(mine+1))); e.Result.Decision != "cookie" || *e.Cookie.Backend != mine || *e.Result.Backend != mine {
		t.Errorf("by cookie: %+v, %+v", e.Cookie, e.Result)
	}
	if e = explained(t, a, "/", "Cookie: LB="+proxy.CookieValue(1, uint32(2-mine))); e.Result.Decision != "algorithm" || !strings.HasSuffix(e.Cookie.Reason, "cannot be used: it is down") {
		t.Errorf("cookie of the other: %+v, %+v", e.Cookie, e.Result)
	}
	s.Cookie, s.Persistence = nil, farm.PersistBasic
	a.Serve(nil, s)
	e = explained(t, a, "/", "Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte("someone:secret")))
	if text := fmt.Sprintf("%+v %+v", e, e.Persistence); strings.Contains(text, "someone") || !strings.HasPrefix(e.Persistence.Key, "sha256:") {
		t.Errorf("a user is shown: %s", text)
	}
}

// Backends are named as the API calls them, wherever they are in the list.
func TestExplanationsNameBackendsByNumber(t *testing.T) {
	t.Parallel()
	one, two := named(t, "0"), named(t, "1")
	s := sticky(60, one.Addr, two.Addr)
	s.Backends[0].Seat, s.Backends[1].Seat = 5, 9
	a := l7test.New(t, 1)
	addr := a.Serve(nil, s)
	number := map[string]int{"0": 4, "1": 8}[come(t, addr, "me")]
	e := explained(t, a, "/", "Cookie: SID=me")
	if ids := []int{e.Balance.Backends[0].ID, e.Balance.Backends[1].ID}; !slices.Equal(ids, []int{4, 8}) || *e.Result.Backend != number || *e.Persistence.Backend != number {
		t.Errorf("backends %v, chosen %d, of the session %d; want %d", ids, *e.Result.Backend, *e.Persistence.Backend, number)
	}
	s.Cookie, s.Persistence = &farm.CookieInsert{Name: "LB"}, farm.PersistNone
	a.Serve(nil, s)
	if e = explained(t, a, "/"); !strings.Contains(e.Cookie.Reason, fmt.Sprintf("one for backend %d", *e.Result.Backend)) || *e.Result.Backend < 4 {
		t.Errorf("a new client: %+v, %+v", e.Cookie, e.Result)
	}
	if e = explained(t, a, "/", "Cookie: LB="+proxy.CookieValue(1, s.Backends[1].ID)); *e.Cookie.Backend != 8 || *e.Result.Backend != 8 {
		t.Errorf("by cookie: %+v, %+v", e.Cookie, e.Result)
	}
}

// To ask is not to come: turns, sessions, limits and counters stay.
func TestExplanationsLeaveNoTrace(t *testing.T) {
	t.Parallel()
	one, two := named(t, "0"), named(t, "1")
	s := l7test.Service("web", one.Addr, two.Addr)
	s.RateLimit = &farm.RateLimit{Requests: 4, Period: 3600}
	s.Backends[0].ConnLimit = 1
	a := l7test.New(t, 1)
	addr := a.Serve(logs, s)
	for i := range 4 {
		var said *explain.Explanation
		for range 20 {
			said = quiet(t, a, explain.Question{Farm: 1, URL: "/"})
		}
		if got := l7test.Dial(t, addr).Send(get("/")).Get().Text; got != fmt.Sprint(*said.Result.Backend) {
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

func TestRecordsTellWhyABackendWasChosen(t *testing.T) {
	t.Parallel()
	b := numbered(t)
	s := pinning(b.Addr)
	a := l7test.New(t, 1)
	addr := a.Serve(logs, s)
	records := recordsOf(t, a)
	c := l7test.Dial(t, addr)
	for _, want := range []string{"algorithm", "pin"} {
		c.Send(get("/")).Get()
		if got := records.next().Why.String(); got != want {
			t.Errorf("decision %q, want %q", got, want)
		}
	}
}

func TestExplanationTellsWhoWaits(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}, 10), make(chan struct{})
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		_, _ = c.Head()
		asked <- struct{}{}
		<-release
		c.Say(ok)
	})
	t.Cleanup(func() { close(release) })
	s := l7test.Service("web", b.Addr)
	s.Backends[0].ConnLimit, s.Queue, s.QueueTimeout = 1, 1, 7
	a := l7test.New(t, 1)
	addr := a.Serve(bounded(3, farm.OverflowWait), s)
	if e := explained(t, a, "/"); e.Result.Outcome != explain.Forward || e.Steps[0].Reason != "0 of 3" {
		t.Errorf("nobody is there: %+v, %+v", e.Result, e.Steps)
	}
	l7test.Dial(t, addr).Send(get("/"))
	<-asked
	if e := explained(t, a, "/"); e.Result.Outcome != explain.Wait || !strings.Contains(e.Result.Reason, "7 seconds at most, behind 0 others in a queue for 1") || e.Balance.Backends[0].Reason != "at its limit of 1" {
		t.Errorf("one is served: %+v", e)
	}
	l7test.Dial(t, addr).Send(get("/"))
	l7test.Eventually(t, "the second waits", func() bool {
		return a.Segment.SumFarm(1).Queued == 1
	})
	if e := explained(t, a, "/"); e.Result.Outcome != explain.Refuse || e.Result.Status != 503 || !strings.Contains(e.Result.Reason, "the queue is full") {
		t.Errorf("one waits: %+v", e.Result)
	}
	if n := a.Segment.SumFarm(1).Queued; n != 1 {
		t.Errorf("%d wait", n)
	}
	l7test.Dial(t, addr)
	l7test.Eventually(t, "the farm is full", func() bool { return strings.HasPrefix(explained(t, a, "/").Steps[0].Reason, "3 of 3: ") })
}

func TestRecordsTellHowLongAnExchangeWaited(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		for {
			if _, err := c.Head(); err != nil {
				return
			}
			<-release
			c.Say(ok)
		}
	})
	s := l7test.Service("web", b.Addr)
	s.Backends[0].ConnLimit, s.Queue, s.QueueTimeout = 1, 1, 1
	a := l7test.New(t, 1)
	addr := a.Serve(logs, s)
	records := recordsOf(t, a)
	first, second := l7test.Dial(t, addr).Send(get("/first")), l7test.Dial(t, addr)
	l7test.Eventually(t, "the first is at the backend", func() bool { return b.Received() != "" })
	second.Send(get("/second"))
	if res := second.Get(); res.StatusCode != 503 {
		t.Fatal(res.Status)
	}
	if l := records.next(); l.path != "/second" || l.Queue < int64(time.Second)*9/10 || l.Queue > l.Total || l.Why != accesslog.WhyNone {
		t.Errorf("waited in vain: %+v", l)
	}
	second.Send(get("/second"))
	l7test.Eventually(t, "the second waits", func() bool { return a.Segment.SumFarm(1).Queued == 1 })
	close(release)
	first.Get()
	second.Get()
	if l := records.next(); l.path != "/first" || l.Queue != 0 {
		t.Errorf("did not wait: %+v", l)
	}
	if l := records.next(); l.path != "/second" || l.Queue <= 0 || l.Queue > l.Total {
		t.Errorf("waited: %+v", l)
	}
}
