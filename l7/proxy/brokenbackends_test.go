package proxy_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/l7/l7test"
)

// held blocks the loop of an appliance until release is called.
func held(a *l7test.Appliance) (release func()) {
	in, out := make(chan struct{}), make(chan struct{})
	a.Loops[0].Post(func() { close(in); <-out })
	<-in
	return func() { close(out) }
}

// A backend that resets a kept connection has not processed requests sent after that, so any
// request may be repeated.
func TestRequestOnAConnectionThatWasResetGoesOnANewOne(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]string{
		"GET": get("/again"), "POST": "POST /again HTTP/1.1\r\nHost: a.test\r\nContent-Length: 4\r\n\r\nbody",
	} {
		conns := make(chan *l7test.Recorder, 9)
		b := l7test.NewBackend(t, func(c *l7test.Recorder) {
			conns <- c
			for {
				head, err := c.Head()
				if err != nil {
					return
				}
				if strings.HasPrefix(head, "POST") {
					_, _ = io.CopyN(io.Discard, c, 4)
				}
				c.Say(ok)
			}
		})
		a := l7test.New(t, 1)
		c := l7test.Dial(t, a.Serve(nil, l7test.Service("web", b.Addr)))
		c.Send(get("/")).Get()
		kept := <-conns
		release := held(a)
		c.Send(request) // the loop sees the request before the reset
		_ = kept.SetLinger(0)
		_ = kept.Close()
		release()
		if res := c.Response(name); res.StatusCode != 200 || res.Text != "ok" {
			t.Errorf("%s: answered %s", name, res.Status)
		}
		s := a.Segment.SumBackend(1)
		var again uint64 // a request that must not be repeated gets the new one at once
		if name == "GET" {
			again = 1
		}
		if s.Connects != 2 || s.Reuses != again || s.Retries != again || s.Requests != 2 || s.Resets != 0 {
			t.Errorf("%s: counted %+v", name, s)
		}
		if !strings.HasSuffix(b.Received(), request[strings.Index(request, "\r\n\r\n"):]) || strings.Count(b.Received(), "/again") != 1 {
			t.Errorf("%s: the backend got %q", name, b.Received())
		}
	}
}

// A fault in handling one backend connection ends that connection. Its exchange responds as
// if the backend had closed it.
func TestConnectionWhoseHandlingFailsCostsItsExchangeOnly(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart"
	for name, c := range map[string]struct {
		says, want, class, line string
	}{
		"before the answer": {"", "HTTP/1.1 502 Bad Gateway\r\n", "cut-answer", `reason="connection ended before the answer"`},
		"within the head":   {head[:20], "HTTP/1.1 502 Bad Gateway\r\n", "cut-answer", `reason="connection ended within the head"`},
		"within the body":   {head, "HTTP/1.1 200 OK\r\n", "cut-answer", `reason="connection ended within the body"`},
		"in a tunnel":       {switches, "HTTP/1.1 101 Switching Protocols\r\n", "", ""},
		"in a connect":      {"", "HTTP/1.1 503 Service Unavailable\r\n", "no-backend", `reason="no backend can be used: `},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := make(chan bool, 9)
			b := l7test.NewBackend(t, func(r *l7test.Recorder) {
				if _, err := r.Head(); err == nil {
					r.Say(c.says)
					said <- true
				}
				_, _ = io.Copy(io.Discard, struct{ io.Reader }{r})
			})
			a := l7test.New(t, 1)
			addr := b.Addr
			if name == "in a connect" {
				addr = porttest.Full(t).String()
			}
			client := l7test.Dial(t, a.Serve(func(h *farm.HTTP) { h.ResurrectTime = 3600 }, l7test.Service("web", addr)))
			client.Send(askTunnel)
			if name == "in a connect" {
				l7test.Eventually(t, "the connect is under way", func() bool { return a.Segment.SumBackend(1).Pending == 1 })
			} else {
				<-said
				a.Turn()
				a.Turn()
			}
			a.Engine.FailBackends()
			_ = client.CloseWrite()
			if got := client.Rest(); !strings.HasPrefix(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			s := a.Segment.SumBackend(1)
			resets := uint64(1)
			if name == "in a connect" {
				resets = 0
			}
			if s.Resets != resets || s.ConnectFailures != 1-resets || s.Established != 0 || s.Pending != 0 || !usable(a, 1) {
				t.Errorf("usable %t, counted %+v", usable(a, 1), s)
			}
			if c.line != "" {
				l7test.Eventually(t, "a line", func() bool { return a.Log.Has("class="+c.class) && a.Log.Has(c.line) })
			}
		})
	}
}

// Bytes after the end of the body are detected wherever the reads are split.
func TestBytesBehindABodyThatComesLaterAreNobodys(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]string{
		"counted": "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world",
		"chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nb\r\nhello world\r\n0\r\n\r\n",
	} {
		a := l7test.New(t, 1)
		b := l7test.NewBackend(t, func(c *l7test.Recorder) {
			for {
				if _, err := c.Head(); err != nil {
					return
				}
				cut := strings.Index(says, "world")
				c.Say(says[:cut])
				a.Turn()
				a.Turn()
				c.Say(says[cut:] + ok)
			}
		})
		c := l7test.Dial(t, a.Serve(nil, l7test.Service("web", b.Addr)))
		for range 2 {
			if res := c.Send(get("/")).Get(); res.Text != "hello world" {
				t.Errorf("%s: got %q", name, res.Text)
			}
		}
		l7test.Eventually(t, "a line", func() bool { return len(a.Log.Lines(`reason="more than was announced"`)) == 2 })
		a.Turn() // the loop counts it in this turn
		if s := a.Segment.SumBackend(1); s.Connects != 2 || s.BadResponses != 2 {
			t.Errorf("%s: counted %+v", name, s)
		}
	}
}

// Exchanges that wait for the same HTTP/2 connection share it. For one of them it counts as
// opened, for the other as reused.
func TestHTTP2ConnectIsCountedForTheExchangeThatOpenedIt(t *testing.T) {
	t.Parallel()
	addr, accepted := l7test.NewFrameServer(t, func(h *l7test.FrameServer) { h.Serve() })
	a := l7test.New(t, 1)
	front := a.Serve(nil, l7test.HTTP2Service(false, addr))
	release := held(a)
	p := l7test.DialFrames(t, front)
	p.Ask(1, true, "GET", "/1")
	p.Ask(3, true, "GET", "/3")
	release()
	for range 4 {
		p.Next()
	}
	if s := a.Segment.SumBackend(1); s.Connects != 1 || s.Reuses != 1 || s.ConnectNanos == 0 || s.ConnectNanos > uint64(time.Minute) || accepted.Load() != 1 {
		t.Errorf("%d connections, counted %+v", accepted.Load(), s)
	}
}

// A protocol violation by an HTTP/2 backend after its response head is logged, and the
// client gets an incomplete response.
func TestBackendOfHTTP2ThatBreaksTheRulesWithinABodyIsCut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		breaks func(h *l7test.FrameServer, id uint32)
		reason string
	}{
		"more than announced": {func(h *l7test.FrameServer, id uint32) { _ = h.WriteData(id, true, []byte("more than ten bytes")) }, "content-length is not the length of the data"},
		"less than announced": {func(h *l7test.FrameServer, id uint32) { _ = h.WriteData(id, true, []byte("less")) }, "content-length is not the length of the data"},
		"bad trailers":        {func(h *l7test.FrameServer, id uint32) { h.Fields(id, true, "Upper", "x") }, "field"},
	} {
		for _, minor := range []int{0, 1} {
			t.Run(fmt.Sprintf("%s, HTTP/1.%d", name, minor), func(t *testing.T) {
				t.Parallel()
				a := l7test.New(t, 1)
				addr, _ := l7test.NewFrameServer(t, func(h *l7test.FrameServer) {
					id, _ := h.Request()
					h.Head(id, false, "200", "content-length", "10")
					_ = h.WriteData(id, false, []byte("part"))
					a.Turn()
					a.Turn()
					c.breaks(h, id)
					h.Serve()
				})
				client := l7test.Dial(t, a.Serve(nil, l7test.HTTP2Service(false, addr))).Send(fmt.Sprintf(expects, minor))
				if got := client.Rest(); !strings.HasSuffix(got, "\r\n\r\npart") {
					t.Errorf("the client got %q", got)
				}
				l7test.Eventually(t, "a line", func() bool { return len(a.Log.Lines("class=bad-answer")) == 1 })
				if s := a.Segment.SumBackend(1); s.BadResponses != 1 || s.Resets != 0 || !a.Log.Has(c.reason) {
					t.Errorf("counted %+v, logged %v", s, a.Log.Lines("class="))
				}
			})
		}
	}
}
