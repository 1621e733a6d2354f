package forward_test

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/l4/forward"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// appliance is an engine in the test's own process.
type appliance struct {
	t       testing.TB
	engine  *forward.Engine
	board   *health.Board
	segment *stats.Segment
	loops   []*loop.Loop
	files   map[string][]*os.File
	gen     uint64
	log     logged

	published []farm.Farm
}

// logged keeps what the engine says.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), text)
}

// newAppliance starts an engine with that many loops, which end with the test.
func newAppliance(t testing.TB, loops int) *appliance {
	t.Helper()
	a := &appliance{t: t, files: map[string][]*os.File{}}
	var err error
	if a.board, err = health.OpenBoard(make([]byte, health.BoardSize)); err != nil {
		t.Fatal(err)
	}
	if a.segment, err = stats.CreateSegment(memory(t, stats.SegmentSize), loops); err != nil {
		t.Fatal(err)
	}
	for i := range loops {
		c := a.segment.Shard(i).Loop()
		l, err := loop.New(&loop.Counters{Events: &c.Events, Accepted: &c.Accepted, AcceptErrors: &c.AcceptErrors, Panics: &c.Panics})
		if err != nil {
			t.Fatal(err)
		}
		a.loops = append(a.loops, l)
		go func() {
			if err := l.Run(); err != nil {
				t.Error(err)
			}
		}()
	}
	a.engine = forward.New(a.loops, a.board, a.segment, slog.New(slog.NewTextHandler(&a.log, nil)))
	t.Cleanup(a.close)
	return a
}

func (a *appliance) close() {
	a.engine.Close()
	for _, l := range a.loops {
		l.Stop()
	}
	var panics uint64
	for _, c := range a.segment.SumLoops() {
		panics += c.Panics
	}
	if panics > 0 {
		a.t.Errorf("%d panics were contained: %s", panics, a.log.text.String())
	}
	for _, files := range a.files {
		for _, f := range files {
			_ = f.Close()
		}
	}
}

func memory(t testing.TB, size int) []byte {
	t.Helper()
	f, err := shm.Shared("test", size)
	if err != nil {
		t.Fatal(err)
	}
	m, err := shm.MapShared(f, true)
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	t.Cleanup(func() { _ = m.Close() })
	return m.Bytes()
}

// reusable lets each loop have a socket of its own on one port.
var reusable = net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, 15, 1) // SO_REUSEPORT
		if failed == nil {
			failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
		}
	})
	if err != nil {
		return err
	}
	return failed
}}

// listen opens one socket per loop on a port of the kernel's choice.
func (a *appliance) listen(ip string) netip.AddrPort {
	a.t.Helper()
	addr := net.JoinHostPort(ip, "0")
	var files []*os.File
	for range a.loops {
		ln, err := reusable.Listen(a.t.Context(), "tcp", addr)
		if err != nil {
			a.t.Fatal(err)
		}
		f, err := ln.(*net.TCPListener).File()
		if err != nil {
			a.t.Fatal(err)
		}
		addr = ln.Addr().String()
		_ = ln.Close()
		files = append(files, f)
	}
	at := netip.MustParseAddrPort(addr)
	a.files[farm.Listener{Transport: farm.L4TCP, Addr: at}.Key()] = files
	return at
}

// farm makes a TCP farm with those backends, numbered from 1, on a port of the
// kernel's choice.
func (a *appliance) farm(backends ...string) farm.Farm {
	a.t.Helper()
	at := a.listen("127.0.0.1")
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
	problems, err := a.engine.Publish(a.gen, &farm.Config{Farms: farms}, a.files)
	if err != nil {
		a.t.Fatal(err)
	}
	for _, p := range problems {
		a.t.Fatal(p)
	}
}

// address is where clients of a farm connect to.
func address(f farm.Farm) string {
	return netip.AddrPortFrom(f.VIP, f.L4.Ports[0].First).String()
}

// dial connects to a farm; the connection ends with the test.
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

// server is a backend that gives each connection to a function.
type server struct {
	net.Listener
	taken atomic.Int64
}

// serve starts a backend; it and its connections end with the test.
func serve(t testing.TB, fn func(c *net.TCPConn)) *server {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
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
				time.Sleep(time.Millisecond) // of descriptors, which a test may take
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

// echo sends back what comes, until the client ends.
func echo(c *net.TCPConn) { _, _ = io.Copy(c, c) }

// name says a name first, then sends back what comes.
func name(n string) func(c *net.TCPConn) {
	return func(c *net.TCPConn) {
		_, _ = io.WriteString(c, n+"\n")
		_, _ = io.Copy(c, c)
	}
}

// refused is an address nobody listens on.
func refused(t testing.TB) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// eventually waits until ok holds, at most five seconds.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("not within five seconds: %s", what)
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
