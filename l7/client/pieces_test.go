package client_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// inPieces sends text in parts of size bytes, each after the loop has read the previous one.
func inPieces(a *l7test.Appliance, c *l7test.Client, text string, size int) {
	for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
		c.Send(rest[:min(size, len(rest))])
		a.Turn()
		a.Turn()
	}
}

// Consecutive requests are split correctly wherever the network splits them, whether
// forwarded or not.
func TestRequestsAreTheSameInPiecesOfAnySize(t *testing.T) {
	t.Parallel()
	const host = "Host: a.test\r\n"
	const requests = "GET /1 HTTP/1.1\r\n" + host + "\r\n" +
		"GET /old/1 HTTP/1.1\r\n" + host + "\r\n" +
		"POST /2 HTTP/1.1\r\n" + host + "Content-Length: 10\r\n\r\nGET / HTTP" +
		"GET /old/2 HTTP/1.1\r\n" + host + "\r\n" + "GET /old/3 HTTP/1.1\r\n" + host + "\r\n" +
		"POST /3 HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n" +
		"\r\nGET /4 HTTP/1.1\r\n" + host + "Connection: close\r\n\r\n"
	for _, size := range []int{1, 2, 13, 64, 10000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			b := l7test.NewBackend(t, func(c *l7test.Recorder) {
				for {
					head, err := c.Head()
					if err != nil {
						return
					}
					switch {
					case strings.HasPrefix(head, "POST /2"):
						_, _ = io.CopyN(io.Discard, c, 10)
					case strings.HasPrefix(head, "POST /3"):
						_, _ = io.CopyN(io.Discard, c, int64(len("4\r\nbody\r\n0\r\n\r\n")))
					}
					path := strings.Fields(head)[1]
					c.Say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + path)
				}
			})
			a := l7test.New(t, 1)
			moved := farm.Service{ID: 2, Name: "moved", URL: "^/old", Redirect: "http://new.test/", RedirectType: farm.RedirectAppend}
			c := l7test.Dial(t, a.Serve(nil, moved, l7test.Service("web", b.Addr)))
			inPieces(a, c, requests, size)
			for _, want := range []string{"/1", "http://new.test/old/1", "/2", "http://new.test/old/2", "http://new.test/old/3", "/3", "/4"} {
				res := c.Get()
				got := res.Text
				if res.StatusCode == 302 {
					got = res.Header.Get("Location")
				}
				if got != want {
					t.Fatalf("answered %s %q, want %q", res.Status, got, want)
				}
			}
			if rest := c.Rest(); rest != "" {
				t.Errorf("more is answered: got %q, want \"\"", rest)
			}
			received := b.Received()
			if strings.Count(received, " HTTP/1.1\r\n") != 4 || !strings.Contains(received, "\r\n\r\nGET / HTTPPOST /3 ") || !strings.Contains(received, "\r\n\r\n4\r\nbody\r\n0\r\n\r\nGET /4 ") {
				t.Errorf("the backend got %q", received)
			}
			l7test.Eventually(t, "the connection has gone", func() bool { return a.Segment.SumFarm(1).Established == 0 })
			f := a.Segment.SumFarm(1)
			if f.Requests != 7 || f.Redirects != 3 || f.Connections != 1 || f.BytesIn != uint64(len(requests)) {
				t.Errorf("counted %+v", f)
			}
		})
	}
}

// After a generated response, idle connections time out as usual.
func TestIdleClientAfterGeneratedResponseIsClosed(t *testing.T) {
	t.Parallel()
	for _, size := range []int{10, 1000} {
		a := l7test.New(t, 1)
		c := l7test.Dial(t, a.Serve(func(h *farm.HTTP) { h.RequestTimeout = 20 }, farm.Service{ID: 1, Name: "moved", Redirect: "http://new.test/"}))
		for range 2 {
			inPieces(a, c, get("/"), size)
			if res := c.Get(); res.StatusCode != 302 {
				t.Fatal(res.Status)
			}
			enginetest.Advance(a.Loops[0], 15*time.Second)
		}
		enginetest.Advance(a.Loops[0], 10*time.Second)
		if rest := c.Rest(); rest != "" || a.Segment.SumFarm(1).Timeouts != 0 {
			t.Errorf("it gets %q; %d time-outs", rest, a.Segment.SumFarm(1).Timeouts)
		}
	}
}

// The timeout of a head starts with its first byte and is not extended by later ones.
func TestHeadThatDripsInHasTheTimeOfOne(t *testing.T) {
	t.Parallel()
	a := l7test.New(t, 1)
	c := l7test.Dial(t, a.Serve(func(h *farm.HTTP) { h.RequestTimeout = 20 }, l7test.Service("web", "127.0.0.1:1")))
	l7test.Eventually(t, "it is in", func() bool { inPieces(a, c, "G", 1); return a.Segment.SumFarm(1).Connections == 1 })
	for range 5 {
		enginetest.Advance(a.Loops[0], 3*time.Second)
		inPieces(a, c, "E", 1)
	}
	if n := a.Segment.SumFarm(1).Timeouts; n != 0 {
		t.Error("it is given up after 15 seconds")
	}
	for range 2 {
		enginetest.Advance(a.Loops[0], 3*time.Second)
	}
	l7test.Eventually(t, "it is given up", func() bool { return a.Segment.SumFarm(1).Timeouts == 1 })
	if res := c.Get(); res.StatusCode != 408 {
		t.Error(res.Status)
	}
}
