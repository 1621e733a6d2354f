package forward_test

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/l4/forward"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// appliance is an engine within the test.
type appliance struct {
	*enginetest.House
	t       testing.TB
	engine  *forward.Engine
	health  *health.Table
	reasons []string // of the records read
	segment *stats.Segment
	records *accesslog.Segment // nil: no records
	loops   []*loop.Loop
	gen     uint64

	published []farm.Farm
}

// newAppliance starts an engine with that many loops, which stop with the test.
func newAppliance(t testing.TB, loops int) *appliance {
	t.Helper()
	h := enginetest.New(t, loops)
	a := &appliance{House: h, t: t, health: h.Health, segment: h.Segment, loops: h.Loops, engine: forward.New(h.Loops, h.Health, h.Segment, h.Logger())}
	h.End(t, func() {
		a.empty()
		a.engine.Close()
	})
	return a
}

// empty removes all farms. Then no connection may be counted any more.
func (a *appliance) empty() {
	a.t.Helper()
	left := a.engine.Counted()
	if _, err := a.engine.Publish(a.engine.Generation()+1, &farm.Config{}, nil); err != nil {
		a.t.Fatal(err)
	}
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		now := left()
		if len(now) == 0 {
			return
		}
		if time.Now().After(end) {
			a.t.Errorf("still counted without a farm: %v", now)
			return
		}
	}
}

// farm returns a TCP farm with those backends, numbered from 1, on a port chosen by the
// kernel.
func (a *appliance) farm(backends ...string) farm.Farm {
	a.t.Helper()
	at := a.Listen(a.t, "127.0.0.1")
	l := farm.DefaultL4()
	l.ID, l.DataPath = 1, farm.DataPathUserspace
	l.Ports = []farm.PortRange{{First: at.Port(), Last: at.Port()}}
	for i, b := range backends {
		to := netip.MustParseAddrPort(b)
		l.Backends = append(l.Backends, farm.Backend{ID: uint32(i + 1), Host: to.Addr().String(), Addr: to.Addr(), Port: to.Port()})
	}
	return farm.Farm{ID: 1, Name: "test", Profile: farm.ProfileL4, VIP: at.Addr(), L4: l}
}

// publish publishes farms and fails the test if they are refused.
func (a *appliance) publish(farms ...farm.Farm) {
	a.t.Helper()
	a.gen++
	a.published = farms
	cfg := &farm.Config{Farms: farms}
	problems, err := a.engine.Publish(a.gen, cfg.Clone(), a.Files) // tests change their farms later
	if err != nil {
		a.t.Fatal(err)
	}
	for _, p := range problems {
		a.t.Fatal(p)
	}
}

// address returns the address of a farm.
func address(f farm.Farm) string {
	return netip.AddrPortFrom(f.VIP, f.L4.Ports[0].First).String()
}

// dial connects to a farm; the connection is closed with the test.
func (a *appliance) dial(f farm.Farm) *net.TCPConn {
	a.t.Helper()
	c, err := net.Dial("tcp", address(f))
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return c.(*net.TCPConn)
}

// server is a backend that runs a function for each connection.
type server struct {
	net.Listener
	taken atomic.Int64
}

// serve starts a backend; it and its connections are closed with the test.
func serve(t testing.TB, fn func(c *net.TCPConn)) *server {
	t.Helper()
	var lc net.ListenConfig
	lc.SetMultipathTCP(false) // MPTCP sockets do not accept filters
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{Listener: ln}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				time.Sleep(time.Millisecond) // out of descriptors, which a test may use up
				continue
			}
			s.taken.Add(1)
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			wg.Go(func() {
				defer c.Close()
				fn(c.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		mu.Lock()
		for _, c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return s
}

func (s *server) at() string { return s.Addr().String() }

// echo echoes until the client ends.
func echo(c *net.TCPConn) { _, _ = io.Copy(c, c) }

// name sends a name, then echoes.
func name(n string) func(c *net.TCPConn) {
	return func(c *net.TCPConn) {
		_, _ = io.WriteString(c, n+"\n")
		_, _ = io.Copy(c, c)
	}
}

// refusedAddr returns an address without a listener.
func refusedAddr(t testing.TB) string {
	t.Helper()
	return enginetest.NewSilent(t).Addr
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	enginetest.Eventually(t, what, ok)
}

// line reads up to a newline.
func line(t testing.TB, c net.Conn) string {
	t.Helper()
	var b []byte
	one := make([]byte, 1)
	for {
		if _, err := io.ReadFull(c, one); err != nil {
			t.Fatalf("no line: %v after %q", err, b)
		}
		if one[0] == '\n' {
			return string(b)
		}
		b = append(b, one[0])
	}
}
