package http1_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l7/http1"
)

// kinds are the two heads, which are to treat their bytes alike.
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

func TestNothingOfAnEarlierHeadIsLeft(t *testing.T) {
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
				t.Errorf("%s after one that was too long: %d, %v", k.name, n, err)
			}
		}
	}
}
