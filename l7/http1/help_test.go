package http1_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l7/http1"
)

// lf converts LF to CRLF.
func lf(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }

// mustParse parses a complete request head.
func mustParse(t *testing.T, head string) *http1.Request {
	t.Helper()
	r := new(http1.Request)
	n, err := r.Parse([]byte(head))
	if err != nil || n == 0 {
		t.Fatalf("Parse(%q) = %d, %v", head, n, err)
	}
	return r
}

// mustParseResponse parses a complete response head.
func mustParseResponse(t *testing.T, head string) *http1.Response {
	t.Helper()
	r := new(http1.Response)
	n, err := r.Parse([]byte(head))
	if err != nil || n == 0 {
		t.Fatalf("Parse(%q) = %d, %v", head, n, err)
	}
	return r
}

// wantRefusal checks that a request head is refused with want, however it is split.
func wantRefusal(t *testing.T, head string, want *http1.Error) {
	t.Helper()
	n, err := new(http1.Request).Parse([]byte(head))
	if err != want || n != 0 {
		t.Errorf("Parse(%.200q) = %d, %v, want %v", head, n, err, want)
	}
	n, err = parseSplit(new(http1.Request), head, len(head)/64+1)
	if err != want || n != 0 {
		t.Errorf("Parse(%.200q) in pieces = %d, %v, want %v", head, n, err, want)
	}
}

type parser interface {
	Parse([]byte) (int, error)
}

// parseSplit passes head in pieces, each time from a new copy, until the parser returns a
// result.
func parseSplit(p parser, head string, step int) (int, error) {
	for end := min(step, len(head)); ; end = min(end+step, len(head)) {
		n, err := p.Parse([]byte(head[:end]))
		if n != 0 || err != nil || end == len(head) {
			return n, err
		}
	}
}

// summary returns the complete interpretation of a request.
func summary(r *http1.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s 1.%d %s", r.Method.Of(r.Buf), r.Path, r.Host, r.Minor, r.Verb)
	fmt.Fprintf(&b, " cl=%d chunked=%v ka=%v up=%v ex=%v te=%v", r.ContentLength, r.Chunked, r.KeepAlive, r.Upgrade, r.Expect100, r.TETrailers)
	for i := range r.NumFields {
		f := &r.Fields[i]
		fmt.Fprintf(&b, "\n%s: %s %d %v", r.Name(i), r.Value(i), f.Known, f.Dropped())
	}
	return b.String()
}
