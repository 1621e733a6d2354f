package proxy_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/l7/l7test"
)

const (
	expects = "POST / HTTP/1.%d\r\nHost: a.test\r\nConnection: close\r\nTE: trailers\r\nContent-Length: 0\r\n\r\n"
	hints   = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
)

// pieces is a backend that sends text in parts of size bytes, each after the loop has read
// the previous one.
func pieces(t *testing.T, a *l7test.Appliance, text string, size int) *l7test.Backend {
	return l7test.NewBackend(t, func(c *l7test.Recorder) {
		if _, err := c.Head(); err != nil {
			return
		}
		for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
			c.Say(rest[:min(size, len(rest))])
			a.Turn()
			a.Turn()
		}
		_, _ = io.Copy(io.Discard, struct{ io.Reader }{c})
	})
}

func TestAnswerIsTheSameInPiecesOfAnySize(t *testing.T) {
	t.Parallel()
	const interim = "HTTP/1.1 100 Continue\r\n\r\n" + hints
	const counted = "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world"
	const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: ETag\r\n\r\n5;x=y\r\nhello\r\n6\r\n world\r\n0\r\nETag: \"1\"\r\nSet-Cookie: 1\r\n\r\n"
	for name, says := range map[string]string{"counted": interim + counted, "chunked": interim + chunked} {
		for minor, want := range []string{
			"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello world",
			interim + "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello world",
		} {
			if name == "counted" {
				want = strings.Replace(want, "OK\r\n", "OK\r\nContent-Length: 11\r\n", 1)
			} else if minor == 1 {
				want = interim + "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: ETag\r\nConnection: close\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\nETag: \"1\"\r\n\r\n"
			}
			for _, size := range []int{1, 2, 7, 40, 1000} {
				t.Run(fmt.Sprintf("%s, HTTP/1.%d, %d", name, minor, size), func(t *testing.T) {
					t.Parallel()
					a := l7test.New(t, 1)
					b := pieces(t, a, says, size)
					got := l7test.Dial(t, a.Serve(nil, l7test.Service("web", b.Addr))).Send(fmt.Sprintf(expects, minor)).Rest()
					if got != want {
						t.Errorf("got  %q\nwant %q", got, want)
					}
				})
			}
		}
	}
}

func TestSixteenInterimAnswersArePassedOnAndNoMore(t *testing.T) {
	t.Parallel()
	for n, status := range map[int]string{16: "200 OK", 17: "502 Bad Gateway"} {
		for _, size := range []int{50, 10000} {
			a := l7test.New(t, 1)
			b := pieces(t, a, strings.Repeat(hints, n)+ok, size)
			got := l7test.Dial(t, a.Serve(nil, l7test.Service("web", b.Addr))).Send(fmt.Sprintf(expects, 1)).Rest()
			if !strings.HasPrefix(got, strings.Repeat(hints, 16)+"HTTP/1.1 "+status+"\r\n") {
				t.Errorf("%d: got %q", n, got)
			}
		}
	}
}

// An endless head is refused at the same length for all part sizes, and its read-ahead
// buffer is released.
func TestHeadOfABackendHasItsBoundInPiecesToo(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1000, 1 << 20} {
		a := l7test.New(t, 1)
		b := pieces(t, a, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 70<<10), size)
		c := l7test.Dial(t, a.Serve(nil, l7test.Service("web", b.Addr))).Send(get("/"))
		if res := c.Get(); res.StatusCode != 502 {
			t.Errorf("answered %d", res.StatusCode)
		}
		oneLine(t, a, c, "bad-answer", "head too long", "backend="+b.Addr+" status=502")
	}
}

// A backend can also open a session, by the field that identifies the service's sessions.
func TestSessionOpensWithTheFieldOfAnAnswer(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", 300)
	for _, c := range []struct{ line, key string }{
		{"X-Client: me\r\n", "me"}, {"X-Other: me\r\n", ""}, {"X-Client:\r\n", ""},
		{"x-client: " + long + "\r\n", string(session.AppendKey(nil, []byte(long)))},
	} {
		b := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 200 OK\r\n"+c.line+"Content-Length: 2\r\n\r\nok"))
		s := l7test.Service("web", b.Addr)
		s.Persistence, s.SessionID, s.TTL = farm.PersistHeader, "X-Client", 60
		a := l7test.New(t, 1)
		l7test.Dial(t, a.Serve(nil, s)).Send(get("/")).Get()
		total, list := listed(a.Engine, 1, 9)
		if c.key == "" {
			if total != 0 {
				t.Errorf("%q opened %v", c.line, list)
			}
		} else if total != 1 || string(list[0].Key) != c.key || list[0].Backend != 1 {
			t.Errorf("%q: sessions %v, want one by %q", c.line, list, c.key)
		}
	}
}
