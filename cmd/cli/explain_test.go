package cli_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/mgmt/api/farms"
)

// explained returns explanations as engines produce them.
func explained(outcome string) *explain.Explanation {
	two := 1
	e := &explain.Explanation{
		Farm: "shop", Listener: "192.0.2.10:80", Generation: 7, From: "192.0.2.7", SNI: "shop.example.com",
		Request: &explain.Request{Method: "GET", Host: "shop.example.com", Path: "/old/cart?id=1", Sent: "//old/cart?id=1", Readings: []string{"/old/cart;x?id=1"}, Trusted: true},
		Steps:   []explain.Step{{Name: "request", Passed: true}, {Name: "method", Passed: true}, {Name: "limits", Passed: true}},
		Services: []explain.Service{
			{Name: "api", Reason: `url "/old/cart?id=1" does not match "^/api/"`},
			{Name: "web", Matched: true, Reason: `host matches "shop\.example\.com"`},
		},
		NotTried: 2,
	}
	switch outcome {
	case explain.Forward:
		e.Changes = []explain.Change{
			{Kind: "remove-header", Owner: "farm", Rule: 1, Header: "X-Debug", Before: "1"},
			{Kind: "replace-header", Owner: "service", Rule: 0, Header: "User-Agent", Before: "curl/8", After: "x/8"},
			{Kind: "rewrite-url", Owner: "service", Rule: 3, Before: "/old/cart?id=1", After: "/cart?id=1", Last: true},
			{Kind: "add-header", Owner: "service", Rule: 0, Header: "X-In", After: "a\x1b[2Jb"},
		}
		e.Cookie = &explain.Cookie{Name: "LB", Reason: "none that names a backend: the response would set one for backend 1 (Path=/; HttpOnly; SameSite=Lax)"}
		e.Persistence = &explain.Persistence{Kind: "COOKIE", Name: "sid", Key: "sha256:0123456789ab", Found: true, Static: true, Backend: &two, Reason: "the session names the backend"}
		e.Balance = &explain.Balance{Algorithm: "round robin", Level: 2, Backends: []explain.Backend{
			{ID: 0, Address: "10.0.0.1:8080", Weight: 3, Priority: 1, Status: "down", Reason: "down"},
			{ID: 1, Address: "10.0.0.2:8080", Alias: "second", Weight: 1, Priority: 2, Status: "up", InFlight: 3, Limit: 10, Chosen: true, Might: true, Reason: "the client's session names it"},
		}}
		e.Head = []string{"GET /cart?id=1 HTTP/1.1", "Host: shop.example.com", "Cookie: ***"}
		e.AnswerChanges = []explain.Change{{Kind: "remove-header", Owner: "farm", Rule: 0, Header: "Server", Before: "x"}}
		e.AnswerHead = []string{"HTTP/1.1 200 OK", "Set-Cookie: ***"}
		e.Result = explain.Result{Outcome: outcome, Service: "web", Backend: &two, Address: "10.0.0.2:8080", Decision: "session", Reason: "the client's session names it"}
	case explain.Redirect:
		e.Result = explain.Result{Outcome: outcome, Status: 301, Location: "https://shop.example.com/cart", Service: "web", Reason: "the service redirects"}
	case explain.Refuse:
		e.Request, e.Services, e.NotTried = nil, nil, 0
		e.Steps = []explain.Step{{Name: "request", Reason: "path climbs above the root"}}
		e.Result = explain.Result{Outcome: outcome, Status: 400, Step: "request", Reason: "path climbs above the root"}
	}
	return e
}

func TestExplainShowsTheWayOfARequest(t *testing.T) {
	a := start(t)
	a.shop()
	var asked explain.Question
	for _, outcome := range []string{explain.Forward, explain.Redirect, explain.Refuse} {
		a.explain = func(q explain.Question) (*explain.Explanation, error) { asked = q; return explained(outcome), nil }
		golden(t, "explain_"+outcome, a.must("explain", "shop", "/../x", "-H", "X: 1", "-H", "Y: 2", "-X", "PUT", "--from", "192.0.2.7", "--sni", "b.test", "--answer", "Server: x"))
	}
	want := explain.Question{Farm: 1, Method: "PUT", URL: "/../x", Headers: []string{"X: 1", "Y: 2"}, Answer: []string{"Server: x"}, From: "192.0.2.7", SNI: "b.test"}
	if !reflect.DeepEqual(asked, want) {
		t.Errorf("got the question %+v", asked)
	}
	a.explain = func(q explain.Question) (*explain.Explanation, error) {
		asked = q
		return explained(explain.Forward), nil
	}
	if out := a.must("explain", "shop", "/", "--color", "always"); !strings.Contains(out, "\x1b[32m✓") || !strings.Contains(out, "\x1b[31m✗") {
		t.Errorf("no colours: %q", out)
	}
	if !reflect.DeepEqual(asked, explain.Question{Farm: 1, Method: "GET", URL: "/"}) {
		t.Errorf("got the question %+v", asked)
	}
	if out := a.must("explain", "shop", "/", "--json"); !strings.Contains(out, `"outcome": "forward"`) && !strings.Contains(out, `"outcome":"forward"`) {
		t.Errorf("JSON: %s", out)
	}
	if r := a.run("explain", "shop", "/", "--color", "pink"); r.code != 2 || r.stdout != "" {
		t.Errorf("no such colour: %+v", r)
	}
	if out := a.must("__complete", "explain", ""); !strings.HasPrefix(out, "shop\n") {
		t.Errorf("completed %q", out)
	}
}

func TestExplainUsedWronglyOrInVain(t *testing.T) {
	a := start(t)
	a.shop()
	a.explain = func(explain.Question) (*explain.Explanation, error) {
		return nil, fmt.Errorf("%w: the URL must be a path", farms.ErrNotExplained)
	}
	for _, args := range [][]string{{}, {"shop", "/", "x"}, {"shop", ""}, {"shop", "/", "-X", ""}, {"shop", "/", "-H", ""}, {"shop", "/", "--answer", ""}, {"shop", "/", "--from", "me"}} {
		if r := a.run(append([]string{"explain"}, args...)...); r.code != 2 {
			t.Errorf("%q: %+v", args, r)
		}
	}
	if r := a.run("explain", "shop", "x"); r.code != 1 || !strings.Contains(r.stderr, "is asked for a path, as /") {
		t.Errorf("%+v", r)
	}
	if r := a.run("explain", "shop", "--from", "192.0.2.7"); r.code != 1 || !strings.Contains(r.stderr, "URL is required") {
		t.Errorf("%+v", r)
	}
	if r := a.run("explain", "none", "/"); r.code != 1 || !strings.Contains(r.stderr, "does not exist") {
		t.Errorf("%+v", r)
	}
}

func TestAFirewallThatKeepsClientsAwayIsShown(t *testing.T) {
	a := start(t)
	a.shop()
	a.explain = func(explain.Question) (*explain.Explanation, error) { return explained(explain.Forward), nil }
	if r := a.run("explain", "shop", "/"); r.code != 0 || r.stderr != "" {
		t.Errorf("without one: %+v", r)
	}
	a.dropped = []string{`inet filter input drops it: a rule such as "tcp dport 80 accept" is missing`}
	if r := a.run("explain", "shop", "/"); r.code != 0 || r.stderr != "sluice: warning: "+a.dropped[0]+"\n" {
		t.Errorf("explain: %+v", r)
	}
	for _, command := range []string{"status", "farm list", "farm show shop", "farm explain shop"} {
		if out := a.must(strings.Fields(command)...); !strings.Contains(strings.Join(strings.Fields(out), " "), "inet filter input drops it") {
			t.Errorf("%s: %s", command, out)
		}
	}
}

// Rare outcomes are explained as clearly as others.
func TestExplanationsOfRareOutcomes(t *testing.T) {
	zero, age := 0, int64(61)
	bare := func(r explain.Result) *explain.Explanation {
		return &explain.Explanation{Farm: "shop", Listener: "192.0.2.10:80", Generation: 1, From: "192.0.2.7", Result: r}
	}
	l4 := bare(explain.Result{Outcome: explain.Forward, Backend: &zero, Address: "10.0.0.1:53", Reason: "hash"})
	l4.Persistence = &explain.Persistence{Kind: "IP", Reason: "none yet"}
	l4.Balance = &explain.Balance{Algorithm: "hash", Level: 1, Protocol: "udp", Pinned: true, NotShown: 3, Backends: []explain.Backend{
		{ID: 0, Address: "10.0.0.1:53", Weight: 1, Priority: 1, Status: "up", Chosen: true, Cost: "latency 3ms", Name: &explain.Name{Name: "a.test", Age: &age}},
		{ID: 1, Address: "a.test", Status: "up", InFlight: 1, Limit: 1, Cost: "1 in flight", Name: &explain.Name{Name: "a.test"}},
	}}
	h2 := bare(explain.Result{Outcome: explain.Forward, Address: "10.0.0.1:80", Service: "web", Decision: "cookie", Reason: "the cookie"})
	h2.Request = &explain.Request{Method: "GET", Path: "/"}
	h2.Cookie = &explain.Cookie{Name: "LB", Reason: "names it"}
	h2.Persistence = &explain.Persistence{Kind: "COOKIE", Name: "sid", Reason: "none"}
	h2.Balance = &explain.Balance{Algorithm: "weight", Level: 1, Protocol: "h2"}
	a := start(t)
	a.shop()
	var all strings.Builder
	for _, e := range []*explain.Explanation{
		bare(explain.Result{Outcome: explain.Answer, Status: 503, Reason: "the page"}), bare(explain.Result{Outcome: explain.Wait, Reason: "all are busy"}),
		bare(explain.Result{Outcome: explain.Refuse, Reason: "no farm"}), l4, h2,
	} {
		a.explain = func(explain.Question) (*explain.Explanation, error) { return e, nil }
		all.WriteString(a.must("explain", "shop", "/x") + "----\n")
	}
	golden(t, "explain_rare", all.String())
}
