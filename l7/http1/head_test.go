package http1_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l7/http1"
)

// kinds are the two kinds of heads, which treat their bytes alike.
var kinds = []struct {
	name       string
	head, bad  string
	firstLine  string
	newParser  func() parser
	fieldCount func(p parser) int
}{
	{"request", toolRequest, "GET / HTTP/1.1\r\nHost : a\r\n\r\n", "GET / HTTP/1.1\r\n",
		func() parser { return new(http1.Request) }, func(p parser) int { return p.(*http1.Request).NumFields }},
	{"response", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\nA : b\r\n\r\n", "HTTP/1.1 200 OK\r\n",
		func() parser { return new(http1.Response) }, func(p parser) int { return p.(*http1.Response).NumFields }},
}

func TestParserKeepsNothingOfAnEarlierHead(t *testing.T) {
	for _, k := range kinds {
		for name, earlier := range map[string]string{
			"a whole head":        k.firstLine + "Host: other\r\nX-A: 1\r\nX-B: 2\r\n\r\n",
			"a bad head":          k.bad,
			"a bad framing":       k.firstLine + "Host: a\r\nContent-Length: x\r\n\r\n",
			"more than there is":  k.firstLine + "Host: a\r\nX-A: " + strings.Repeat("a", 200),
			"more lines than now": k.firstLine + strings.Repeat("X-A: 1\r\n", 50),
		} {
			p := k.newParser()
			_, _ = parseSplit(p, earlier, 40)
			if n, err := p.Parse([]byte(k.head)); n != len(k.head) || err != nil {
				t.Errorf("%s after %s: %d, %v", k.name, name, n, err)
			}
			if n := k.fieldCount(p); n != 1 {
				t.Errorf("%s after %s: %d fields, want 1", k.name, name, n)
			}
		}
	}
}

func TestHeadMayFillItsLimitAndNotMore(t *testing.T) {
	for _, k := range kinds {
		fill := strings.Repeat("x", http1.MaxHead-len(k.firstLine)-len("Host: a\r\nX: \r\n\r\n"))
		most := k.firstLine + "Host: a\r\nX: " + fill + "\r\n\r\n"
		for _, step := range []int{100, 4096, len(most)} {
			if n, err := parseSplit(k.newParser(), most, step); n != len(most) || err != nil {
				t.Errorf("%s of %d bytes in steps of %d: %d, %v", k.name, len(most), step, n, err)
			}
			p := k.newParser()
			more := strings.Replace(most, "X: ", "X: x", 1)
			if n, err := parseSplit(p, more, step); n != 0 || err != http1.ErrHeadTooLong {
				t.Errorf("%s of %d bytes in steps of %d: %d, %v", k.name, len(more), step, n, err)
			}
			if n, err := p.Parse([]byte(k.head)); n != len(k.head) || err != nil {
				t.Errorf("%s after a head that was too long: %d, %v", k.name, n, err)
			}
		}
	}
}

// A field has the same meaning in every position, including the first, where Host usually
// is.
func TestEveryFieldMayComeFirst(t *testing.T) {
	for _, c := range []struct {
		line  string
		lines []string
	}{
		{"POST / HTTP/1.1", []string{"Host: a", "Upgrade: tcp", "Connection: upgrade", "Content-Length: 2"}},
		{"GET / HTTP/1.1", []string{"Host: a", "Upgrade: websocket", "Connection: upgrade", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="}},
		{"POST / HTTP/1.1", []string{"Host: a", "TE: trailers", "Connection: te"}},
		{"POST / HTTP/1.1", []string{"Host: a", "Expect: 100-continue", "Transfer-Encoding: chunked", "Trailer: X-Sum"}},
		{"POST / HTTP/1.1", []string{"Host: a", "Content-Length: 5", "Connection: close, x-a", "X-A: 1"}},
		{"POST / HTTP/1.1", []string{"Host: a", "X-Forwarded-For: 10.0.0.1", "X-Forwarded-Proto: https", "X-Forwarded-Host: b", "Forwarded: for=10.0.0.1"}},
		{"HTTP/1.1 200 OK", []string{"A: b", "Transfer-Encoding: chunked", "Trailer: X-Sum"}},
		{"HTTP/1.1 200 OK", []string{"A: b", "Content-Length: 5, 5", "Connection: close, x-a", "X-A: 1"}},
		{"HTTP/1.1 101 OK", []string{"A: b", "Upgrade: websocket", "Connection: upgrade"}},
		{"HTTP/1.1 426 OK", []string{"A: b", "Upgrade: websocket", "Connection: upgrade"}},
	} {
		meaning := func(lines []string) string {
			text := c.line + "\r\n" + strings.Join(lines, "\r\n") + "\r\n\r\n"
			var h *http1.Head
			var sent, own string
			if strings.HasPrefix(c.line, "HTTP") {
				r := mustParseResponse(t, text)
				body, err := r.Body(false)
				h, sent, own = &r.Head, string(http1.AppendResponse(nil, r, &http1.ResponseOptions{})), fmt.Sprint(body, err)
			} else {
				r := mustParse(t, text)
				r.Trust()
				h, sent, own = &r.Head, string(http1.AppendRequest(nil, r, forward)), fmt.Sprint(string(r.Host), r.Expect100, r.TETrailers)
			}
			out := strings.Split(sent, "\r\n")
			slices.Sort(out[1:])
			return fmt.Sprintf("%s length %d chunked %t keep %t upgrade %t trailers %q\n%s",
				own, h.ContentLength, h.Chunked, h.KeepAlive, h.Upgrade, h.Trailers(), strings.Join(out, "\n"))
		}
		want := meaning(c.lines)
		for i := range c.lines {
			if got := meaning(slices.Concat(c.lines[i:], c.lines[:i])); got != want {
				t.Errorf("with %q in front: %s\nwant %s", c.lines[i], got, want)
			}
		}
	}
}

func TestHeadsAreLimitedAsDocumented(t *testing.T) {
	got := [...]int{http1.MaxFields, http1.MaxHead, http1.MaxTarget, http1.MaxMethod, http1.MaxHost}
	if want := [...]int{128, 64 << 10, 16 << 10, 32, 255}; got != want {
		t.Errorf("limits %v, want %v", got, want)
	}
}

func TestEveryBeginningOfAHeadAsksForMore(t *testing.T) {
	for _, k := range kinds {
		for _, head := range []string{k.head, strings.Replace(k.head, "HTTP/1.1", "HTTP/1.0", 1), strings.Replace(k.head, " OK", "", 1)} {
			for i := range len(head) {
				if n, err := k.newParser().Parse([]byte(head[:i])); n != 0 || err != nil {
					t.Errorf("%s: %q: got %d, %v, want 0", k.name, head[:i], n, err)
				}
			}
		}
	}
}
