package proxy_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/l7/l7test"
)

// heldBackend responds on demand.
type heldBackend struct {
	*l7test.Backend
	mu    sync.Mutex
	paths []string // in order of arrival
	most  int      // maximum concurrency
	now   int
	open  chan struct{} // one response each
}

func newHeldBackend(t *testing.T) *heldBackend {
	g := &heldBackend{open: make(chan struct{}, 1000)}
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	g.Backend = l7test.NewBackend(t, func(c *l7test.Recorder) {
		for {
			head, err := c.Head()
			if err != nil {
				return
			}
			g.mu.Lock()
			g.paths = append(g.paths, strings.Fields(head)[1])
			g.now++
			g.most = max(g.most, g.now)
			g.mu.Unlock()
			select {
			case <-g.open:
			case <-ended:
				return
			}
			g.mu.Lock()
			g.now--
			g.mu.Unlock()
			c.Say(ok)
		}
	})
	return g
}

func (g *heldBackend) seen() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.paths)
}

// queueing is a service whose backends accept one exchange each.
func queueing(length uint16, addrs ...string) farm.Service {
	s := l7test.Service("web", addrs...)
	for i := range s.Backends {
		s.Backends[i].ConnLimit = 1
	}
	s.Queue, s.QueueTimeout = length, 60
	return s
}

// httpAnswer reads a response of the test backends, for clients in goroutines.
func httpAnswer(c *l7test.Client) (status int, err error) {
	res, err := http.ReadResponse(c.Reader(), nil)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}

// waiting occupies the only slot of the backend with one exchange and queues n more.
func waiting(t *testing.T, a *l7test.Appliance, addr string, g *heldBackend, n int) (holder *l7test.Client, wait []*l7test.Client) {
	t.Helper()
	holder = l7test.Dial(t, addr).Send(get("/holder"))
	l7test.Eventually(t, "the first has the backend", func() bool { return len(g.seen()) == 1 })
	for i := range n {
		wait = append(wait, l7test.Dial(t, addr).Send(get(fmt.Sprintf("/%d", i))))
		l7test.Queued(t, a, uint64(i+1))
	}
	return holder, wait
}

func TestQueueServesInOrderOfArrival(t *testing.T) {
	t.Parallel()
	g, a := newHeldBackend(t), l7test.New(t, 2)
	addr := a.Serve(nil, queueing(100, g.Addr))
	holder, wait := waiting(t, a, addr, g, 20)
	for range 21 {
		g.open <- struct{}{}
	}
	for _, c := range append(wait, holder) {
		if res := c.Get(); res.StatusCode != 200 {
			t.Errorf("answer %d", res.StatusCode)
		}
	}
	want := []string{"/holder"}
	for i := range 20 {
		want = append(want, fmt.Sprintf("/%d", i))
	}
	if got := g.seen(); !slices.Equal(got, want) {
		t.Errorf("served %v, want %v", got, want)
	}
	if f := a.Segment.SumFarm(1); f.QueuedTotal != 20 || f.Queued != 0 || f.QueueTimeouts+f.QueueFull+f.NoBackend != 0 || g.most != 1 {
		t.Errorf("%+v, %d at a time", f, g.most)
	}
}

func TestQueuedRequestsAllComplete(t *testing.T) {
	t.Parallel()
	for _, policy := range farm.RoutingPolicies() {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			var now, most atomic.Int64
			b := l7test.NewBackend(t, func(c *l7test.Recorder) {
				for {
					if _, err := c.Head(); err != nil {
						return
					}
					n := now.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					now.Add(-1)
					c.Say(ok)
				}
			})
			a := l7test.New(t, 3)
			s := queueing(1000, b.Addr)
			s.Policy = policy
			addr := a.Serve(nil, s)
			var all sync.WaitGroup
			for range 24 {
				c := l7test.Dial(t, addr)
				all.Go(func() {
					for range 40 {
						_ = c.SetDeadline(time.Now().Add(10 * time.Second)) // for each, because machines may be busy
						_, _ = io.WriteString(c.TCPConn, get("/"))
						res, err := httpAnswer(c)
						if err != nil || res != 200 {
							t.Errorf("answer %d %v", res, err)
							return
						}
					}
				})
			}
			all.Wait()
			f := a.Segment.SumFarm(1)
			if f.Responses[1] != 24*40 || f.Queued != 0 || most.Load() != 1 {
				t.Errorf("%d answers, %d still wait, %d at a time", f.Responses[1], f.Queued, most.Load())
			}
			if f.QueuedTotal == 0 {
				t.Error("no request was queued: the test would check too little")
			}
		})
	}
}

func TestNobodyIsStrandedWhileEverythingChanges(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]farm.Persistence{"strangers": farm.PersistNone, "clients with sessions": farm.PersistHeader} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nobodyIsStranded(t, kind)
		})
	}
}

func nobodyIsStranded(t *testing.T, kind farm.Persistence) {
	b := l7test.NewBackend(t, l7test.Answer(ok))
	other := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 2)
	service := func(limit uint32, mode farm.Maintenance, length uint16) farm.Service {
		s := queueing(length, b.Addr, other.Addr)
		s.Persistence, s.SessionID = kind, "X-Client"
		s.Backends[0].ConnLimit, s.Backends[1].ConnLimit, s.Backends[1].Maintenance = limit, 1, mode
		return s
	}
	addr := a.Serve(nil, service(1, farm.MaintenanceOff, 1000))
	end := make(chan struct{})
	var all sync.WaitGroup
	var served atomic.Int64
	for i := range 16 {
		c, text := l7test.Dial(t, addr), l7test.Request(fmt.Sprintf("X-Client: %d", i))
		all.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
				}
				_ = c.SetDeadline(time.Now().Add(20 * time.Second))
				_, _ = io.WriteString(c.TCPConn, text)
				switch res, err := httpAnswer(c); {
				case err == io.ErrUnexpectedEOF: // it was in progress at the cut backend
					c = l7test.Dial(t, addr)
				case err != nil || res != 200 && res != 503:
					t.Errorf("answer %d %v", res, err)
					return
				}
				served.Add(1)
			}
		})
	}
	for i := range 60 {
		before := served.Load()
		switch i % 6 {
		case 0:
			a.Serve(nil, service(2, farm.MaintenanceOff, 1000))
		case 1:
			a.Health.SetGuardian(1, health.Down, time.Now())
		case 2:
			a.Serve(nil, service(1, farm.MaintenanceCut, 1000)) // no backend is left
		case 3:
			a.Health.SetGuardian(1, health.Up, time.Now())
		case 4:
			a.Serve(nil, service(1, farm.MaintenanceDrain, 3))
		case 5:
			a.Serve(nil, service(1, farm.MaintenanceOff, 0))
		}
		l7test.Eventually(t, fmt.Sprintf("exchanges go on after change %d", i), func() bool { return served.Load() > before+50 })
	}
	close(end)
	all.Wait()
	if n := a.Segment.SumFarm(1).Queued; n != 0 {
		t.Errorf("%d still wait", n)
	}
}

func TestFullQueueRefusesAtOnce(t *testing.T) {
	t.Parallel()
	g, a := newHeldBackend(t), l7test.New(t, 1)
	addr := a.Serve(func(h *farm.HTTP) { h.Error503 = "busy" }, queueing(2, g.Addr))
	waiting(t, a, addr, g, 2)
	if res := l7test.Dial(t, addr).Send(get("/more")).Get(); res.StatusCode != 503 || res.Text != "busy" {
		t.Errorf("answer %d %q", res.StatusCode, res.Text)
	}
	if f := a.Segment.SumFarm(1); f.QueueFull != 1 || f.NoBackend != 1 || f.Queued != 2 {
		t.Errorf("%+v", f)
	}
}

func TestQueueTimeoutResponds503(t *testing.T) {
	t.Parallel()
	g, a := newHeldBackend(t), l7test.New(t, 1)
	s := queueing(2, g.Addr)
	s.QueueTimeout = 1
	addr := a.Serve(func(h *farm.HTTP) { h.Error503 = "busy" }, s)
	began := time.Now()
	holder, wait := waiting(t, a, addr, g, 1)
	if res := wait[0].Get(); res.StatusCode != 503 || res.Text != "busy" || time.Since(began) < time.Second {
		t.Errorf("answer %d %q after %v", res.StatusCode, res.Text, time.Since(began))
	}
	if f := a.Segment.SumFarm(1); f.QueueTimeouts != 1 || f.Queued != 0 || f.QueuedTotal != 1 {
		t.Errorf("%+v", f)
	}
	g.open <- struct{}{}
	g.open <- struct{}{}
	if res := holder.Get(); res.StatusCode != 200 {
		t.Errorf("the one before: %d", res.StatusCode)
	}
	if res := wait[0].Send(get("/again")).Get(); res.StatusCode != 200 {
		t.Errorf("the same client, afterwards: %d", res.StatusCode)
	}
	if got := g.seen(); !slices.Equal(got, []string{"/holder", "/again"}) {
		t.Errorf("the backend saw %v", got)
	}
}

func TestQueueForgetsClientsThatLeave(t *testing.T) {
	t.Parallel()
	g, a := newHeldBackend(t), l7test.New(t, 1)
	addr := a.Serve(nil, queueing(10, g.Addr))
	_, wait := waiting(t, a, addr, g, 3)
	_ = wait[0].Close()
	l7test.Queued(t, a, 2)
	_ = wait[1].SetLinger(0)
	_ = wait[1].Close()
	l7test.Queued(t, a, 1)
	g.open <- struct{}{}
	g.open <- struct{}{}
	if res := wait[2].Get(); res.StatusCode != 200 {
		t.Errorf("answer %d", res.StatusCode)
	}
	if got := g.seen(); !slices.Equal(got, []string{"/holder", "/2"}) || a.Segment.SumFarm(1).ClientAborts != 2 {
		t.Errorf("the backend saw %v", got)
	}
}

func TestStreamsWaitToo(t *testing.T) {
	t.Parallel()
	g, a := newHeldBackend(t), l7test.New(t, 2)
	s := queueing(10, g.Addr)
	addr := a.Serve(nil, s)
	holder, _ := waiting(t, a, addr, g, 0)
	client := l7test.HTTP2Client(t, addr, false)
	answers := make(chan int, 5)
	for range 5 {
		go func() {
			res, err := client.Get("http://" + addr + "/stream")
			if err != nil {
				t.Error(err)
				answers <- 0
				return
			}
			_ = res.Body.Close()
			answers <- res.StatusCode
		}()
	}
	l7test.Queued(t, a, 5)
	for range 6 {
		g.open <- struct{}{}
	}
	for range 5 {
		if got := <-answers; got != 200 {
			t.Errorf("answer %d", got)
		}
	}
	if holder.Get().StatusCode != 200 || g.most != 1 {
		t.Errorf("%d at a time", g.most)
	}
}

func TestQueuedRequestsKeepTheirBodies(t *testing.T) {
	t.Parallel()
	const size = 64 << 20
	got := make(chan int64, 1)
	release := make(chan struct{})
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		for {
			head, err := c.Head()
			if err != nil {
				return
			}
			if strings.HasPrefix(head, "POST") {
				n, _ := io.Copy(io.Discard, io.LimitReader(c.Unrecorded(), size))
				got <- n
				c.Say(ok)
				return
			}
			<-release
			c.Say(ok)
		}
	})
	a := l7test.New(t, 1)
	addr := a.Serve(nil, queueing(10, b.Addr))
	l7test.Dial(t, addr).Send(get("/holder"))
	l7test.Eventually(t, "the first has the backend", func() bool { return b.Received() != "" })
	c := l7test.Dial(t, addr)
	c.Send(fmt.Sprintf("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", size))
	l7test.Queued(t, a, 1)
	_ = c.SetWriteDeadline(time.Now().Add(500 * time.Millisecond))
	sent, err := c.Write(make([]byte, size))
	if e, is := err.(net.Error); !is || !e.Timeout() {
		t.Fatalf("%d bytes of the body were read: %v", sent, err)
	}
	_ = c.SetWriteDeadline(time.Now().Add(10 * time.Second))
	close(release)
	if _, err := c.Write(make([]byte, size-sent)); err != nil {
		t.Fatal(err)
	}
	if n := <-got; n != size {
		t.Errorf("the backend got %d bytes", n)
	}
	if res := c.Response("POST"); res.StatusCode != 200 {
		t.Errorf("answer %d", res.StatusCode)
	}
}

func TestAHigherLimitLetsWaitersInAtOnce(t *testing.T) {
	t.Parallel()
	g, a := newHeldBackend(t), l7test.New(t, 2)
	s := queueing(10, g.Addr)
	addr := a.Serve(nil, s)
	waiting(t, a, addr, g, 4)
	s.Backends[0].ConnLimit = 3
	a.Serve(nil, s)
	l7test.Queued(t, a, 2)
	s.Backends[0].ConnLimit = 0
	a.Serve(nil, s)
	l7test.Queued(t, a, 0)
	l7test.Eventually(t, "all are at the backend", func() bool { return len(g.seen()) == 5 })
}

func TestWaitersGoToABackendThatIsAdded(t *testing.T) {
	t.Parallel()
	g, a := newHeldBackend(t), l7test.New(t, 2)
	addr := a.Serve(nil, queueing(10, g.Addr))
	_, wait := waiting(t, a, addr, g, 3)
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a.Serve(nil, queueing(10, g.Addr, b.Addr))
	for _, c := range wait {
		if res := c.Get(); res.StatusCode != 200 {
			t.Errorf("answer %d", res.StatusCode)
		}
	}
	if got := g.seen(); len(got) != 1 {
		t.Errorf("the old one saw %v", got)
	}
}

func TestWaitersGoToABackendThatComesBack(t *testing.T) {
	t.Parallel()
	g, b, a := newHeldBackend(t), l7test.NewBackend(t, l7test.Answer(ok)), l7test.New(t, 1)
	addr := a.Serve(nil, queueing(10, g.Addr, b.Addr))
	a.Health.SetGuardian(2, health.Down, time.Now())
	_, wait := waiting(t, a, addr, g, 3)
	a.Health.SetGuardian(2, health.Up, time.Now())
	for _, c := range wait {
		if res := c.Get(); res.StatusCode != 200 {
			t.Errorf("answer %d", res.StatusCode)
		}
	}
}

func TestWaitersAreAnsweredWhenNothingIsLeftToWaitFor(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(a *l7test.Appliance, s farm.Service){
		"down": func(a *l7test.Appliance, _ farm.Service) { a.Health.SetGuardian(1, health.Down, time.Now()) },
		"maintenance": func(a *l7test.Appliance, s farm.Service) {
			s.Backends[0].Maintenance = farm.MaintenanceDrain
			a.Serve(nil, s)
		},
		"cut": func(a *l7test.Appliance, s farm.Service) {
			s.Backends[0].Maintenance = farm.MaintenanceCut
			a.Serve(nil, s)
		},
		"no backends": func(a *l7test.Appliance, s farm.Service) { s.Backends = nil; a.Serve(nil, s) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, a := newHeldBackend(t), l7test.New(t, 2)
			s := queueing(10, g.Addr)
			addr := a.Serve(nil, s)
			_, wait := waiting(t, a, addr, g, 4)
			change(a, s)
			for _, c := range wait {
				if res := c.Get(); res.StatusCode != 503 {
					t.Errorf("answer %d", res.StatusCode)
				}
			}
			l7test.Queued(t, a, 0)
		})
	}
}

// Exchanges end on the table they began with if the next one has no place for them.
func TestWaitersOfADeletedServiceUseTheOldTable(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(a *l7test.Appliance){
		"service removed": func(a *l7test.Appliance) { a.Serve(nil) },
		"farm stopped":    func(a *l7test.Appliance) { a.Farm.Stopped = true; a.Publish(farm.Config{Farms: []farm.Farm{a.Farm}}) },
		"farm deleted":    func(a *l7test.Appliance) { a.Publish(farm.Config{}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, a := newHeldBackend(t), l7test.New(t, 2)
			addr := a.Serve(nil, queueing(10, g.Addr))
			holder, wait := waiting(t, a, addr, g, 4)
			change(a)
			for range 5 {
				g.open <- struct{}{}
			}
			for _, c := range append(wait, holder) {
				if res := c.Get(); res.StatusCode != 200 {
					t.Errorf("answer %d", res.StatusCode)
				}
			}
		})
	}
}

func TestQueueEndsWithTheGraceOfItsFarm(t *testing.T) {
	t.Parallel()
	g, a := newHeldBackend(t), l7test.New(t, 2)
	addr := a.Serve(nil, queueing(10, g.Addr))
	_, wait := waiting(t, a, addr, g, 4)
	a.Engine.SetGrace(50 * time.Millisecond)
	a.Farm.Stopped = true
	a.Publish(farm.Config{Farms: []farm.Farm{a.Farm}})
	for _, c := range wait {
		_ = c.Rest()
	}
	l7test.Queued(t, a, 0)
}
