package http1_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l7/http1"
)

func TestForbiddenTrailersAreNotAnnounced(t *testing.T) {
	for value, want := range map[string]string{
		"X-Sum":                 "X-Sum",
		"X-Sum, Content-Length": "",
		"Transfer-Encoding":     "",
		"Host":                  "",
		"X_Forwarded_For":       "",
		"Set-Cookie":            "",
		"a b":                   "",
		"X-Sum,@":               "",
		strings.Repeat("n", 63): strings.Repeat("n", 63),
		strings.Repeat("n", 64): "", // Chunked drops such names
		"X-Sum," + strings.Repeat(" ", 249) + "X": "X-Sum," + strings.Repeat(" ", 249) + "X",
		"X-Sum," + strings.Repeat(" ", 250) + "X": "", // exceeds the limit
	} {
		r := mustParse(t, lf("POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\nTrailer: "+value+"\n\n"))
		if got := string(r.Trailers()); got != want {
			t.Errorf("%q: announces %q, want %q", value, got, want)
		}
	}
	r := mustParse(t, lf("POST / HTTP/1.1\nHost: a\nContent-Length: 1\nTrailer: X\n\n"))
	if got := r.Trailers(); got != nil {
		t.Errorf("a counted body announces %q", got)
	}
}

func TestRulesOfHeadsApplyToTrailers(t *testing.T) {
	for block, want := range map[string]string{
		"X-Sum: 1\nX-Out: 2\nServer-Timing:\ta \n\n": "X-Sum: one\nServer-Timing:\ta \n\n",
		"X-Out: 2\n\n":     "",
		"\n":               "",
		"":                 "",
		"X-Sum: 1\n":       "refused",
		"X-Sum: 1\n\nmore": "refused",
		"X Sum: 1\n\n":     "refused",
		"X-Sum: 1\n 2\n\n": "refused",
		strings.Repeat("A: b\n", http1.MaxFields) + "\n":   strings.Repeat("A: b\n", http1.MaxFields) + "\n",
		strings.Repeat("A: b\n", http1.MaxFields+1) + "\n": "refused",
	} {
		var h http1.Head
		got := "refused"
		for range 2 { // leftovers of the first have no effect
			if !h.ParseTrailers([]byte(lf(block))) {
				continue
			}
			if i := h.Lookup("x-out"); i >= 0 {
				h.Remove(i)
			}
			if i := h.Lookup("x-sum"); i >= 0 {
				h.Edit(i, value(t, "one"))
			}
			got = string(h.AppendTrailers([]byte("before")))
		}
		if got != lf(want) && got != "before"+lf(want) {
			t.Errorf("%.40q: got %q, want %q", block, got, want)
		}
	}
}
