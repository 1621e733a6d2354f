package client_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		for {
			head, err := c.Head()
			if err != nil {
				return
			}
			path := strings.Fields(head)[1]
			c.Say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(path), path))
		}
	})
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr)))
	var all strings.Builder
	for i := range 50 {
		all.WriteString(get(fmt.Sprintf("/%d", i)))
	}
	c.Send(all.String())
	for i := range 50 {
		if res := c.Get(); res.Text != fmt.Sprintf("/%d", i) {
			t.Fatalf("answer %d is %q", i, res.Text)
		}
	}
}

func TestHeadArrivingByteByByteIsServed(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr)))
	for _, ch := range get("/slow") {
		c.Send(string(ch))
		time.Sleep(time.Millisecond)
	}
	if res := c.Get(); res.StatusCode != 200 {
		t.Fatal(res.Status)
	}
}

func TestWebSocketTunnelPassesBytesAndHalfClose(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		head, _ := c.Head()
		c.Say(l7test.AcceptSocket(head) + "hello")
		_, _ = io.Copy(c.TCPConn, c.Unrecorded())
		c.Say("bye")
	})
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr)))
	c.Send(l7test.AskSocket)
	c.Send("ping")
	_ = c.CloseWrite()
	got := c.Rest()
	if !strings.HasPrefix(got, "HTTP/1.1 101 ") || !strings.HasSuffix(got, "hellopingbye") {
		t.Fatalf("got %q", got)
	}
	if !strings.Contains(b.Received(), "Upgrade: websocket\r\n") {
		t.Errorf("the upgrade did not reach the backend: %q", b.Received())
	}
}

func TestSlowHeadGets408(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	addr := a.Serve(func(h *farm.HTTP) { h.RequestTimeout = 1 }, l7test.Service("web", b.Addr))
	c := l7test.Dial(t, addr).Send("GET / HTTP/1.1\r\nHo")
	if res := c.Get(); res.StatusCode != 408 {
		t.Fatalf("got %s, want 408", res.Status)
	}
	if n := a.Segment.SumFarm(1).Timeouts; n != 1 {
		t.Errorf("%d time-outs are counted, want 1", n)
	}
	idle := l7test.Dial(t, addr)
	if rest := idle.Rest(); rest != "" {
		t.Fatalf("a silent connection got %q, want \"\"", rest)
	}
	if b.Accepted() != 0 {
		t.Error("half a request reached a backend")
	}
}

func TestPinnedConnectionsEndWithTheirClients(t *testing.T) {
	t.Parallel()
	b := l7test.NewNamed(t, "1")
	s := l7test.Service("web", b.Addr)
	s.Pinned = true
	addr := l7test.New(t, 1).Serve(func(h *farm.HTTP) { h.RequestTimeout = 1 }, s)
	for range 3 {
		l7test.Dial(t, addr).Send(get("/")).Get()
	}
	if b.Open() != 3 {
		t.Errorf("%d connections are kept, want 3", b.Open())
	}
	l7test.Eventually(t, "they end with their idle clients", func() bool { return b.Open() == 0 })
}

func TestBytesAfterAnUpgradeReachTheTunnel(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		_, _ = c.Head()
		c.Say("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: own\r\n\r\n")
		_, _ = io.Copy(c.TCPConn, c.Unrecorded())
	})
	a := l7test.New(t, 1)
	c := l7test.Dial(t, a.Serve(nil, l7test.Service("web", b.Addr)))
	early := strings.Repeat("early.", 5000)
	c.Send("GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: own\r\n\r\n" + early).Send("late")
	_ = c.CloseWrite()
	if _, got, _ := strings.Cut(c.Rest(), "\r\n\r\n"); got != early+"late" {
		t.Fatalf("%d bytes were echoed, want %d", len(got), len(early)+4)
	}
}
