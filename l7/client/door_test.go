package client_test

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// bounded limits the clients of the farm.
func bounded(n uint32, what farm.Overflow) func(*farm.HTTP) {
	return func(h *farm.HTTP) { h.MaxConnections, h.Overflow = n, what }
}

// isServed waits a moment for the response to a sent request.
func isServed(c *l7test.Client, moment time.Duration) bool {
	_ = c.SetReadDeadline(time.Now().Add(moment))
	line, err := c.Reader().ReadString('\n')
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	for err == nil && line != "\r\n" {
		line, err = c.Reader().ReadString('\n')
	}
	_, _ = c.Reader().Discard(2)
	return err == nil
}

// dialled opens clients that send one request each.
func dialled(t *testing.T, addr string, n int) (clients []*l7test.Client) {
	t.Helper()
	for range n {
		clients = append(clients, l7test.Dial(t, addr).Send(get("/")))
	}
	return clients
}

// count returns which clients were served. It waits for so many as long as necessary, and a
// moment for others.
func count(clients []*l7test.Client, so int) (in, out []*l7test.Client) {
	out = clients
	look := func() {
		var still []*l7test.Client
		for _, c := range out {
			if isServed(c, 10*time.Millisecond) {
				in = append(in, c)
			} else {
				still = append(still, c)
			}
		}
		out = still
	}
	for end := time.Now().Add(10 * time.Second); len(in) < so && time.Now().Before(end); {
		look()
	}
	time.Sleep(150 * time.Millisecond)
	look()
	return in, out
}

func TestClientsBeyondTheBoundWaitForAPlace(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 2)
	addr := a.Serve(bounded(4, farm.OverflowWait), l7test.Service("web", b.Addr))
	in, out := count(dialled(t, addr, 10), 4)
	if len(in) != 4 || len(out) != 6 {
		t.Fatalf("%d clients are served, want 4", len(in))
	}
	for len(out) > 0 {
		if got := in[0].Send(get("/")).Get(); got.StatusCode != 200 {
			t.Errorf("a client that is in is answered %d, want 200", got.StatusCode)
		}
		_ = in[0].Close()
		var next, still []*l7test.Client
		l7test.Eventually(t, "the next one comes in", func() bool {
			next, still = count(out, 0)
			return len(next) > 0
		})
		if len(next) != 1 {
			t.Fatalf("%d clients were admitted for one that left", len(next))
		}
		in, out = append(in[1:], next...), still
	}
	if n := a.Segment.SumFarm(1).Established; n != 4 {
		t.Errorf("%d clients are counted, want 4", n)
	}
}

func TestClientsBeyondTheBoundAreRefused(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 2)
	addr := a.Serve(func(h *farm.HTTP) { bounded(2, farm.OverflowRefuse)(h); h.Error503 = "full\n" }, l7test.Service("web", b.Addr))
	in, _ := count(dialled(t, addr, 2), 2)
	if len(in) != 2 {
		t.Fatalf("%d clients are served, want 2", len(in))
	}
	for range 5 {
		c := l7test.Dial(t, addr).Send(get("/"))
		if res := c.Get(); res.StatusCode != 503 || res.Text != "full\n" || !res.Close {
			t.Errorf("answered %d %q", res.StatusCode, res.Text)
		}
		if rest := c.Rest(); rest != "" {
			t.Errorf("it continues: got %q, want \"\"", rest)
		}
	}
	l7test.Eventually(t, "each rejection leaves a line", func() bool { return len(a.Log.Lines("too-many-clients")) == 5 })
	c := l7test.Dial(t, addr) // sends more than is read before the response, which arrives nevertheless
	c.Send("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1000000\r\n\r\n" + strings.Repeat("x", 200<<10))
	if res := c.Response("POST"); res.StatusCode != 503 {
		t.Errorf("answered %d, want 503", res.StatusCode)
	}
	if _, err := c.Reader().ReadByte(); err != io.EOF {
		t.Errorf("its connection does not end in order: %v", err)
	}
	if _, err := c.Write([]byte("more")); err != nil { // a reset may destroy unread data of a client
		t.Errorf("its connection is reset: %v", err)
	}
	_ = in[0].Close()
	l7test.Eventually(t, "a slot is free", func() bool { return l7test.Dial(t, addr).Send(get("/")).Get().StatusCode == 200 })
}

// A client that connected early sends its request only after the response.
func TestALateRequestOfARefusedClientCausesNoReset(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	addr := l7test.New(t, 1).Serve(bounded(1, farm.OverflowRefuse), l7test.Service("web", b.Addr))
	if in, _ := count(dialled(t, addr, 1), 1); len(in) != 1 {
		t.Fatal("the first client is refused")
	}
	for range 5 { // a slow machine may take longer than the client has
		c := l7test.Dial(t, addr)
		if res := c.Response("GET"); res.StatusCode != 503 {
			t.Errorf("answered %d, want 503", res.StatusCode)
		}
		began := time.Now()
		c.Send(get("/"))
		time.Sleep(50 * time.Millisecond)
		_, err := c.Write([]byte("more"))
		if time.Since(began) > time.Second {
			continue
		}
		if err != nil {
			t.Errorf("its connection is reset: %v", err)
		}
		return
	}
	t.Error("the machine is too slow")
}

// Only some refused clients may linger, so that a flood of them displaces no one else.
func TestAFloodOfRefusedClientsIsClosedAtOnce(t *testing.T) { // alone, because others measure time
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	addr := a.Serve(bounded(1, farm.OverflowRefuse), l7test.Service("web", b.Addr))
	if in, _ := count(dialled(t, addr, 1), 1); len(in) != 1 {
		t.Fatal("the first client is refused")
	}
	const flood = 600 // more than half of those that may linger on a loop
	l7test.Eventually(t, "the connection of the last refused client is closed at once", func() bool {
		var c *l7test.Client
		dialled := make(chan bool)
		a.Loops[0].Post(func() { <-dialled }) // a slow machine may take longer than the time to linger
		for range flood {
			c = l7test.Dial(t, addr)
		}
		close(dialled)
		if res := c.Response("GET"); res.StatusCode != 503 {
			t.Errorf("answered %d, want 503", res.StatusCode)
		}
		_, _ = c.Write([]byte("GET / HTTP/1.1\r\n"))
		time.Sleep(50 * time.Millisecond)
		_, err := c.Write([]byte("more"))
		return err != nil
	})
}

// Uploads of refused clients cost no served client its time to read an early response.
func TestRefusedUploadsLeaveRoomForServedOnes(t *testing.T) { // alone, because others measure time
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	addr := a.Serve(bounded(1, farm.OverflowRefuse), l7test.Service("web", b.Addr))
	in, _ := count(dialled(t, addr, 1), 1)
	if len(in) != 1 {
		t.Fatal("the first client is refused")
	}
	upload := "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1000000\r\n\r\n" + strings.Repeat("x", 70<<10)
	for range 1050 { // more than may linger on a loop
		_, _ = l7test.Dial(t, addr).Write([]byte(upload))
	}
	_ = in[0].SetDeadline(time.Now().Add(20 * time.Second))
	late := in[0].Send("malformed\r\n\r\n")
	if res := late.Response("GET"); res.StatusCode != 400 {
		t.Errorf("answered %d, want 400", res.StatusCode)
	}
	for range 3 {
		enginetest.Advance(a.Loops[0], 1500*time.Millisecond)
		if _, err := late.Write([]byte("more")); err != nil {
			t.Fatalf("its connection is reset: %v", err)
		}
		a.Turn()
	}
}

// The limit always holds, with clients coming and going on several loops.
func TestBoundIsExactOverAllLoops(t *testing.T) {
	t.Parallel()
	const bound, crowd, rounds = 8, 40, 15
	for _, what := range farm.Overflows() {
		var inside, most, answers atomic.Int64
		b := l7test.NewBackend(t, l7test.Answer(ok))
		a := l7test.New(t, 4)
		addr := a.Serve(bounded(bound, what), l7test.Service("web", b.Addr))
		var wg sync.WaitGroup
		for range crowd {
			wg.Go(func() {
				for range rounds {
					c, err := net.Dial("tcp", addr)
					if err != nil {
						t.Error(err)
						return
					}
					_ = c.SetDeadline(time.Now().Add(20 * time.Second))
					_, _ = io.WriteString(c, get("/"))
					buf := make([]byte, 4096)
					n, err := c.Read(buf)
					if err == nil && strings.HasPrefix(string(buf[:n]), "HTTP/1.1 200") {
						// A client certainly has a slot between its response and its end.
						now := inside.Add(1)
						for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
						}
						time.Sleep(time.Millisecond)
						inside.Add(-1)
						answers.Add(1)
					}
					_ = c.Close()
				}
			})
		}
		wg.Wait()
		if most.Load() > bound || most.Load() < bound/2 {
			t.Errorf("%s: up to %d clients were inside, the bound is %d", what, most.Load(), bound)
		}
		if what == farm.OverflowWait && answers.Load() != crowd*rounds {
			t.Errorf("%s: %d of %d clients were served", what, answers.Load(), crowd*rounds)
		}
		l7test.Eventually(t, "all have left", func() bool { return a.Segment.SumFarm(1).Established == 0 })
		if in, _ := count(dialled(t, addr, bound), bound); len(in) != bound {
			t.Errorf("%s: afterwards only %d slots are left", what, len(in))
		}
	}
}

func TestBoundIsChangedWhileClientsAreThere(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 2)
	s := l7test.Service("web", b.Addr)
	addr := a.Serve(nil, s)
	early, _ := count(dialled(t, addr, 5), 5)
	a.Serve(bounded(6, farm.OverflowWait), s) // the five existing clients count
	in, out := count(dialled(t, addr, 5), 1)
	if len(early) != 5 || len(in) != 1 {
		t.Fatalf("%d were admitted besides 5, want 1", len(in))
	}
	a.Serve(bounded(8, farm.OverflowWait), s)
	more, out := count(out, 2)
	if len(more) != 2 {
		t.Errorf("%d came in when the bound rose by 2", len(more))
	}
	a.Serve(bounded(2, farm.OverflowWait), s)
	for _, c := range early {
		_ = c.Close()
	}
	l7test.Eventually(t, "they have left", func() bool { return a.Segment.SumFarm(1).Established == 3 })
	if more, _ := count(out, 0); len(more) != 0 {
		t.Errorf("%d came in above a bound that was lowered", len(more))
	}
	a.Serve(bounded(0, ""), s)
	if more, _ := count(out, 2); len(more) != 2 {
		t.Errorf("%d of 2 came in when the bound was lifted", len(more))
	}
}

func TestFullFarmDelaysNoOther(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	full := a.Serve(bounded(1, farm.OverflowWait), l7test.Service("web", b.Addr))
	one := a.Farm
	a.Farm = farm.Farm{}
	other := l7test.Service("other", b.Addr)
	other.ID, other.Backends[0].ID = 2, 2
	addr := a.Serve(nil, other)
	a.Farm.ID = 2
	a.Publish(farm.Config{Farms: []farm.Farm{one, a.Farm}})
	in, _ := count(dialled(t, full, 20), 1)
	if len(in) != 1 {
		t.Fatalf("%d clients are served, want 1", len(in))
	}
	for range 20 {
		if res := l7test.Dial(t, addr).Send(get("/")).Get(); res.StatusCode != 200 {
			t.Fatal(res.Status)
		}
	}
	// The farm may end while clients wait for it.
	a.Publish(farm.Config{Farms: []farm.Farm{a.Farm}})
	if res := l7test.Dial(t, addr).Send(get("/")).Get(); res.StatusCode != 200 {
		t.Fatal(res.Status)
	}
}

func TestHTTP2ConnectionsHaveAPlace(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 2)
	addr := a.Serve(bounded(2, farm.OverflowRefuse), l7test.Service("web", b.Addr))
	c := l7test.HTTP2Client(t, addr, false)
	for range 3 {
		res, err := c.Get("http://a.test/")
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
	}
	in, _ := count(dialled(t, addr, 1), 1)
	if len(in) != 1 || l7test.Dial(t, addr).Send(get("/")).Get().StatusCode != 503 {
		t.Error("the connection of HTTP/2 is not counted once")
	}
	c.CloseIdleConnections()
	l7test.Eventually(t, "its slot is free", func() bool { return l7test.Dial(t, addr).Send(get("/")).Get().StatusCode == 200 })
}
