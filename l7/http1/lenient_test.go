package http1_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l7/http1"
)

// Unambiguous deviations allowed for backends but not for clients. The client gets the
// corrected form.

func TestFoldedFieldsOfAnswersBecomeOneLine(t *testing.T) {
	for name, c := range map[string]struct{ head, value, written string }{
		"a blank":         {"A: b\r\n c\r\nX: y", "b c", "A: b c  \r\nX: y"},
		"a tab, blanks":   {"A: b \r\n\t  c \t\r\nX: y", "b c", "A: b c       \r\nX: y"},
		"twice":           {"A: b\r\n c\r\n d\r\nX: y", "b c d", "A: b c d    \r\nX: y"},
		"nothing before":  {"A:\r\n c\r\nX: y", "c", "A: c  \r\nX: y"},
		"nothing after":   {"A: b\r\n \r\nX: y", "b", "A: b   \r\nX: y"},
		"nothing at all":  {"A:\r\n\t\r\nX: y", "", "A:   \r\nX: y"},
		"looks like more": {"A: b\r\n C: d\r\nX: y", "b C: d", "A: b C: d  \r\nX: y"},
	} {
		t.Run(name, func(t *testing.T) {
			head := "HTTP/1.1 200 OK\r\n" + c.head + "\r\n\r\n"
			for step := 1; step <= len(head); step++ {
				r := new(http1.Response)
				n := parseGrowing(t, r, head, step)
				if got := string(http1.AppendResponse(nil, r, &http1.ResponseOptions{})); n != len(head) || r.NumFields != 2 ||
					string(r.Value(0)) != c.value || got != "HTTP/1.1 200 OK\r\n"+c.written+"\r\n\r\n" {
					t.Fatalf("steps of %d: %d bytes, %d fields, %q, written %q", step, n, r.NumFields, r.Value(0), got)
				}
			}
		})
	}
}

func TestAFoldedFieldThatFramesDecides(t *testing.T) {
	r := mustParseResponse(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n chunked\r\n\r\n")
	if !r.Chunked {
		t.Error("a folded Transfer-Encoding is not seen")
	}
	got := string(http1.AppendResponse(nil, r, &http1.ResponseOptions{}))
	if got != "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" {
		t.Errorf("written %q, want %q", got, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
	}
}

// parseGrowing passes head in pieces in one buffer.
func parseGrowing(t *testing.T, r *http1.Response, head string, step int) int {
	t.Helper()
	b := make([]byte, 0, len(head))
	for {
		b = append(b, head[len(b):min(len(b)+step, len(head))]...)
		n, err := r.Parse(b)
		if err != nil {
			t.Fatalf("steps of %d: %v", step, err)
		}
		if n > 0 || len(b) == len(head) {
			return n
		}
	}
}

func TestRepeatedEqualLengthIsAccepted(t *testing.T) {
	for _, fields := range []string{
		"Content-Length: 5\r\ncontent-length: 5", "Content-Length: 5, 5", "Content-Length: 5 ,\t5,5",
		"Content-Length: 5,5\r\nA: b\r\nContent-Length: 5",
	} {
		r := mustParseResponse(t, "HTTP/1.1 200 OK\r\n"+fields+"\r\n\r\n")
		if r.ContentLength != 5 {
			t.Errorf("%q: length %d, want 5", fields, r.ContentLength)
		}
		if got := string(http1.AppendResponse(nil, r, &http1.ResponseOptions{})); strings.Count(got, "ontent-") != 1 || !strings.Contains(got, "Content-Length: 5\r\n") {
			t.Errorf("%q is written %q", fields, got)
		}
	}
}

func TestForbiddenResponseTrailersAreOmitted(t *testing.T) {
	for _, name := range []string{"Content-Length", "Host", "Set-Cookie", "X-Forwarded-For", "Trailer"} {
		body := "5\r\nhello\r\n0\r\nETag: a\r\n" + name + ": 1\r\nServer-Timing: b\r\n\r\n"
		want := result{"5\r\nhello\r\n0\r\nETag: a\r\nServer-Timing: b\r\n\r\n", len(body), true, nil}
		for step := 1; step <= len(body); step++ {
			var c http1.Chunked
			c.Reset(true)
			c.FromBackend(0)
			if r := feed(&c, body, false, func() int { return step }); r != want {
				t.Fatalf("%s, steps of %d: got %+v, want %+v", name, step, r, want)
			}
		}
	}
}

func TestFoldedTrailersOfAnswersBecomeOneLine(t *testing.T) {
	const body = "0\r\nETag: a\r\n b\r\nX-Other: 1\r\n\t2\r\n\r\n"
	var c http1.Chunked
	c.Reset(true)
	c.FromBackend(0)
	if r := feed(&c, body, false, func() int { return 3 }); r != (result{"0\r\nETag: a b\r\nX-Other: 1 2\r\n\r\n", len(body), true, nil}) {
		t.Errorf("%+v", r)
	}
	c.Reset(true)
	c.FromBackend(0)
	if r := feed(&c, "0\r\n a\r\n\r\n", false, func() int { return 3 }); r.err != http1.ErrTrailer {
		t.Errorf("a folded trailer without a previous line: %+v", r)
	}
}

func TestEscapedControlBytesOfAPathStayEscaped(t *testing.T) {
	for target, want := range map[string]string{
		"/a%09":      "/a%09",
		"/%1f%7f%01": "/%1F%7F%01",
	} {
		if r := mustParse(t, "GET "+target+" HTTP/1.1\r\nHost: a\r\n\r\n"); string(r.Path) != want {
			t.Errorf("%s is read as %s", target, r.Path)
		}
	}
}
