package proxy_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/l7/l7test"
)

// web serves complete requests with bodies, like an ordinary server.
func web(c *l7test.Recorder) { serveWeb(c, func(*http.Request) string { return ok }) }

func serveWeb(c *l7test.Recorder, answer func(r *http.Request) string) {
	in := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		c.Say(answer(r))
	}
}

func post(size int) string {
	return fmt.Sprintf("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: %d\r\n\r\n", size) + strings.Repeat("x", size)
}

func TestLongBodyThatArrivedAtOnceIsSentOnAUsedConnection(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, web)
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr)))
	for i := range 5 {
		if res := c.Send(post(300 << 10)).Response("POST"); res.StatusCode != 200 {
			t.Fatalf("request %d: %s", i, res.Status)
		}
	}
	if n := b.Accepted(); n != 1 {
		t.Errorf("%d connections to the backend, want 1", n)
	}
}

func TestPipelinedRequestIsServedAfterOneThatFailed(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		for {
			head, err := c.Head()
			if err != nil || strings.HasPrefix(head, "GET /bad ") {
				return
			}
			c.Say(ok)
		}
	})
	a := l7test.New(t, 1)
	c := l7test.Dial(t, a.Serve(nil, l7test.Service("web", b.Addr)))
	c.Send(get("/bad") + get("/good"))
	for i, want := range []int{502, 200} {
		if res := c.Get(); res.StatusCode != want {
			t.Fatalf("answer %d is %s, want %d", i, res.Status, want)
		}
	}
}

func TestRequestThatCameDuringAFailureIsServed(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		for {
			head, err := c.Head()
			if err != nil {
				return
			}
			if strings.HasPrefix(head, "GET /bad ") {
				<-next
				return
			}
			c.Say(ok)
		}
	})
	a := l7test.New(t, 1)
	c := l7test.Dial(t, a.Serve(nil, l7test.Service("web", b.Addr)))
	c.Send(get("/bad"))
	l7test.Eventually(t, "the request is at the backend", func() bool { return b.Received() != "" })
	c.Send(get("/good"))
	time.Sleep(50 * time.Millisecond) // its bytes arrive while the first is in progress
	close(next)
	for i, want := range []int{502, 200} {
		if res := c.Get(); res.StatusCode != want {
			t.Fatalf("answer %d is %s, want %d", i, res.Status, want)
		}
	}
}

func TestSilentClientIsClosedAfterAFailure(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(c *l7test.Recorder) { _, _ = c.Head(); _, _ = c.Head() })
	a := l7test.New(t, 1)
	addr := a.Serve(func(h *farm.HTTP) { h.RequestTimeout, h.ResponseTimeout = 1, 2 }, l7test.Service("web", b.Addr))
	c := l7test.Dial(t, addr)
	if res := c.Send(get("/")).Get(); res.StatusCode != 504 {
		t.Fatal(res.Status)
	}
	_ = c.SetReadDeadline(time.Now().Add(4 * time.Second))
	if _, err := c.Reader().ReadByte(); err != io.EOF {
		t.Fatalf("the connection is kept for ever: %v", err)
	}
}

func TestReloadWhileARefusedClientLingersDisturbsNothing(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	addr := a.Serve(nil, l7test.Service("web", b.Addr))
	c := l7test.Dial(t, addr)
	c.Send("nonsense\r\n\r\n")
	if res := c.Get(); res.StatusCode != 400 {
		t.Fatal(res.Status)
	}
	a.Publish(farm.Config{Farms: []farm.Farm{a.Farm}}) // a panic fails the test at its end
	if n := a.Segment.SumLoops()[0].Panics; n != 0 {
		t.Fatalf("%d panics", n)
	}
}

func TestTunnelDeliversTheLastBytesOfTheClient(t *testing.T) {
	t.Parallel()
	const size = 4 << 20
	got := make(chan int64, 1)
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		_, _ = c.Head()
		c.Say("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nbye")
		_ = c.CloseWrite()
		n, _ := io.Copy(io.Discard, c.Unrecorded())
		got <- n
	})
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr)))
	c.Send("GET /ws HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
	if rest := c.Rest(); !strings.HasSuffix(rest, "bye") {
		t.Fatalf("got %q", rest)
	}
	c.Send(strings.Repeat("x", size))
	_ = c.CloseWrite()
	if n := <-got; n != size {
		t.Fatalf("the backend got %d of the last %d bytes", n, size)
	}
}

func TestOldClientGetsNoTrailers(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string][]string{
		"at once":  {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nEtag: x\r\n\r\n"},
		"in parts": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "5\r\nhello\r\n0\r\nEtag: x\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			b := l7test.NewBackend(t, func(c *l7test.Recorder) {
				_, _ = c.Head()
				for _, p := range parts {
					c.Say(p)
					time.Sleep(20 * time.Millisecond)
				}
				_, _ = c.Head()
			})
			c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr)))
			if got := c.Send("GET / HTTP/1.0\r\nHost: a.test\r\n\r\n").Rest(); !strings.HasSuffix(got, "\r\n\r\nhello") {
				t.Fatalf("got %q", got)
			}
		})
	}
}

func TestBackendIsNotBlamedForASlowClient(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, web)
	a := l7test.New(t, 1)
	addr := a.Serve(func(h *farm.HTTP) { h.RequestTimeout, h.ResponseTimeout = 60, 20 }, l7test.Service("web", b.Addr))
	c := l7test.Dial(t, addr)
	whole := post(1000)
	c.Send(whole[:500])
	l7test.Eventually(t, "the backend is connected", func() bool { return a.Segment.SumBackend(1).Connects == 1 })
	enginetest.Advance(a.Loops[0], 30*time.Second)
	if res := c.Send(whole[500:]).Response("POST"); res.StatusCode != 200 {
		t.Fatalf("got %s", res.Status)
	}
	if n := a.Segment.SumBackend(1).Timeouts; n != 0 {
		t.Errorf("%d time-outs of the backend", n)
	}
}

// TestSlowClientGetsItsLastAnswerWhole has clients that stop reading for longer than a
// connection lingers. The sizes differ by less than one read, so some responses end in bytes
// that the kernel did not accept.
func TestSlowClientGetsItsLastAnswerWhole(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		serveWeb(c, func(r *http.Request) string {
			size, _ := strconv.Atoi(r.URL.Path[1:])
			return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", size, strings.Repeat("x", size))
		})
	})
	for name, test := range map[string]struct {
		fields string
		during func(a *l7test.Appliance)
	}{
		"that closes":             {"Connection: close\r\n", func(*l7test.Appliance) {}},
		"of a farm that is gone":  {"", func(a *l7test.Appliance) { a.Publish(farm.Config{}) }},
		"of a farm that stays on": {"", func(*l7test.Appliance) {}},
	} {
		t.Run(name, func(t *testing.T) {
			a := l7test.New(t, 1)
			addr := a.Serve(func(h *farm.HTTP) { h.RequestTimeout = 60 }, l7test.Service("web", b.Addr))
			clients := map[int]*l7test.Client{}
			for size := 2 << 20; size < 6<<20; size += 100 << 10 {
				clients[size] = l7test.Dial(t, addr).Send(fmt.Sprintf("GET /%d HTTP/1.1\r\nHost: a.test\r\n%s\r\n", size, test.fields))
			}
			time.Sleep(500 * time.Millisecond)
			test.during(a)
			time.Sleep(2500 * time.Millisecond)
			for size, c := range clients {
				_ = c.SetReadDeadline(time.Now().Add(time.Minute)) // their responses are read one after the other
				res, err := http.ReadResponse(c.Reader(), nil)
				if err != nil {
					t.Fatal(err)
				}
				if n, err := io.Copy(io.Discard, res.Body); n != int64(size) {
					t.Errorf("got %d bytes of %d: %v", n, size, err)
				}
			}
		})
	}
}

func TestConnectThatFailsAtAnOldAddressSaysNothingOfTheNew(t *testing.T) {
	t.Parallel()
	full := porttest.Full(t).String()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	patient := func(h *farm.HTTP) { h.ConnectTimeout, h.ResurrectTime = 1, 60 }
	addr := a.Serve(patient, l7test.Service("web", full))
	old := l7test.Dial(t, addr).Send(get("/"))
	l7test.Eventually(t, "the connect is under way", func() bool { return a.Segment.SumBackend(1).Pending == 1 })
	a.Serve(patient, l7test.Service("web", b.Addr))
	if res := old.Get(); res.StatusCode != 503 {
		t.Fatalf("got %s", res.Status)
	}
	if res := l7test.Dial(t, addr).Send(get("/")).Get(); res.StatusCode != 200 {
		t.Fatalf("at the new address: %s", res.Status)
	}
}

func TestOldClientGetsAConnectionField(t *testing.T) {
	t.Parallel()
	moved := farm.Service{ID: 2, Name: "moved", URL: "^/old", Redirect: "http://new.test/"}
	dead := l7test.NewBackend(t, l7test.Answer(ok))
	dead.Close()
	addr := l7test.New(t, 1).Serve(nil, moved, l7test.Service("web", dead.Addr))
	for path, status := range map[string]int{"/old": 302, "/": 503} {
		c := l7test.Dial(t, addr)
		res := c.Send("GET " + path + " HTTP/1.0\r\nHost: a.test\r\nConnection: keep-alive\r\n\r\n").Get()
		if res.StatusCode != status {
			t.Fatal(res.Status)
		}
		if strings.EqualFold(res.Header.Get("Connection"), "keep-alive") {
			continue
		}
		if rest := c.Rest(); rest != "" || !res.Close {
			t.Errorf("%s: neither kept nor closed: %q", path, res.Header)
		}
	}
}

func TestEachStoppedFarmHasItsOwnGrace(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		_, _ = c.Head()
		<-release
		c.Say(ok)
		_, _ = c.Head()
	})
	a := l7test.New(t, 1)
	short := func(h *farm.HTTP) { h.StopGrace = 3 }
	service := l7test.Service("web", b.Addr)
	first := l7test.Dial(t, a.Serve(short, service)).Send(get("/"))
	l7test.Eventually(t, "the first is at the backend", func() bool { return b.Received() != "" })
	one := a.Farm
	a.Farm = farm.Farm{}
	addr := a.Serve(short, service)
	a.Farm.ID = 2
	two := a.Farm
	a.Publish(farm.Config{Farms: []farm.Farm{one, two}})
	second := l7test.Dial(t, addr).Send(get("/"))
	l7test.Eventually(t, "both are at the backend", func() bool { return strings.Count(b.Received(), "GET") == 2 })
	a.Publish(farm.Config{Farms: []farm.Farm{two}})
	time.Sleep(2 * time.Second)
	a.Publish(farm.Config{})
	if rest := first.Rest(); rest != "" {
		t.Fatalf("the first farm's exchange got %q", rest)
	}
	close(release)
	if res := second.Get(); res.StatusCode != 200 {
		t.Fatal(res.Status)
	}
}

func TestBackendThatMovedIsNotDownForWhatItWasBefore(t *testing.T) {
	t.Parallel()
	dead, live := l7test.NewBackend(t, l7test.Answer(ok)), l7test.NewBackend(t, l7test.Answer(ok))
	dead.Close()
	a := l7test.New(t, 1)
	if res := l7test.Dial(t, a.Serve(nil, l7test.Service("web", dead.Addr))).Send(get("/")).Get(); res.StatusCode != 503 {
		t.Fatalf("got %s from a backend that is gone", res.Status)
	}
	addr := a.Serve(nil, l7test.Service("web", live.Addr)) // the same number with another address
	if res := l7test.Dial(t, addr).Send(get("/")).Get(); res.StatusCode != 200 {
		t.Fatalf("got %s, want 200", res.Status)
	}
}
