package table_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/l7/l7test"
	"github.com/sluicelb/sluice/l7/state"
	"github.com/sluicelb/sluice/l7/table"
)

func TestSessionKeyComesFromTheRequest(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		kind     farm.Persistence
		id       string
		raw, key string
	}{
		{farm.PersistIP, "", ask("GET", "/"), "192.0.2.1"},
		{farm.PersistBasic, "", ask("GET", "/", "Authorization: Basic YTpi"), "a"}, // a:b
		{farm.PersistBasic, "", ask("GET", "/", "Authorization: basic  YTpi"), "a"},
		{farm.PersistBasic, "", ask("GET", "/", "Authorization: Basic YQ=="), "a"},
		{farm.PersistBasic, "", ask("GET", "/", "Authorization: Basic "), ""},
		{farm.PersistBasic, "", ask("GET", "/", "Authorization: Basic ?"), ""},
		{farm.PersistBasic, "", ask("GET", "/", "Authorization: Bearer YTpi"), ""},
		{farm.PersistBasic, "", ask("GET", "/"), ""},
		{farm.PersistURL, "sid", ask("GET", "/a?b=c&sid=d&sid=e"), "d"},
		{farm.PersistURL, "sid", ask("GET", "/a?sid"), ""},
		{farm.PersistURL, "sid", ask("GET", "/sid=a"), ""},
		{farm.PersistParm, "", ask("GET", "/a;b;c?d;e"), "c"},
		{farm.PersistParm, "", ask("GET", "/;a"), "a"},
		{farm.PersistParm, "", ask("GET", "/a?;b"), ""},
		{farm.PersistHeader, "X-ID", ask("GET", "/", "x-id: a"), "a"},
		{farm.PersistHeader, "X-ID", ask("GET", "/", "X-ID: "+long), string(session.AppendKey(nil, []byte(long)))},
		{farm.PersistHeader, "X-ID", ask("GET", "/", "X: a"), ""},
		{farm.PersistHeader, "X-Forwarded-For", ask("GET", "/", "X-Forwarded-For: a"), ""}, // forgeable
		{farm.PersistCookie, "SID", ask("GET", "/", "Cookie: a=b; SID=\"c\" ; SID=d"), "c"},
		{farm.PersistCookie, "SID", ask("GET", "/", "Cookie: a", "Cookie: SID=c"), "c"},
		{farm.PersistCookie, "SID", ask("GET", "/", "Cookie: SID=", "X: SID=c"), ""},
		{farm.PersistNone, "", ask("GET", "/"), ""},
	} {
		p := newPlanner(t, nil, web(func(s *farm.Service) { s.Persistence, s.SessionID = c.kind, c.id }))
		if p.become(c.raw); string(p.choice.Key) != c.key || p.choice.Keyed(p.service()) != (c.key != "") {
			t.Errorf("%s: %q has the key %q, want %q", c.kind, c.raw, p.choice.Key, c.key)
		}
	}
}

// keeping is a service with persistence by a header, and by a cookie where edits add it.
func keeping(edits ...func(*farm.Service)) farm.Service {
	return web(append([]func(*farm.Service){func(s *farm.Service) {
		s.Persistence, s.SessionID, s.TTL, s.Policy = farm.PersistHeader, "X-ID", 60, farm.PolicyPending
	}}, edits...)...)
}

func inserting(s *farm.Service) { s.Cookie = farm.DefaultCookie() }

func (p *planner) pick() (int, accesslog.Why) {
	i, ok := p.choice.Pick(p.service())
	if !ok {
		return -1, p.choice.Why
	}
	return i, p.choice.Why
}

func TestClientReturnsToItsBackend(t *testing.T) {
	t.Parallel()
	p := newPlanner(t, nil, keeping())
	p.become(ask("GET", "/", "X-ID: a"))
	if p.choice.Belongs(p.service()) != -1 {
		t.Error("an unknown client belongs to a backend")
	}
	first, why := p.pick()
	if why != accesslog.WhyAlgorithm || p.choice.Held != p.service().Backends[first].Load || p.choice.Held.Active.Load() != 1 {
		t.Errorf("a new client is sent to %d because of %v", first, why)
	}
	for range 3 {
		p.become(ask("GET", "/", "X-ID: a"))
		if i, why := p.pick(); i != first || why != accesslog.WhySession || p.choice.Belongs(p.service()) != first || p.choice.Held != p.service().Backends[first].Load {
			t.Errorf("it comes to %d because of %v", i, why)
		}
	}
	mode := func(m farm.Maintenance) { p.edit(func(h *farm.HTTP) { h.Services[0].Backends[first].Maintenance = m }) }
	mode(farm.MaintenanceDrain)
	if i, _ := p.pick(); i != first {
		t.Error("a backend that drains does not keep its clients")
	}
	mode(farm.MaintenanceCut)
	if i, why := p.pick(); i != 1-first || why != accesslog.WhyAlgorithm || p.choice.Belongs(p.service()) != 1-first {
		t.Errorf("from a cut backend it is sent to %d because of %v", i, why)
	}
	// A backend that failed for this request is skipped.
	mode(farm.MaintenanceOff)
	p.choice.Tried = p.choice.Tried.With(1 - first)
	if i, why := p.pick(); i != first || why != accesslog.WhyAlgorithm {
		t.Errorf("after a try of %d it is sent to %d because of %v", 1-first, i, why)
	}
	p.choice.Tried = p.choice.Tried.With(first)
	if i, _ := p.pick(); i != -1 {
		t.Errorf("after all were tried it is sent to %d", i)
	}
	// Failed and released backends leave no reservation.
	for _, claim := range []int{-1, first} {
		if p.choice.Claim(p.service(), claim) {
			t.Errorf("backend %d is claimed, though it was tried or is none", claim)
		}
	}
}

func TestInsertedCookieNamesTheBackend(t *testing.T) {
	t.Parallel()
	p := newPlanner(t, nil, web(inserting, func(s *farm.Service) { s.Cookie.Name, s.Policy = "LB", farm.PolicyPending }))
	values := []string{table.CookieValue(1, 1), table.CookieValue(1, 2)}
	for i, value := range values {
		for _, lines := range [][]string{{"Cookie: LB=" + value}, {"Cookie: a=b; LB=x; LB=" + value}, {"Cookie: LB=x", "X: y", "Cookie: LB=" + value}} {
			p.become(ask("GET", "/", lines...))
			if got, why := p.pick(); got != i || why != accesslog.WhyCookie || p.choice.Belongs(p.service()) != i {
				t.Errorf("%q leads to %d because of %v", lines, got, why)
			}
		}
		same(t, "the line", string(p.service().Backends[i].SetCookie), "Set-Cookie: LB="+value+"; Path=/; HttpOnly; SameSite=Lax\r\n")
	}
	for _, lines := range [][]string{{"Cookie: LB=x"}, {"X: LB=" + values[0]}, {"X: y"}, {"Cookie: LB=" + table.CookieValue(2, 1)}} {
		p.become(ask("GET", "/", lines...))
		if _, why := p.pick(); why != accesslog.WhyAlgorithm || p.choice.Cookie != 0 || p.choice.Belongs(p.service()) != -1 {
			t.Errorf("%q names backend %d", lines, p.choice.Cookie)
		}
	}
	p.edit(func(h *farm.HTTP) { h.Services[0].Backends[0].Maintenance = farm.MaintenanceCut })
	p.become(ask("GET", "/", "Cookie: LB="+values[0]))
	if got, why := p.pick(); got != 1 || why != accesslog.WhyAlgorithm {
		t.Errorf("of a backend that was cut it leads to %d because of %v", got, why)
	}
	for attribute, want := range map[string]bool{" ": false, "!": true, "~": true, "\x7f": false, ";": false, ",": false, "é": false} {
		for _, edit := range []func(c *farm.CookieInsert){func(c *farm.CookieInsert) { c.Path = "/" + attribute }, func(c *farm.CookieInsert) { c.Path, c.Domain = "/", "a"+attribute }} {
			if err := newPlanner(t, nil, web(inserting)).try(func(h *farm.HTTP) { edit(h.Services[0].Cookie) }); (err == nil) != want {
				t.Errorf("%q in an attribute: %v", attribute, err)
			}
		}
	}
	for _, value := range values {
		if len(value) != 16 {
			t.Errorf("%q is not of 16 characters", value)
		}
	}
}

// A choice belongs to one table; waiting requests continue with the next one.
func TestChoiceSurvivesATableSwap(t *testing.T) {
	t.Parallel()
	p := newPlanner(t, nil, web(inserting))
	old := p.service()
	p.become(ask("GET", "/", "Cookie: ZENSESSIONID="+table.CookieValue(1, 2)))
	if p.choice.Cookie != 2 {
		t.Fatalf("the cookie names %d, want 2", p.choice.Cookie)
	}
	p.edit(func(h *farm.HTTP) { slices.Reverse(h.Services[0].Backends) })
	if p.choice.MoveTo(p.service(), old); p.choice.Cookie != 1 {
		t.Errorf("the backend at 1 is looked for at %d, want 1", p.choice.Cookie)
	}
	old = p.service()
	p.edit(func(h *farm.HTTP) { h.Services[0].Backends = h.Services[0].Backends[1:] })
	if p.choice.MoveTo(p.service(), old); p.choice.Cookie != 0 {
		t.Errorf("a backend that is gone is looked for at %d, want 0", p.choice.Cookie)
	}
	for what, c := range map[string]struct {
		edit func(s *farm.Service)
		kept bool
	}{
		"nothing":     {func(s *farm.Service) {}, true},
		"its time":    {func(s *farm.Service) { s.TTL = 99 }, true},
		"the kind":    {func(s *farm.Service) { s.Persistence = farm.PersistURL }, false},
		"the name":    {func(s *farm.Service) { s.SessionID = "X-Other" }, false},
		"that it has": {func(s *farm.Service) { s.Persistence = farm.PersistNone }, false},
	} {
		p := newPlanner(t, nil, keeping())
		p.become(ask("GET", "/", "X-ID: a"))
		old := p.service()
		p.edit(func(h *farm.HTTP) { c.edit(&h.Services[0]) })
		if p.choice.MoveTo(p.service(), old); (len(p.choice.Key) > 0) != c.kept {
			t.Errorf("after %s changed the key is %q", what, p.choice.Key)
		}
	}
	// The client's hash is computed again even if the old table did not need it.
	hashed := func(s *farm.Service) {
		s.Policy, s.Queue = farm.PolicyConsistentHash, 1
		s.Backends = l7test.Service("", "198.51.100.1:1", "198.51.100.2:1", "198.51.100.3:1", "198.51.100.4:1").Backends
	}
	came := map[int]bool{}
	for n := range 40 {
		p, q := newPlanner(t, nil, web(hashed)), newPlanner(t, nil, web(hashed))
		p.from = fmt.Sprint("192.0.2.", n)
		q.from = p.from
		p.become(ask("GET", "/"))
		want, _ := p.pick()
		q.edit(func(h *farm.HTTP) { h.Services[0].Policy = farm.PolicyRoundRobin })
		q.become(ask("GET", "/"))
		old := q.service()
		q.edit(func(h *farm.HTTP) { h.Services[0].Policy = farm.PolicyConsistentHash })
		q.choice.MoveTo(q.service(), old)
		if got, _ := q.pick(); got != want {
			t.Errorf("%s is sent to %d, and to %d after waiting", p.from, want, got)
		}
		came[want] = true
	}
	if len(came) != 4 {
		t.Errorf("clients come to %v alone", came)
	}
}

func TestWaitingNeedsAFullBackend(t *testing.T) {
	t.Parallel()
	p := newPlanner(t, nil, web(func(s *farm.Service) { s.Backends[0].ConnLimit, s.Backends[1].ConnLimit = 1, 1 }))
	may := func(what string, want bool) {
		t.Helper()
		if got := p.choice.MayWait(p.service()); got != want {
			t.Errorf("%s: may wait %t, want %t", what, got, want)
		}
	}
	p.become(ask("GET", "/"))
	may("with room", true)
	p.choice.Tried = p.choice.Tried.With(0)
	may("with room at one that failed", false)
	p.choice.Tried = balance.Tried{}
	_, _ = p.pick()
	_, _ = p.pick()
	if i, _ := p.pick(); i != -1 {
		t.Fatalf("without room it is sent to %d", i)
	}
	p.choice.Tried = p.choice.Tried.With(0)
	may("without room", true)
	p.edit(func(h *farm.HTTP) {
		for i := range h.Services[0].Backends {
			h.Services[0].Backends[i].Maintenance = farm.MaintenanceDrain
		}
	})
	may("with nobody", false)
}

// If another loop creates the client's session meanwhile, waiting clients get the room that was
// reserved first.
func TestReplacedReservationGoesToWaiters(t *testing.T) {
	t.Parallel()
	p := newPlanner(t, nil, keeping(func(s *farm.Service) { s.Backends[0].ConnLimit, s.Backends[1].ConnLimit = 1, 1 }))
	s := p.service()
	p.become(ask("GET", "/", "X-ID: a"))
	s.Sessions.Put(p.choice.Key, s.Backends[1].ID, session.Now())
	if !p.choice.Claim(s, 0) {
		t.Fatal("there is no room")
	}
	called := map[string]bool{}
	for name, q := range map[string]*state.Queue{"backend 0": s.Backends[0].Queue, "backend 1": s.Backends[1].Queue, "service": s.Queue} {
		q.Join(&state.Waiting{Call: func() { called[name] = true }}, 1, false)
	}
	i := p.choice.Remember(s, 0)
	if i != 1 || s.Picker.Full(0) || !s.Picker.Full(1) || p.choice.Held != s.Backends[1].Load {
		t.Errorf("it is sent to %d; full: %t, %t", i, s.Picker.Full(0), s.Picker.Full(1))
	}
	if len(called) != 2 || !called["backend 0"] || !called["service"] {
		t.Errorf("woken: %v", called)
	}
}

func TestViewUsesTheTablesSessions(t *testing.T) {
	t.Parallel()
	p := newPlanner(t, nil, keeping(func(s *farm.Service) {
		s.Backends[0].Sessions, s.Backends[1].Maintenance = []string{"operator"}, farm.MaintenanceCut
	}))
	v := p.service().View()
	same(t, "view", []any{v.Table == p.service().Sessions, v.TTL, v.Backends}, []any{true, time.Minute, []session.Member{{ID: 1, Static: []string{"operator"}}, {ID: 2, Cut: true}}})
	p.table.Fix(p.registry)
	keys := func() string {
		var all []string
		for s := range p.service().Sessions.Range {
			all = append(all, fmt.Sprint(string(s.Key), s.Backend, s.Static))
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	same(t, "static sessions", keys(), "operator1 true")
	now := session.Now()
	sessions := p.service().Sessions
	for id, key := range map[uint32]string{1: "a", 2: "b"} {
		sessions.Put([]byte(key), id, now)
	}
	p.table.DropCut(p.table)
	same(t, "what was cut before", keys(), "a1 false b2 false operator1 true")
	p.table.DropCut(&table.Table{})
	same(t, "what is cut", keys(), "a1 false operator1 true")
	sessions.Put([]byte("old"), 1, now-int64(2*time.Minute))
	for range 1000 {
		p.table.Sweep()
	}
	same(t, "what was swept", keys(), "a1 false operator1 true")
	none := newPlanner(t, nil, web(func(s *farm.Service) { s.Backends[0].Maintenance = farm.MaintenanceCut }))
	none.table.DropCut(&table.Table{})
	none.table.Fix(none.registry)
	none.table.Sweep()
	// A rehearsal changes nothing.
	r := p.service().Rehearsal()
	if r == p.service() || r.Sessions == sessions || r.Picker == p.service().Picker || r.Name != "web" {
		t.Error("a rehearsal is on the stage")
	}
	if none.service().Rehearsal().Sessions != nil {
		t.Error("a rehearsal has sessions that the service has not")
	}
}

func TestExplanationsRecordEachStep(t *testing.T) {
	t.Parallel()
	half := uint8(50)
	second := web(func(s *farm.Service) {
		s.ID, s.Name, s.Split, s.Backends[0].ID, s.Backends[1].ID = 2, "new", &half, 3, 4
	})
	first := web(func(s *farm.Service) {
		s.VHost, s.URL, s.Split = `a\.test`, "^/a", new(uint8)
		s.RateLimit = &farm.RateLimit{Requests: 9, Period: 60}
	})
	closed := web(func(s *farm.Service) {
		s.ID, s.Name, s.URL, s.Backends[0].ID, s.Backends[1].ID = 3, "closed", "^/b", 5, 6
		s.HeadRequire, s.HeadDeny = []string{"^X-A:", "^X-B:"}, []string{"^X-C:", "^X-D:"}
	})
	p := newPlanner(t, func(h *farm.HTTP) { h.MaxBody = 9 }, closed, first, second)
	p.explanations = true
	p.become(ask("GET", "/a"))
	same(t, "steps", asJSON(p.explanation.Steps), `[{"name":"method","passed":true},{"name":"limits","passed":true},{"name":"split","passed":true,"reason":"service new, drawn by chance among web with weight 0, new with weight 50"}]`)
	same(t, "services", asJSON(p.explanation.Services), `[{"name":"closed","matched":false,"reason":"url \"/a\" does not match \"^/b\""},{"name":"web","matched":true,"reason":"host matches \"a\\.test\", url matches \"^/a\""}]`)
	same(t, "not tried", p.explanation.NotTried, 1)
	same(t, "result", p.explanation.Result.Service, "new")
	for lines, want := range map[string]string{
		"X: y":                 `headrequire[0]: no header matches "^X-A:"`,
		"X-A: 1":               `headrequire[1]: no header matches "^X-B:"`,
		"X-A: 1|X-B: 1|X-C: 1": `headdeny[0]: a header matches "^X-C:"`,
		"X-A: 1|X-B: 1|X-D: 1": `headdeny[1]: a header matches "^X-D:"`,
		"X-A: 1|X-B: 1":        `url matches "^/b", headers are as it asks`,
	} {
		p.become(ask("GET", "/b", strings.Split(lines, "|")...))
		same(t, lines, p.explanation.Services[0].Reason, want)
	}
	p.become(ask("GET", "/b", "X-A: 1", "X-B: 1"))
	same(t, "not tried behind the first", p.explanation.NotTried, 2)
	p.become("GET /a HTTP/1.1\r\nHost: b.test\r\n\r\n")
	same(t, "another host", p.explanation.Services[1].Reason, `host "b.test" does not match "a\.test"`)
	p.become(ask("GET", "/c", "X: y"))
	same(t, "takes all", p.explanation.Services[2].Reason, "takes every request")
	for _, c := range []struct {
		raw, steps string
	}{
		{ask("GET", "/a", "Cookie: x=y"), `"passed":true,"reason":"service new, drawn`},
		{ask("POST", "/a", "Content-Length: 10"), `{"name":"limits","passed":false,"reason":"body over the limit of the farm"}]`},
	} {
		if p.become(c.raw); !strings.Contains(asJSON(p.explanation.Steps), c.steps) {
			t.Errorf("%q passes %s", c.raw, asJSON(p.explanation.Steps))
		}
	}
	p.edit(func(h *farm.HTTP) { h.Services[2].Cookie = farm.DefaultCookie() })
	p.become(ask("GET", "/a", "Cookie: ZENSESSIONID="+table.CookieValue(2, 4)))
	if got := asJSON(p.explanation.Steps); !strings.Contains(got, `"reason":"service new: it knows the client by its session or cookie"`) {
		t.Errorf("the explanation of a known client is %s", got)
	}
	p.edit(func(h *farm.HTTP) { h.Services = h.Services[:2]; h.Services[0].Split = nil; h.Services[1].Split = nil })
	p.become(ask("GET", "/a"))
	same(t, "rate", asJSON(p.explanation.Steps), `[{"name":"method","passed":true},{"name":"limits","passed":true},{"name":"rate","passed":true}]`)
	p.become(ask("GET", "/c"))
	same(t, "no service", asJSON(p.explanation.Result), `{"outcome":"refuse","status":503,"reason":"no service matches","step":"services"}`)
	same(t, "its steps", len(p.explanation.Steps), 2)
	// Changes by rules, with their owners.
	p = newPlanner(t, func(h *farm.HTTP) {
		h.RemoveRequest, h.AddRequest = l7test.Remove("^X-F:"), l7test.Add("A: 1")
		h.ReplaceRequest = []farm.HeaderReplace{{Header: "^X-R$", Match: "2", Replace: "3"}}
	}, web(func(s *farm.Service) {
		s.RemoveRequest = l7test.Remove("^X-S:")
		s.ReplaceRequest = []farm.HeaderReplace{{Header: "^X-R$", Match: "1", Replace: "2"}}
		s.Rewrites = []farm.URLRewrite{{Pattern: "^/a", Replace: "/b", Last: true}}
		s.Auth = &farm.Auth{Header: "X-Key", Keys: []farm.AuthKey{"x"}, Pass: true}
	}))
	p.explanations = true
	p.farm.Services[0].Auth.Keys = nil // without the check of the key
	p.become(ask("GET", "/a", "X-F: 1", "X-S: 1", "X-R: 1", "Cookie: c", "X-Key: k"))
	same(t, "changes", asJSON(p.explanation.Changes), `[{"kind":"remove-header","owner":"farm","rule":0,"header":"X-F","before":"1"},`+
		`{"kind":"remove-header","owner":"service","rule":0,"header":"X-S","before":"1"},`+
		`{"kind":"replace-header","owner":"service","rule":0,"header":"X-R","before":"1","after":"2"},{"kind":"replace-header","owner":"farm","rule":0,"header":"X-R","before":"2","after":"3"},`+
		`{"kind":"rewrite-url","owner":"service","rule":0,"before":"/a","after":"/b","last":true},{"kind":"add-header","owner":"farm","rule":0,"header":"A","after":"1"}]`)
	head := strings.Join(p.explanation.Head, "\n")
	for _, want := range []string{"GET /b HTTP/1.1\nHost: a.test\nX-R: 3\nCookie: ***\n", "\nA: 1"} {
		if !strings.Contains(head, want) {
			t.Errorf("the head is %q, without %q", head, want)
		}
	}
}
