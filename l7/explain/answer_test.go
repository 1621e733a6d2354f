package explain_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

func TestExplanationNamesTheDeviationOfAResponse(t *testing.T) {
	t.Parallel()
	a := l7test.New(t, 1)
	for _, c := range []struct {
		allows farm.Leniency
		lines  []string
		head   string
	}{
		{"repeated_chunked", []string{"Transfer-Encoding: chunked", "Transfer-Encoding: chunked"}, "HTTP/1.1 200 OK|Transfer-Encoding: chunked"},
		{"status_range", []string{"HTTP/1.1 700 Odd"}, "HTTP/1.1 700 Odd"},
		{"name_blanks", []string{"A : b"}, "HTTP/1.1 200 OK|A:  b"},
	} {
		s := l7test.Service("web", "127.0.0.1:1")
		a.Serve(nil, s)
		q := &explain.Question{Farm: 1, URL: "/", Answer: c.lines}
		e, err := a.Engine.Explain(q)
		if err != nil || e.Result.Status != 502 || e.Result.Step != "response" || !strings.Contains(e.Result.Reason, "(backend_leniency: "+string(c.allows)+")") {
			t.Errorf("%q: %+v, %v", c.lines, e.Result, err)
		}
		s.Leniency = []farm.Leniency{c.allows}
		a.Serve(nil, s)
		if e, err = a.Engine.Explain(q); err != nil || e.Result.Status != 0 || strings.Join(e.AnswerHead, "|") != c.head {
			t.Errorf("%q with %s: %+v, %q, %v", c.lines, c.allows, e.Result, e.AnswerHead, err)
		}
	}
}

func TestExplanationShowsResponseRules(t *testing.T) {
	t.Parallel()
	s := l7test.Service("web", "127.0.0.1:1")
	s.ReplaceResponse = []farm.HeaderReplace{{Header: "^Via$", Match: "in", Replace: "out"}}
	s.AddResponse = l7test.Add("X-From: web")
	a := l7test.New(t, 1)
	a.Serve(func(h *farm.HTTP) {
		h.RemoveResponse = l7test.Remove("^none", "^Server:")
		h.ReplaceResponse = []farm.HeaderReplace{{Header: "^Via$", Match: "out", Replace: "end"}}
		h.AddResponse = l7test.Add("X-From: farm")
	}, s)
	ask := func(lines ...string) (*explain.Explanation, error) {
		return a.Engine.Explain(&explain.Question{Farm: 1, URL: "/", Answer: lines})
	}
	e, err := ask("HTTP/1.1 404 Not Found", "Server: Apache", "Via: in", "Set-Cookie: a=b")
	if err != nil {
		t.Fatal(err)
	}
	want := []explain.Change{
		{Kind: "remove-header", Owner: "farm", Rule: 1, Header: "Server", Before: "Apache"},
		{Kind: "replace-header", Owner: "service", Rule: 0, Header: "Via", Before: "in", After: "out"},
		{Kind: "replace-header", Owner: "farm", Rule: 0, Header: "Via", Before: "out", After: "end"},
		{Kind: "add-header", Owner: "service", Rule: 0, Header: "X-From", After: "web"},
	}
	if !slices.Equal(e.AnswerChanges, want) || len(e.Changes) != 0 {
		t.Errorf("got %+v, and of the request %+v", e.AnswerChanges, e.Changes)
	}
	if got, want := strings.Join(e.AnswerHead, "|"), "HTTP/1.1 404 Not Found|Via: end|Set-Cookie: ***|X-From: web"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if e, err := ask("A: b"); err != nil || !slices.Equal(e.AnswerHead, []string{"HTTP/1.1 200 OK", "A: b", "X-From: web"}) {
		t.Errorf("without a status line: %+v, %v", e, err)
	}
	if e, err := ask(); err != nil || e.AnswerHead != nil || e.AnswerChanges != nil {
		t.Errorf("without a response in the question: %+v, %v", e, err)
	}
	for _, lines := range [][]string{{"no field"}, {"HTTP/9"}, {""}, {"A: b", ""}, {"A: b\nC: d"}, make([]string, explain.MaxHeaders+1)} {
		if e, err := ask(lines...); err == nil {
			t.Errorf("%.50q is explained: %+v", fmt.Sprint(lines), e)
		}
	}
}
