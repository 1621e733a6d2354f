package proxy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
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
