package proxy_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// Responses that violate a rule but are unambiguous are delivered, as by other proxies.
func TestAnswersWithOneReadingAreDelivered(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\n"
	for name, c := range map[string]struct{ method, says, want string }{
		"one length in two lines": {"GET", head + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nok", head + "Content-Length: 2\r\n\r\nok"},
		"one length in a list":    {"GET", head + "Content-Length: 2, 2\r\n\r\nok", head + "Content-Length: 2\r\n\r\nok"},
		"folded field":            {"GET", head + "X: a\r\n b\r\nContent-Length: 2\r\n\r\nok", head + "X: a b  \r\nContent-Length: 2\r\n\r\nok"},
		"forbidden trailer": {"GET", head + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nContent-Length: 9\r\nETag: x\r\n\r\n",
			head + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nETag: x\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := l7test.NewBackend(t, l7test.Answer(c.says))
			a := l7test.New(t, 1)
			client := l7test.Dial(t, a.Serve(nil, l7test.Service("web", b.Addr)))
			for range 2 {
				client.Send(req(c.method+" / HTTP/1.1", ""))
				got := make([]byte, len(c.want))
				if _, err := io.ReadFull(client, got); err != nil || string(got) != c.want {
					t.Fatalf("the client got %q, %v, want %q", got, err, c.want)
				}
			}
			if n := b.Accepted(); n != 1 {
				t.Errorf("%d connections to the backend, want 1 kept", n)
			}
			if s := a.Segment.SumBackend(1); s.BadResponses != 0 {
				t.Errorf("%d bad answers counted", s.BadResponses)
			}
		})
	}
}

func TestBytesBehindAnAnswerAreNobodys(t *testing.T) {
	const second = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen"
	for name, c := range map[string]struct{ method, says, want string }{
		"a second answer":         {"GET", ok + second, "ok"},
		"behind the last chunk":   {"GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n" + second, "ok"},
		"a body behind a HEAD":    {"HEAD", ok, ""},
		"a body of no content":    {"GET", "HTTP/1.1 204 No Content\r\n\r\n" + second, ""},
		"a body of an old answer": {"GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\nok", ""},
	} {
		for _, retry := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				b := l7test.NewBackend(t, l7test.Answer(c.says))
				a := l7test.New(t, 1)
				s := l7test.Service("web", b.Addr)
				if retry {
					s = retrying([]farm.RetryCondition{"503"}, b.Addr)
				}
				client := l7test.Dial(t, a.Serve(nil, s))
				for range 3 {
					res := client.Send(req(c.method+" / HTTP/1.1", "")).Response(c.method)
					if res.StatusCode == http.StatusBadGateway || res.Text != c.want {
						t.Fatalf("answer %d %q", res.StatusCode, res.Text)
					}
				}
				if n := b.Accepted(); n != 3 {
					t.Errorf("%d connections to the backend, want one for each answer", n)
				}
				if n := a.Segment.SumBackend(1).BadResponses; n != 3 {
					t.Errorf("%d bad answers counted, want 3", n)
				}
			})
		}
	}
}

func TestAFailedTryWithBytesBehindItIsRetried(t *testing.T) {
	t.Parallel()
	bad, good := l7test.NewBackend(t, l7test.Answer(sorry+"more")), l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	addr := a.Serve(nil, retrying(on("503"), bad.Addr, good.Addr))
	for range 4 {
		if res := answerTo(t, addr, get("/")); res.Text != "ok" {
			t.Errorf("answer %d %q", res.StatusCode, res.Text)
		}
	}
	a.Serve(nil, retrying(on("503"), bad.Addr, bad.Addr))
	if rest := l7test.Dial(t, addr).Send(req("GET / HTTP/1.1", "Connection: close\r\n")).Rest(); !strings.HasSuffix(rest, "\r\n\r\nsorry") {
		t.Errorf("the client got %q", rest)
	}
	if bad.Open() > 0 {
		l7test.Eventually(t, "no connection with bytes left is kept", func() bool { return bad.Open() == 0 })
	}
}

func TestACodingOfARequestThatIsNotKnownIs501(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	addr := a.Serve(nil, l7test.Service("web", b.Addr))
	for coding, want := range map[string]int{"gzip, chunked": 501, "chunked, gzip": 400, "xchunked": 400} {
		if res := answerTo(t, addr, req("POST / HTTP/1.1", "Transfer-Encoding: "+coding+"\r\n")+"0\r\n\r\n"); res.StatusCode != want || !res.Close {
			t.Errorf("%s: answer %d, closing %v", coding, res.StatusCode, res.Close)
		}
	}
	if s := a.Segment.SumFarm(1); s.BadRequests != 3 || s.BadMethods != 0 {
		t.Errorf("%d bad requests and %d bad methods counted", s.BadRequests, s.BadMethods)
	}
	if b.Accepted() != 0 {
		t.Error("a backend was connected to")
	}
}

func TestEscapedControlBytesGoOnUnlessCheckURLRefusesThem(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	addr := a.Serve(nil, l7test.Service("web", b.Addr))
	if res := answerTo(t, addr, get("/a%1fX:%09b")); res.StatusCode != 200 || !strings.Contains(b.Received(), "GET /a%1fX:%09b HTTP/1.1\r\n") {
		t.Errorf("answer %d, the backend got %q", res.StatusCode, b.Received())
	}
	addr = a.Serve(func(h *farm.HTTP) { h.CheckURL = `^([^%]|%[^01])*$` }, l7test.Service("web", b.Addr))
	if res := answerTo(t, addr, get("/a%1fX:%09b")); res.StatusCode != 400 {
		t.Errorf("checkurl: answer %d", res.StatusCode)
	}
}
