package http1_test

import (
	"fmt"
	"testing"

	"github.com/sluicelb/sluice/l7/http1"
)

func TestParseReadsATypicalResponse(t *testing.T) {
	r := mustParseResponse(t, typicalResponse+"body")
	if r.Len != len(typicalResponse) || r.Status != 200 || string(r.Reason.Of(r.Buf)) != "OK" || r.Minor != 1 ||
		r.NumFields != 8 || r.ContentLength != 128 || r.Chunked || !r.KeepAlive || r.Upgrade || r.Find(http1.KnownLocation) != -1 {
		t.Errorf("%+v", r)
	}
	if i := r.Find(http1.KnownServer); i != 0 || string(r.Value(i)) != "nginx/1.26.2" {
		t.Errorf("Server is field %d", i)
	}
}

func TestResponseParsesTheSameInAnyPieces(t *testing.T) {
	for _, head := range []string{typicalResponse, "HTTP/1.0 404\r\n\r\n", "HTTP/1.1 301 \r\nLocation: /\r\nContent-Location: b\r\n\r\n"} {
		whole := mustParseResponse(t, head)
		for step := 1; step < len(head); step++ {
			r := new(http1.Response)
			if n, err := parseSplit(r, head, step); n != len(head) || err != nil {
				t.Fatalf("steps of %d: %d, %v", step, n, err)
			}
			if a, b := fmt.Sprintf("%+v", r), fmt.Sprintf("%+v", whole); len(a) != len(b) || r.Status != whole.Status ||
				r.NumFields != whole.NumFields || r.Reason != whole.Reason || r.ContentLength != whole.ContentLength ||
				r.Find(http1.KnownLocation) != whole.Find(http1.KnownLocation) || r.Find(http1.KnownContentLocation) != whole.Find(http1.KnownContentLocation) {
				t.Errorf("steps of %d: %s, want %s", step, a, b)
			}
		}
	}
}

func TestStatusLinesAreReadAndWritten(t *testing.T) {
	for line, want := range map[string]string{
		"HTTP/1.1 200 OK":               "HTTP/1.1 200 OK",
		"HTTP/1.0 404 Not Found":        "HTTP/1.1 404 Not Found",
		"HTTP/1.1 599 ":                 "HTTP/1.1 599 ",
		"HTTP/1.1 200":                  "HTTP/1.1 200 ",
		"HTTP/1.0 200":                  "HTTP/1.1 200 ",
		"HTTP/1.1 200 a\tb \xe9":        "HTTP/1.1 200 a\tb \xe9",
		"HTTP/1.1 100 Continue":         "HTTP/1.1 100 Continue",
		"HTTP/1.0 299 HTTP/1.1 200 Two": "HTTP/1.1 299 HTTP/1.1 200 Two",
	} {
		r := mustParseResponse(t, line+"\r\nA: b\r\n\r\n")
		if got := string(http1.AppendResponse(nil, r, &http1.ResponseOptions{})); got != want+"\r\nA: b\r\n\r\n" {
			t.Errorf("%q is written %q", line, got)
		}
	}
}

func TestBodyOfAResponse(t *testing.T) {
	for _, c := range []struct {
		status int
		fields string
		head   bool
		want   http1.Body
	}{
		{200, "", false, http1.BodyUntilClose},
		{200, "Content-Length: 5\n", false, http1.BodyLength},
		{200, "Content-Length: 0\n", false, http1.BodyNone},
		{200, "Transfer-Encoding: chunked\n", false, http1.BodyChunked},
		{200, "", true, http1.BodyNone},
		{200, "Content-Length: 5\n", true, http1.BodyNone},
		{200, "Transfer-Encoding: chunked\n", true, http1.BodyNone},
		{304, "Content-Length: 5\n", false, http1.BodyNone},
		{304, "", false, http1.BodyNone},
		{204, "", false, http1.BodyNone},
		{204, "Content-Length: 0\n", false, http1.BodyNone},
		{100, "", false, http1.BodyNone},
		{404, "", false, http1.BodyUntilClose},
	} {
		r := mustParseResponse(t, lf(fmt.Sprintf("HTTP/1.1 %d X\n%s\n", c.status, c.fields)))
		if got, err := r.Body(c.head); got != c.want || err != nil {
			t.Errorf("%+v: got %v, %v, want %v", c, got, err, c.want)
		}
	}
}

func TestResponseKeepAliveFollowsVersionAndOptions(t *testing.T) {
	for head, want := range map[string]bool{
		"HTTP/1.1 200 OK\n\n":                                       true,
		"HTTP/1.1 200 OK\nConnection: close\n\n":                    false,
		"HTTP/1.0 200 OK\n\n":                                       false,
		"HTTP/1.0 200 OK\nConnection: keep-alive\n\n":               true,
		"HTTP/1.1 200 OK\nConnection: a, b\nConnection: Close\n\n":  false,
		"HTTP/1.0 200 OK\nKeep-Alive: timeout=5\nConnection: x\n\n": false,
	} {
		if r := mustParseResponse(t, lf(head)); r.KeepAlive != want {
			t.Errorf("%q: got %v, want %v", head, r.KeepAlive, want)
		}
	}
}

// A parser is shared by connections, so a failed or incomplete head must not expose the one
// before it.
func TestFailedHeadClearsThePreviousOne(t *testing.T) {
	var r http1.Response
	for _, next := range []string{"HTTP/1.1 200 OK\nA: b\n\n", "HTTP/1.1 200 OK\r\nA\x01: b\r\n\r\n", "x", "HTTP/1.1 200 OK\r\nA: b\r\n"} {
		if n, err := r.Parse([]byte("HTTP/1.1 200 OK\r\nSet-Cookie: secret\r\n\r\n")); n == 0 || err != nil {
			t.Fatal(n, err)
		}
		if n, err := r.Parse([]byte(next)); n != 0 || r.Buf != nil || r.Len != 0 || r.NumFields > 1 {
			t.Errorf("%q: %d, %v: %q of %d fields is left", next, n, err, r.Buf, r.NumFields)
		}
		r.Reset()
	}
}
