package proxy_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// numbered is a backend that responds with the number of the connection and of the request
// on it.
func numbered(t *testing.T) *l7test.Backend {
	t.Helper()
	connections := make(chan int, 1)
	connections <- 0
	return l7test.NewBackend(t, func(c *l7test.Recorder) {
		n := <-connections + 1
		connections <- n
		for i := 1; ; i++ {
			head, err := c.Head()
			if err != nil {
				return
			}
			text := fmt.Sprintf("%d.%d", n, i)
			c.Say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text))
			if head[:9] == "GET /end " {
				return
			}
		}
	})
}

func pinning(addrs ...string) farm.Service {
	s := l7test.Service("web", addrs...)
	s.Pinned = true
	return s
}

func TestPinnedClientKeepsItsConnectionForItself(t *testing.T) {
	t.Parallel()
	b := numbered(t)
	a := l7test.New(t, 1)
	addr := a.Serve(nil, pinning(b.Addr))
	one, two := l7test.Dial(t, addr), l7test.Dial(t, addr)
	for i := 1; i <= 4; i++ {
		if got, want := one.Send(get("/")).Get().Text, fmt.Sprint("1.", i); got != want {
			t.Errorf("the first client was answered by %s, want %s", got, want)
		}
		if got, want := two.Send(get("/")).Get().Text, fmt.Sprint("2.", i); got != want {
			t.Errorf("the second client was answered by %s, want %s", got, want)
		}
	}
	_ = one.Close()
	if got := l7test.Dial(t, addr).Send(get("/")).Get().Text; got != "3.1" {
		t.Errorf("the third client was answered by %s", got)
	}
	if n := a.Segment.SumBackend(1).Reuses; n != 6 {
		t.Errorf("%d uses of a kept connection, want 6", n)
	}
}

func TestPinnedConnectionThatEndedIsReplaced(t *testing.T) {
	t.Parallel()
	b := numbered(t)
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, pinning(b.Addr)))
	for i, path := range []string{"/", "/end", "/", "/"} {
		if got, want := c.Send(get(path)).Get().Text, []string{"1.1", "1.2", "2.1", "2.2"}[i]; got != want {
			t.Fatalf("request %d was answered by %s, want %s", i, got, want)
		}
		time.Sleep(20 * time.Millisecond) // the end is noticed between requests; a request that meets it is repeated
	}
}

func TestPinnedClientLeavesABackendThatWasCut(t *testing.T) {
	t.Parallel()
	one, two := named(t, "1"), named(t, "2")
	a := l7test.New(t, 1)
	s := pinning(one.Addr, two.Addr)
	c := l7test.Dial(t, a.Serve(nil, s))
	who := c.Send(get("/")).Get().Text
	for range 4 {
		if got := c.Send(get("/")).Get().Text; got != who {
			t.Fatalf("served by %s instead of %s", got, who)
		}
	}
	mine := map[string]int{"1": 0, "2": 1}[who]
	s.Backends[mine].Maintenance = farm.MaintenanceDrain
	a.Serve(nil, s)
	if got := c.Send(get("/")).Get().Text; got != who {
		t.Errorf("drain moved the client to %s", got)
	}
	s.Backends[mine].Maintenance = farm.MaintenanceCut
	a.Serve(nil, s)
	l7test.Eventually(t, "the kept connection is closed", func() bool {
		return []*l7test.Backend{one, two}[mine].Open() == 0
	})
	if got := c.Send(get("/")).Get().Text; got == who {
		t.Error("the client is still on the backend that was cut")
	}
}

func TestPinnedConnectionToABackendThatIsCutOffCloses(t *testing.T) {
	t.Parallel()
	b := named(t, "1")
	a := l7test.New(t, 1)
	c := l7test.Dial(t, a.Serve(nil, pinning(b.Addr)))
	c.Send(get("/")).Get()
	if n := a.Engine.CutOff([]uint32{1}); n != 0 || b.Open() > 1 {
		t.Errorf("%d exchanges ended, of none; %d connections were open", n, b.Open())
	}
	l7test.Eventually(t, "the kept connection is closed", func() bool { return b.Open() == 0 })
	if got := c.Send(get("/")).Get().Text; got != "1" {
		t.Errorf("its client got %q afterwards", got)
	}
}

// Requests to another service use its own backends.
func TestPinnedIsPerService(t *testing.T) {
	t.Parallel()
	one, two := named(t, "1"), named(t, "2")
	first, second := pinning(one.Addr), pinning(two.Addr)
	first.URL, second.ID, second.Name, second.Backends[0].ID = "^/one", 2, "two", 2
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, first, second))
	for _, path := range []string{"/one", "/two", "/two", "/one"} {
		if got := c.Send(get(path)).Get().Text; got != map[string]string{"/one": "1", "/two": "2"}[path] {
			t.Errorf("%s was served by %s", path, got)
		}
	}
}
