package proxy_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// fields returns the field lines of the last head in text, without identity fields and our
// framing.
func fields(text string) []string {
	heads := strings.Split(strings.TrimSuffix(text, "\r\n\r\n"), "\r\n\r\n")
	var out []string
	for _, line := range strings.Split(heads[len(heads)-1], "\r\n")[1:] {
		if !strings.HasPrefix(line, "X-Forwarded-") && !strings.HasPrefix(line, "Forwarded:") && !strings.HasPrefix(line, "Host:") {
			out = append(out, line)
		}
	}
	return out
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

var remove, add = l7test.Remove, l7test.Add

var request = l7test.Request

func TestRequestFieldsAreRemovedReplacedAndAdded(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	c := l7test.Dial(t, l7test.New(t, 1).Serve(func(h *farm.HTTP) {
		h.RemoveRequest = remove("^x-secret:", "debug=1", `^A:.*b$`)
		h.ReplaceRequest = []farm.HeaderReplace{
			{Header: "^cookie$", Match: `(sid)=([0-9]+)`, Replace: "$2-$1=$1$2"},
			{Header: "^x-", Match: "old", Replace: ""},
			{Header: "^X-First", Match: "^", Replace: "new "},
		}
		h.AddRequest = add("X-Added: one", "X-Added:two  ")
	}, l7test.Service("web", b.Addr)))
	c.Send(request("X-Secret: 1", "X-SECRETS: kept", "Q: x?DEBUG=1", "A: ab", "A: ba", "Cookie: a=1; sid=42; sid=7", "X-First: old old", "X-Odd:\told")).Get()
	same(t, "the backend's fields", fields(b.Received()),
		"X-SECRETS: kept", "A: ba", "Cookie: a=1; 42-sid=sid42; sid=7", "X-First: new  old", "X-Odd: ", "X-Added: one", "X-Added: two")
}

func TestResponseFieldsAreRemovedReplacedAndAdded(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 200 OK\r\nServer: x/1\r\nSet-Cookie: a=1; Domain=in.test; Path=/\r\nX-Powered-By: y\r\nContent-Length: 2\r\n\r\nok"))
	c := l7test.Dial(t, l7test.New(t, 1).Serve(func(h *farm.HTTP) {
		h.RemoveResponse = remove("^x-powered-by")
		h.ReplaceResponse = []farm.HeaderReplace{
			{Header: "^Server$", Match: ".*", Replace: "hidden"},
			{Header: "Set-Cookie", Match: `(?i)(domain=)in\.`, Replace: "$1out."},
		}
		h.AddResponse = add("X-Frame-Options: DENY")
	}, l7test.Service("web", b.Addr)))
	for range 2 { // the second response has other offsets in the same buffers
		res := c.Send(request()).Get()
		if res.Header.Get("Server") != "hidden" || res.Header.Get("Set-Cookie") != "a=1; Domain=out.test; Path=/" ||
			res.Header.Get("X-Powered-By") != "" || res.Header.Get("X-Frame-Options") != "DENY" || res.Text != "ok" {
			t.Fatalf("got %v %q", res.Header, res.Text)
		}
	}
}

func TestRulesOfTheServiceComeBeforeThoseOfTheFarm(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 200 OK\r\nA: 1\r\nB: 2\r\nC: x\r\nContent-Length: 2\r\n\r\nok"))
	own, plain := l7test.Service("own", b.Addr), l7test.Service("plain", b.Addr)
	own.URL, plain.ID, plain.Backends[0].ID = "^/own", 2, 2
	own.HeaderRules = farm.HeaderRules{
		RemoveRequest: remove("^B:"), RemoveResponse: remove("^B:"), AddRequest: add("From: service"), AddResponse: add("From: service"),
		ReplaceRequest:  []farm.HeaderReplace{{Header: "^C$", Match: "x", Replace: "xs"}},
		ReplaceResponse: []farm.HeaderReplace{{Header: "^C$", Match: "x", Replace: "xs"}},
	}
	c := l7test.Dial(t, l7test.New(t, 1).Serve(func(h *farm.HTTP) {
		h.HeaderRules = farm.HeaderRules{
			RemoveRequest: remove("^A:"), RemoveResponse: remove("^A:"), AddRequest: add("From: farm"), AddResponse: add("From: farm"),
			ReplaceRequest:  []farm.HeaderReplace{{Header: "^C$", Match: "x", Replace: "xf"}},
			ReplaceResponse: []farm.HeaderReplace{{Header: "^C$", Match: "x", Replace: "xf"}},
		}
	}, own, plain))
	for path, want := range map[string][]string{
		"/own":   {"C: xfs", "From: service"},
		"/plain": {"B: 2", "C: xf", "From: farm"},
	} {
		res := c.Send("GET " + path + " HTTP/1.1\r\nHost: a.test\r\nA: 1\r\nB: 2\r\nC: x\r\n\r\n").Get()
		same(t, path+", request", fields(b.Received()), want...)
		var got []string
		for _, name := range []string{"A", "B", "C", "From"} {
			if v := res.Header.Values(name); len(v) > 0 {
				got = append(got, name+": "+strings.Join(v, "+"))
			}
		}
		same(t, path+", response", got, want...)
	}
}

func TestRemovedFieldsOpenNoSession(t *testing.T) {
	t.Parallel()
	one, two := named(t, "1"), named(t, "2")
	a := l7test.New(t, 1)
	s := sticky(60, one.Addr, two.Addr)
	s.RemoveRequest = remove("^cookie:")
	addr := a.Serve(nil, s)
	came := map[string]bool{}
	for range 4 {
		came[come(t, addr, "me")] = true
	}
	if n, _ := a.Engine.SessionsOf(1).List(10); n != 0 || len(came) != 2 {
		t.Errorf("%d sessions, backends %v: the cookie was seen", n, came)
	}
}

// Sessions use the fields as clients send and get them. Rules apply between the sessions and
// the backend in both directions.
func TestSessionsAreTheClients(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 200 OK\r\nSet-Cookie: SID=in-7; Path=/\r\nContent-Length: 2\r\n\r\nok"))
	a := l7test.New(t, 1)
	s := sticky(60, b.Addr)
	s.ReplaceResponse = []farm.HeaderReplace{{Header: "^Set-Cookie$", Match: "SID=in-", Replace: "SID=out-"}}
	s.ReplaceRequest = []farm.HeaderReplace{{Header: "^Cookie$", Match: "SID=out-", Replace: "SID=in-"}}
	addr := a.Serve(nil, s)
	l7test.Dial(t, addr).Send(request()).Get()
	l7test.Dial(t, addr).Send(request("Cookie: SID=out-8")).Get()
	_, list := listed(a.Engine, 1, 10)
	if len(list) != 2 || string(list[0].Key) != "out-7" || string(list[1].Key) != "out-8" {
		t.Errorf("sessions %v", list)
	}
	same(t, "the backend's fields", fields(b.Received()), "Cookie: SID=in-8")
}

func TestRulesLeaveTheFramingAlone(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, web)
	c := l7test.Dial(t, l7test.New(t, 1).Serve(func(h *farm.HTTP) {
		h.RemoveRequest, h.RemoveResponse = remove("."), remove(".")
		h.ReplaceRequest = []farm.HeaderReplace{{Header: ".", Match: ".*", Replace: "0"}}
		h.ReplaceResponse = h.ReplaceRequest
	}, l7test.Service("web", b.Addr)))
	for range 2 {
		res := c.Send("POST / HTTP/1.1\r\nHost: a.test\r\nX: y\r\nContent-Length: 5\r\n\r\nhello").Response("POST")
		if res.StatusCode != 200 || res.Text != "ok" {
			t.Fatalf("got %d %q", res.StatusCode, res.Text)
		}
	}
	if got := b.Received(); !strings.Contains(got, "Host: a.test\r\n") || strings.Count(got, "Content-Length: 5\r\n") != 2 || strings.Contains(got, "X:") {
		t.Errorf("the backend got %q", got)
	}
}

func TestRulesThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]farm.HeaderRules{
		"framing":       {AddRequest: add("Content-Length: 5")},
		"hop by hop":    {AddResponse: add("Connection: close")},
		"twin":          {AddRequest: add("Transfer_Encoding: chunked")},
		"host":          {AddRequest: add("Host: evil")},
		"no colon":      {AddRequest: add("nonsense")},
		"two lines":     {AddResponse: add("A: b\r\nContent-Length: 0")},
		"control byte":  {ReplaceRequest: []farm.HeaderReplace{{Header: "A", Match: "b", Replace: "c\nd"}}},
		"broken name":   {ReplaceResponse: []farm.HeaderReplace{{Header: "(", Match: "b"}}},
		"broken match":  {ReplaceResponse: []farm.HeaderReplace{{Header: "A", Match: "b(?=c)"}}},
		"broken remove": {RemoveRequest: remove("a", "[")},
	} {
		a := l7test.New(t, 1)
		a.Serve(nil, l7test.Service("web", "127.0.0.1:1"))
		f := a.Farm.Clone()
		f.HTTP.HeaderRules = h
		if _, err := a.Engine.Publish(100, &farm.Config{Farms: []farm.Farm{f}}, nil); err == nil {
			t.Errorf("%s: the farm is accepted", name)
		}
		f = a.Farm.Clone()
		f.HTTP.Services[0].HeaderRules = h
		if _, err := a.Engine.Publish(100, &farm.Config{Farms: []farm.Farm{f}}, nil); err == nil {
			t.Errorf("%s: the service is accepted", name)
		}
	}
}

func TestValuesThatGrowWithoutBoundAreRefused(t *testing.T) {
	t.Parallel()
	grow := []farm.HeaderReplace{{Header: "^X$", Match: "(.*)", Replace: strings.Repeat("$1", 20)}}
	long := "X: " + strings.Repeat("x", 5000)
	b := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 200 OK\r\n"+long+"\r\nContent-Length: 2\r\n\r\nok"))
	a := l7test.New(t, 1)
	addr := a.Serve(func(h *farm.HTTP) { h.ReplaceRequest = grow }, l7test.Service("web", b.Addr))
	if res := l7test.Dial(t, addr).Send(request(long)).Get(); res.StatusCode != 431 {
		t.Errorf("a request that grows is answered %d", res.StatusCode)
	}
	if res := l7test.Dial(t, addr).Send(request("X: x")).Get(); res.StatusCode != 200 {
		t.Errorf("a short one is answered %d", res.StatusCode)
	}
	a.Serve(func(h *farm.HTTP) { h.ReplaceRequest, h.ReplaceResponse = nil, grow }, l7test.Service("web", b.Addr))
	if res := l7test.Dial(t, addr).Send(request()).Get(); res.StatusCode != 502 {
		t.Errorf("a response that grows is answered %d", res.StatusCode)
	}
}
