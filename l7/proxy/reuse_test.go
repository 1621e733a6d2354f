package proxy_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

func posting(path string) string {
	return "POST " + path + " HTTP/1.1\r\nHost: a.test\r\nContent-Length: 4\r\n\r\nbody"
}

// A backend may close an idle connection at the moment at which a request arrives that must
// not be sent twice.
func TestRequestsThatMustNotBeRepeatedGetLiveConnections(t *testing.T) {
	t.Parallel()
	closes, closed := make(chan bool), make(chan bool)
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		for {
			if _, err := c.Head(); err != nil {
				return
			}
			c.Say(ok)
			if <-closes {
				_ = c.Close()
				closed <- true
				return
			}
		}
	})
	a := l7test.New(t, 1)
	c := l7test.Dial(t, a.Serve(nil, l7test.Service("web", b.Addr)))
	c.Send(get("/")).Get()
	l7test.Eventually(t, "the connection is idle", func() bool { return a.Segment.SumBackend(1).Established == 0 })
	sent := make(chan bool)
	a.Loops[0].Post(func() { // the loop has the request before the end of the connection
		c.Send(posting("/"))
		closes <- true
		<-closed
		close(sent)
	})
	<-sent
	if res := c.Response("POST"); res.StatusCode != 200 {
		t.Errorf("got %d", res.StatusCode)
	}
	closes <- false
	if n := b.Accepted(); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
	close(closes)
}

// Node.js, Apache and others announce when they close idle connections.
func TestAnnouncedIdleTimesAreKept(t *testing.T) {
	t.Parallel()
	for field, c := range map[string]struct {
		idle time.Duration
		want int // connections
	}{
		"Keep-Alive: timeout=5":    {3500 * time.Millisecond, 1},
		"Keep-Alive: timeout=6, x": {5500 * time.Millisecond, 2},
		"Keep-Alive: timeout=99":   {31 * time.Second, 2},
		"Keep-Alive: timeout=0":    {0, 2},
		"X: timeout=5":             {25 * time.Second, 1},
	} {
		answer := strings.Replace(ok, "\r\n\r\n", "\r\n"+field+"\r\n\r\n", 1)
		b := l7test.NewBackend(t, l7test.Answer(answer))
		a := l7test.New(t, 1)
		addr := a.Serve(nil, l7test.Service("web", b.Addr))
		l7test.Dial(t, addr).Send(get("/")).Get()
		l7test.Eventually(t, "the connection is idle", func() bool { return a.Segment.SumBackend(1).Established == 0 })
		enginetest.Advance(a.Loops[0], c.idle)
		if c.idle == 0 {
			time.Sleep(50 * time.Millisecond)
		}
		l7test.Dial(t, addr).Send(get("/")).Get()
		if n := b.Accepted(); n != c.want {
			t.Errorf("%s: %d connections after %v, want %d", field, n, c.idle, c.want)
		}
	}
}

// A backend that ends within a response fails, on a reused connection, too.
func TestEndsWithinResponsesEjectTheirBackend(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"HTTP/1.1 100 Continue\r\n\r\n", ok[:10]} {
		b := l7test.NewBackend(t, func(c *l7test.Recorder) {
			if _, err := c.Head(); err == nil {
				c.Say(ok)
				_, _ = c.Head()
				c.Say(part)
			}
		})
		good := l7test.NewBackend(t, l7test.Answer(ok))
		a := l7test.New(t, 1)
		c := l7test.Dial(t, a.Serve(nil, ejecting(1, 60, b.Addr, good.Addr)))
		for range 4 {
			c.Send(posting("/")).Response("POST")
		}
		if !isEjected(a, 1) {
			t.Errorf("not ejected after the end behind %q", part)
		}
	}
}

// A body that arrives during a connect that fails goes to the next backend.
func TestBodiesThatArriveDuringAConnectAreSent(t *testing.T) {
	t.Parallel()
	got := make(chan string, 2)
	good := l7test.NewBackend(t, func(c *l7test.Recorder) {
		for {
			if _, err := c.Head(); err != nil {
				return
			}
			body := make([]byte, 4)
			_, _ = io.ReadFull(c, body)
			got <- string(body)
			c.Say(ok)
		}
	})
	a := l7test.New(t, 1)
	addr := a.Serve(func(h *farm.HTTP) { h.ConnectTimeout = 1 }, l7test.Service("web", good.Addr, deaf(t)))
	for range 2 { // the second request leaves for the deaf backend
		c := l7test.Dial(t, addr)
		head, body, _ := strings.Cut(posting("/"), "\r\n\r\n")
		c.Send(head + "\r\n\r\n")
		l7test.Eventually(t, "the request waits", func() bool {
			return a.Segment.SumBackend(1).Established+a.Segment.SumBackend(2).Pending == 1
		})
		c.Send(body)
		if res := c.Response("POST"); res.StatusCode != 200 {
			t.Errorf("got %d", res.StatusCode)
		}
		if text := <-got; text != body {
			t.Errorf("the backend got %q", text)
		}
		l7test.Eventually(t, "the connection is idle", func() bool { return a.Segment.SumBackend(1).Established == 0 })
	}
	if n := a.Segment.SumBackend(1).Reuses; n != 1 {
		t.Errorf("%d requests on a kept connection, want 1", n)
	}
}

// deaf returns the address of a listener that answers no connect, because its queue is full.
func deaf(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	at := &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	if err := errors.Join(syscall.Bind(fd, at), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	addr := fmt.Sprint("127.0.0.1:", name.(*syscall.SockaddrInet4).Port)
	for range 2 {
		if c, err := net.DialTimeout("tcp", addr, 100*time.Millisecond); err == nil {
			t.Cleanup(func() { _ = c.Close() })
		}
	}
	return addr
}

// The end of a reused connection is no failure of its backend, even if the request is lost.
func TestEndsOfReusedConnectionsEjectNoBackend(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		if _, err := c.Head(); err == nil {
			c.Say(ok)
			_, _ = c.Head()
		}
	})
	good := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	c := l7test.Dial(t, a.Serve(nil, ejecting(1, 60, b.Addr, good.Addr)))
	by := map[int]int{}
	for i := range 12 {
		by[c.Send(posting(fmt.Sprint("/", i))).Response("POST").StatusCode]++
	}
	s := a.Segment.SumBackend(1)
	if isEjected(a, 1) || by[502] == 0 || by[502]+by[200] != 12 || s.Failures != uint64(by[502]) {
		t.Errorf("got %v, ejected: %t, %d failures", by, isEjected(a, 1), s.Failures)
	}
}
