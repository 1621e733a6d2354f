package proxy_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/sluicelb/sluice/core/doh"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// echoes responds with the query, in the memory of the loop.
type echoes struct {
	space []byte
	what  doh.Outcome

	private bool
	mu      sync.Mutex
	from    netip.AddrPort
	farm    string
}

func (e *echoes) AnswerHTTPS(_ int, farm string, msg []byte, from netip.AddrPort) (doh.Answer, doh.Outcome) {
	e.mu.Lock()
	e.from, e.farm = from, farm
	e.mu.Unlock()
	e.space = append(append(e.space[:0], "re:"...), msg...)
	return doh.Answer{Message: e.space, Fresh: 42, Private: e.private}, e.what
}

// asksNames is a service backed by a gslb farm.
var asksNames = farm.Service{ID: 1, Name: "doh", URL: "^/dns-query", DNSFarm: "names"}

func resolving(t testing.TB, what doh.Outcome) (*l7test.Appliance, *echoes) {
	a, e := l7test.New(t, 1), &echoes{what: what}
	a.Engine.AnswerNames(e)
	return a, e
}

func query64(msg string) string {
	return "/dns-query?x=1&dns=" + base64.RawURLEncoding.EncodeToString([]byte(msg))
}

func TestDNSQueriesOverHTTPSAreAnswered(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(protocol, func(t *testing.T) {
			a, e := resolving(t, doh.Answered)
			addr := a.Serve(logs, asksNames)
			c := &http.Client{Transport: &http.Transport{}}
			if protocol == "HTTP/2.0" {
				c = l7test.HTTP2Client(t, addr, false)
			}
			defer c.CloseIdleConnections()
			records := l7test.RecordsOf(t, a)
			large := strings.Repeat("m", doh.MaxMessage)
			for _, ask := range []struct {
				method, path, body, kind string
				chunked                  bool
				want                     string
			}{
				{method: "GET", path: query64("q"), want: "re:q"},
				{method: "HEAD", path: query64("q")},
				{method: "GET", path: "/dns-query?dns=cQ==", want: "re:q"},
				{method: "POST", path: "/dns-query", body: "question", want: "re:question"},
				{method: "POST", path: "/dns-query", body: "question", chunked: true, kind: "application/dns-message; a=b", want: "re:question"},
				{method: "POST", path: "/dns-query", body: large, want: "re:" + large},
				{method: "POST", path: "/dns-query", body: large, chunked: true, want: "re:" + large},
			} {
				var body io.Reader
				if ask.body != "" {
					if body = strings.NewReader(ask.body); ask.chunked {
						body = struct{ io.Reader }{body}
					}
				}
				r, err := http.NewRequest(ask.method, "http://"+addr+ask.path, body)
				if err != nil {
					t.Fatal(err)
				}
				if ask.method == "POST" {
					r.Header.Set("Content-Type", ask.kind)
					if ask.kind == "" {
						r.Header.Set("Content-Type", "application/dns-message")
					}
				}
				res, err := c.Do(r)
				if err != nil {
					t.Fatalf("%s %s: %v", ask.method, ask.path, err)
				}
				text, _ := io.ReadAll(res.Body)
				_ = res.Body.Close()
				if res.StatusCode != 200 || string(text) != ask.want || res.Proto != protocol ||
					res.Header.Get("Content-Type") != "application/dns-message" || res.Header.Get("Cache-Control") != "max-age=42" {
					t.Errorf("%s %s, %d bytes: %s %v, %d bytes", ask.method, ask.path, len(ask.body), res.Status, res.Header, len(text))
				}
				e.mu.Lock()
				if e.farm != "names" || e.from.Addr() != netip.MustParseAddr("127.0.0.1") || e.from.Port() == 0 {
					t.Errorf("query to %s, from %v", e.farm, e.from)
				}
				e.mu.Unlock()
				if rec := records.Next(); rec.Status != 200 || rec.Backend != 0 || rec.Service == 0 {
					t.Errorf("record %+v", rec)
				}
			}
		})
	}
}

func TestInvalidDNSQueriesAreRefused(t *testing.T) {
	t.Parallel()
	const post = "POST /dns-query HTTP/1.1\r\nHost: a.test\r\n"
	const typed = post + "Content-Type: application/dns-message\r\n"
	for name, c := range map[string]struct {
		request string
		what    doh.Outcome
		status  int
		says    string
		closes  bool
	}{
		"nothing":         {get("/dns-query"), 0, 400, "base64url (RFC 8484)", false},
		"another name":    {get("/dns-query?xdns=cQ"), 0, 400, "base64url (RFC 8484)", false},
		"not encoded":     {get("/dns-query?dns=a+b/"), 0, 400, "is not base64url", false},
		"no body":         {typed + "Content-Length: 0\r\n\r\n", 0, 400, "as POST with a body", false},
		"no type":         {post + "Content-Length: 1\r\n\r\nq", 0, 415, "application/dns-message", false},
		"another type":    {post + "Content-Type: application/dns-json\r\nContent-Length: 1\r\n\r\nq", 0, 415, "application/dns-message", false},
		"no such type":    {post + "Content-Type: application/dns-messages\r\nContent-Length: 1\r\n\r\nq", 0, 415, "application/dns-message", false},
		"another method":  {"PUT /dns-query HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\n\r\nq", 0, 405, "GET, HEAD or POST", false},
		"too long":        {typed + "Content-Length: 65536\r\n\r\n" + strings.Repeat("x", 65536), 0, 413, "65535", false},
		"no message":      {get(query64("q")), doh.Unreadable, 400, "no message of the DNS", false},
		"too many":        {get(query64("q")), doh.Limited, 429, "too many questions", false},
		"nobody":          {get(query64("q")), doh.Absent, 503, "No names", false},
		"broken chunks":   {typed + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 0, 400, "not valid HTTP", true},
		"broken later on": {typed + "Transfer-Encoding: chunked\r\n\r\n1\r\nq\r\nxyz\r\n", 0, 400, "not valid HTTP", true},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := resolving(t, c.what)
			cl := l7test.Dial(t, a.Serve(func(h *farm.HTTP) { h.Verbs = farm.VerbsExtended }, asksNames))
			res := cl.Send(c.request).Get()
			if res.StatusCode != c.status || !strings.Contains(res.Text, c.says) || res.Close != c.closes {
				t.Errorf("%s, closes %v: %q", res.Status, res.Close, res.Text)
			}
			if !c.closes {
				if res := cl.Send(get(query64("again"))).Get(); c.what == doh.Answered && res.Text != "re:again" {
					t.Errorf("then %s %q", res.Status, res.Text)
				}
			}
		})
	}
}

// A slow body has the usual timeout.
func TestIncompleteDNSQueryTimesOut(t *testing.T) {
	t.Parallel()
	a, _ := resolving(t, doh.Answered)
	addr := a.Serve(func(h *farm.HTTP) { h.RequestTimeout = 1 }, asksNames)
	const head = "POST /dns-query HTTP/1.1\r\nHost: a.test\r\nContent-Type: application/dns-message\r\nContent-Length: 8\r\n\r\n"
	slow := l7test.Dial(t, addr).Send(head + "ques")
	a.Turn()
	if res := slow.Send("tion").Get(); res.Text != "re:question" {
		t.Errorf("%s %q", res.Status, res.Text)
	}
	if res := l7test.Dial(t, addr).Send(head + "ques").Get(); res.StatusCode != 408 {
		t.Errorf("%s", res.Status)
	}
	gone := l7test.Dial(t, addr).Send(head + "ques")
	_ = gone.Close()
	l7test.Eventually(t, "nobody is left", func() bool { return a.Segment.SumFarm(1).ClientAborts == 1 })
}

// A client that has to log in first gets its answer after the login.
func TestDNSQueryWaitsForAuthentication(t *testing.T) {
	t.Parallel()
	a, _ := resolving(t, doh.Answered)
	s := asksNames
	s.Auth = asks(&l7test.Backend{Addr: "127.0.0.1:1"}).Auth
	addr := a.Serve(nil, s)
	const post = "POST /dns-query HTTP/1.1\r\nHost: a.test\r\nContent-Type: application/dns-message\r\nContent-Length: 2\r\n%s\r\n\r\n"
	for i, c := range []struct {
		who    string
		status int
	}{{"X: y", 401}, {login("ali:wrong"), 401}, {login("ali:sesame"), 200}, {login("ali:sesame"), 200}} {
		cl := l7test.Dial(t, addr).Send(fmt.Sprintf(post, c.who))
		if c.status == 200 || i == 1 {
			a.Turn()
			cl.Send("qq")
		}
		if res := cl.Get(); res.StatusCode != c.status || c.status == 200 && res.Text != "re:qq" {
			t.Errorf("%d: %s %q", i, res.Status, res.Text)
		}
	}
}

// Answers that depend on the client may only be cached by that client. The body of a GET is
// not part of the query, whenever it arrives.
func TestPrivateDNSAnswersAreNotCachedByOthers(t *testing.T) {
	t.Parallel()
	a, e := resolving(t, doh.Answered)
	e.private = true
	addr := a.Serve(nil, asksNames)
	if res := l7test.Dial(t, addr).Send(get(query64("q"))).Get(); res.Header.Get("Cache-Control") != "private, max-age=42" {
		t.Errorf("%v", res.Header)
	}
	head := "GET " + query64("q") + " HTTP/1.1\r\nHost: a.test\r\nContent-Length: 4\r\n\r\n"
	for _, c := range []*l7test.Client{l7test.Dial(t, addr).Send(head + "body"), l7test.Dial(t, addr).Send(head)} {
		a.Turn()
		if res := c.Send("body").Get(); res.Text != "re:q" {
			t.Errorf("%s %q", res.Status, res.Text)
		}
	}
}

func FuzzQuestionInAnAddress(f *testing.F) {
	for _, seed := range []string{"dns=cQ", "a=b&dns=cQ==&dns=x", "dns=", "&&dns", "dns=%41", "dns=" + strings.Repeat("A", 2000)} {
		f.Add([]byte(seed))
	}
	a, _ := resolving(f, doh.Answered)
	addr := a.Serve(nil, asksNames)
	f.Fuzz(func(t *testing.T, query []byte) {
		if len(query) > 4000 || bytes.ContainsAny(query, " \r\n\x00#") {
			return
		}
		c := l7test.Dial(t, addr)
		res := c.Send("GET /dns-query?" + string(query) + " HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n").Get()
		if res.StatusCode == 200 && !strings.HasPrefix(res.Text, "re:") || res.StatusCode >= 500 {
			t.Errorf("%q: %s %q", query, res.Status, res.Text)
		}
	})
}
