package explain_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/l7test"
)

// FuzzExplain explains arbitrary requests. Every explanation has an outcome and stays within
// its limits, the same question has the same result, and the backend's head is a single
// valid request.
func FuzzExplain(f *testing.F) {
	for _, seed := range []explain.Question{
		{URL: "/"}, {Method: "POST", URL: "http://a.test/x;y?q=1#z", Headers: []string{"Content-Length: 5", "X-A: 1"}, From: "192.0.2.1"},
		{URL: "https://[::1]:443", From: "::1"}, {URL: "/%2e%2e/x"}, {URL: "*", Method: "OPTIONS"}, {URL: "HTTP://a.test:80?x", Headers: []string{"Host: b", "Cookie: LB=x; SID=1"}},
		{URL: "/\r", Headers: []string{"X: \r", ": ", "Transfer-Encoding: chunked", "Expect: 100-continue"}}, {URL: "//x", Headers: []string{"Connection: close, X-A", "X-A: 1"}},
		{URL: "/old/x", Headers: []string{"Upgrade: websocket", "Connection: upgrade", "Sec-WebSocket-Key: " + l7test.SocketKey, "Authorization: Basic YTpi"}},
	} {
		f.Add(seed.Method, seed.URL, strings.Join(seed.Headers, "\n"), seed.From)
	}
	s := l7test.Service("web", "127.0.0.1:1", "127.0.0.1:2")
	s.HeadDeny, s.Persistence, s.SessionID, s.TTL = []string{"^X-Stop"}, farm.PersistCookie, "SID", 60
	s.Cookie = &farm.CookieInsert{Name: "LB"}
	s.Rewrites = []farm.URLRewrite{{Pattern: "^/old(.*)", Replace: "$1/new"}}
	s.ReplaceRequest = []farm.HeaderReplace{{Header: "^X-", Match: "(.)(.*)", Replace: "$2$1"}}
	moved := farm.Service{ID: 2, Name: "moved", Redirect: "http://${VHOST}/x", RedirectType: farm.RedirectAppend}
	a := l7test.New(f, 1)
	a.Serve(func(h *farm.HTTP) {
		h.RewriteHost, h.RemoveRequest, h.AddRequest = true, l7test.Remove("^X-B"), l7test.Add("X-C: d")
	}, s, moved)
	f.Fuzz(func(t *testing.T, method, url, headers, from string) {
		q := explain.Question{Farm: 1, Method: method, URL: url, From: from}
		if headers != "" {
			q.Headers = strings.Split(headers, "\n")
		}
		e, err := a.Engine.Explain(&q)
		again, errAgain := a.Engine.Explain(&q)
		if (err == nil) != (errAgain == nil) {
			t.Fatalf("%v, then %v", err, errAgain)
		}
		if err != nil {
			return
		}
		if !slices.Contains([]string{explain.Forward, explain.Redirect, explain.Refuse}, e.Result.Outcome) || e.Result.Outcome != again.Result.Outcome || e.Result.Status != again.Result.Status {
			t.Fatalf("%+v, then %+v", e.Result, again.Result)
		}
		if e.Result.Outcome == explain.Refuse && (e.Result.Status < 400 || e.Result.Reason == "" || e.Result.Step == "") {
			t.Fatalf("refused with %+v", e.Result)
		}
		for _, line := range e.Head {
			if len(line) >= explain.MaxText {
				return // truncated
			}
		}
		if e.Result.Outcome == explain.Forward {
			head := []byte(strings.Join(e.Head, "\r\n") + "\r\n\r\n")
			var r http1.Request
			if n, err := r.Parse(head); err != nil || n != len(head) {
				t.Fatalf("the backend would get %q: %d, %v", head, n, err)
			}
		}
	})
}
