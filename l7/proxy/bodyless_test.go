package proxy_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// bodyless are responses that end with their head by definition (RFC 9112 section 6.3), from
// backends that announce or send a body nevertheless.
var bodyless = map[string]struct {
	method, says string
	status       int
	kept         bool // the connection is reusable
}{
	"204, chunked":                {"GET", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", 204, false},
	"204, last chunk":             {"GET", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 204, false},
	"204, chunks":                 {"DELETE", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", 204, false},
	"204, chunked in HTTP/1.0":    {"GET", "HTTP/1.0 204 No Content\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n", 204, false},
	"204, counted":                {"PUT", "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok", 204, false},
	"204, counted without a body": {"GET", "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n", 204, false},
	"204, length 0":               {"GET", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", 204, true},
	"204, length and chunked":     {"GET", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n", 204, false},
	"204, malformed length":       {"GET", "HTTP/1.1 204 No Content\r\nContent-Length: none\r\n\r\n", 204, false},
	"304, chunked":                {"GET", "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 304, false},
	"304, counted":                {"GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\n\r\n", 304, true},
	"304, two lengths":            {"GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 304, false},
	"HEAD, chunked":               {"HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 200, true},
	"HEAD, last chunk":            {"HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200, false},
	"HEAD, counted":               {"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", 200, true},
	"HEAD, length and chunked":    {"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", 200, false},
	"HEAD, unknown coding":        {"HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", 200, false},
	"103, counted":                {"GET", "HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", 204, false},
	"100, chunked":                {"GET", "HTTP/1.1 100 Continue\r\nTransfer-Encoding: chunked\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", 204, false},
}

// serves starts an appliance and a backend that sends says to each request.
func serves(t *testing.T, says string) (a *l7test.Appliance, b *l7test.Backend, addr string) {
	b = l7test.NewBackend(t, l7test.Answer(says))
	a = l7test.New(t, 1)
	return a, b, a.Serve(nil, l7test.Service("web", b.Addr))
}

// connections returns the number of backend connections for n exchanges, depending on reuse.
func connections(kept bool, n int) int {
	if kept {
		return 1
	}
	return n
}

func TestResponseWithoutABodyEndsWithItsHead(t *testing.T) {
	for name, c := range bodyless {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, b, addr := serves(t, c.says)
			client := l7test.Dial(t, addr)
			for range 3 {
				res := client.Send(req(c.method+" / HTTP/1.1", "")).Response(c.method)
				for res.StatusCode < 200 {
					res = client.Response(c.method)
				}
				if res.StatusCode != c.status || res.Text != "" {
					t.Fatalf("got %s, body %q", res.Status, res.Text)
				}
			}
			if got, want := b.Accepted(), connections(c.kept, 3); got != want {
				t.Errorf("%d connections to the backend, want %d", got, want)
			}
		})
	}
}

func TestStreamWithoutABodyEndsWithItsHead(t *testing.T) {
	for name, c := range bodyless {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, b, addr := serves(t, c.says)
			p := l7test.DialFrames(t, addr)
			for id := uint32(1); id <= 5; id += 2 {
				p.Ask(id, true, c.method, "/")
				got := p.Next()
				for strings.Contains(got, "HEADERS 1") {
					got = p.Next()
				}
				if got != fmt.Sprintf("%d HEADERS %d end", id, c.status) {
					t.Fatalf("got %q", got)
				}
			}
			if got, want := b.Accepted(), connections(c.kept, 3); got != want {
				t.Errorf("%d connections to the backend, want %d", got, want)
			}
		})
	}
}

// Responses to HTTP/1.0 clients have no Transfer-Encoding. This includes bodyless ones.
func TestOldClientGetsNoTransferEncoding(t *testing.T) {
	t.Parallel()
	for name, c := range bodyless {
		_, _, addr := serves(t, c.says)
		got := l7test.Dial(t, addr).Send(req(c.method+" / HTTP/1.0", "")).Rest()
		if !strings.HasPrefix(got, fmt.Sprint("HTTP/1.1 ", c.status)) || strings.Contains(got, "Transfer-Encoding") || !strings.HasSuffix(got, "\r\n\r\n") {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// The body of such a response may arrive when the connection would already serve another
// client, which must never get it.
func TestLateBodyOfAResponseWithoutOneReachesNobody(t *testing.T) {
	const stolen = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen"
	for name, c := range bodyless {
		if c.kept || strings.HasPrefix(name, "1") || !strings.HasSuffix(c.says, "\r\n\r\n") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answered, first := make(chan bool), true
			b := l7test.NewBackend(t, func(r *l7test.Recorder) {
				if _, err := r.Head(); err != nil {
					return
				}
				if !first {
					r.Say(ok)
					return
				}
				first = false
				r.Say(c.says)
				<-answered
				r.Say(stolen)
			})
			a := l7test.New(t, 1)
			addr := a.Serve(func(h *farm.HTTP) {}, l7test.Service("web", b.Addr))
			if res := l7test.Dial(t, addr).Send(req(c.method+" / HTTP/1.1", "")).Response(c.method); res.StatusCode != c.status {
				t.Fatal(res.Status)
			}
			release := held(a)
			client := l7test.Dial(t, addr).Send(get("/"))
			close(answered)
			release()
			if res := client.Get(); res.Text != "ok" {
				t.Errorf("got %q", res.Text)
			}
		})
	}
}

// A failed attempt leaves no connection behind that may still receive a body.
func TestRetriedResponseWithoutABodyLeavesNoConnection(t *testing.T) {
	t.Parallel()
	bad := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 503 No\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n"))
	good := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"))
	a := l7test.New(t, 1)
	addr := a.Serve(nil, retrying(on("503"), bad.Addr, good.Addr))
	for range 4 {
		if res := l7test.Dial(t, addr).Send(req("HEAD / HTTP/1.1", "")).Response("HEAD"); res.StatusCode != 200 {
			t.Errorf("got %s", res.Status)
		}
	}
	l7test.Eventually(t, "none is kept", func() bool { return bad.Open() == 0 })
}

func TestResponseWithoutABodyOfAnHTTP2BackendMayHaveALength(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method string
		status int
	}{{"GET", 204}, {"GET", 304}, {"HEAD", 200}} {
		addr, _ := l7test.NewFrameServer(t, func(h *l7test.FrameServer) {
			for {
				id, _ := h.Request()
				if id == 0 {
					return
				}
				h.Head(id, true, strconv.Itoa(c.status), "content-length", "10")
			}
		})
		client := l7test.Dial(t, l7test.New(t, 1).Serve(nil, l7test.HTTP2Service(false, addr)))
		for range 2 {
			if res := client.Send(req(c.method+" / HTTP/1.1", "")).Response(c.method); res.StatusCode != c.status || res.Text != "" {
				t.Errorf("%s %d: got %s", c.method, c.status, res.Status)
			}
		}
	}
}
