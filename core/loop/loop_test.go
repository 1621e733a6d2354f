package loop_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/porttest"
)

// probe is a handler that calls its functions; nil ones are ignored.
type probe struct {
	readable  func(c *loop.Conn)
	drained   func(c *loop.Conn)
	connected func(c *loop.Conn, err error)
	expired   func(c *loop.Conn)
	failed    func(c *loop.Conn, err error)
}

func (p *probe) Readable(c *loop.Conn) {
	if p.readable != nil {
		p.readable(c)
	}
}
func (p *probe) Drained(c *loop.Conn) {
	if p.drained != nil {
		p.drained(c)
	}
}
func (p *probe) Connected(c *loop.Conn, err error) {
	if p.connected != nil {
		p.connected(c, err)
	}
}
func (p *probe) Expired(c *loop.Conn) {
	if p.expired != nil {
		p.expired(c)
	}
}
func (p *probe) Failed(c *loop.Conn, err error) {
	if p.failed != nil {
		p.failed(c, err)
	}
}

func start(t *testing.T) *loop.Loop {
	t.Helper()
	l, err := loop.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if err := l.Run(); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(l.Stop)
	return l
}

func on(l *loop.Loop, fn func()) {
	done := make(chan struct{})
	l.Post(func() { defer close(done); fn() })
	<-done
}

// serve listens on a loopback port and calls accept for each connection.
func serve(t *testing.T, l *loop.Loop, accept func(c *loop.Conn)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f, err := ln.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	_ = ln.Close()
	t.Cleanup(func() { _ = f.Close() })
	on(l, func() {
		if _, err := l.Listen(f, accept); err != nil {
			t.Error(err)
		}
	})
	return ln.Addr().String()
}

func dial(t *testing.T, addr string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return c.(*net.TCPConn)
}

// echo returns a handler that writes back what it reads and pauses while the peer does
// not read.
func echo(l *loop.Loop) *probe {
	p := &probe{}
	p.readable = func(c *loop.Conn) {
		for range 4 {
			if c.Pending() != 0 {
				return
			}
			n, err := c.Read(l.In)
			switch {
			case err == loop.ErrDry:
				return
			case err == io.EOF:
				c.Linger(int64(time.Second))
				return
			case err != nil:
				c.Close()
				return
			}
			if c.Write(l.In[:n]) != nil {
				c.Close()
				return
			}
		}
		l.Again(c)
	}
	p.drained = p.readable
	return p
}

func TestEchoDeliversEveryByteAndPassesTheHalfClose(t *testing.T) {
	l := start(t)
	addr := serve(t, l, func(c *loop.Conn) { c.SetHandler(echo(l)) })
	c := dial(t, addr)
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<20) // 16 MiB
	go func() {
		_, _ = c.Write(sent)
		_ = c.CloseWrite()
	}()
	h := sha256.New()
	n, err := io.Copy(h, c)
	if err != nil || n != int64(len(sent)) {
		t.Fatalf("got %d bytes, %v; want %d", n, err, len(sent))
	}
	if [32]byte(h.Sum(nil)) != sha256.Sum256(sent) {
		t.Fatal("the echoed bytes differ")
	}
}

func TestNonReadingClientBlocksTheSender(t *testing.T) {
	l := start(t)
	var conn atomic.Pointer[loop.Conn]
	addr := serve(t, l, func(c *loop.Conn) { conn.Store(c); c.SetHandler(echo(l)) })
	c := dial(t, addr)
	_ = c.SetWriteDeadline(time.Now().Add(2 * time.Second))
	block := make([]byte, 1<<20)
	total := 0
	for {
		n, err := c.Write(block)
		total += n
		if err != nil {
			break
		}
		if total > 512<<20 {
			t.Fatal("the loop reads without limit although the peer does not")
		}
	}
	on(l, func() {
		if p := conn.Load().Pending(); p > loop.ReadSize {
			t.Errorf("%d bytes are held for a client that does not read, want at most %d", p, loop.ReadSize)
		}
	})
	go func() { _ = c.CloseWrite() }()
	if n, err := io.Copy(io.Discard, c); err != nil || n != int64(total) {
		t.Fatalf("after the pause %d of %d bytes were echoed: %v", n, total, err)
	}
}

func TestDialReportsItsOutcome(t *testing.T) {
	l := start(t)
	addr := serve(t, l, func(c *loop.Conn) { c.SetHandler(echo(l)) })
	for _, test := range []struct {
		name, addr string
		want       error
	}{
		{"a listening address", addr, nil},
		{"a port nobody listens on", enginetest.NewSilent(t).Addr, syscall.ECONNREFUSED},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := make(chan error, 1)
			on(l, func() {
				_, err := l.Dial(netip.MustParseAddrPort(test.addr), &probe{
					connected: func(_ *loop.Conn, err error) { got <- err },
				}, int64(5*time.Second), loop.DialOptions{Source: netip.MustParseAddr("127.0.0.2")})
				if err != nil {
					t.Error(err)
				}
			})
			if err := <-got; !errors.Is(err, test.want) {
				t.Fatalf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestDialTimesOut(t *testing.T) {
	l := start(t)
	addr := porttest.Full(t).String()
	got := make(chan error, 1)
	began := time.Now()
	on(l, func() {
		_, err := l.Dial(netip.MustParseAddrPort(addr), &probe{
			connected: func(_ *loop.Conn, err error) { got <- err },
		}, int64(300*time.Millisecond), loop.DialOptions{})
		if err != nil {
			t.Error(err)
		}
	})
	select {
	case err := <-got:
		if !errors.Is(err, loop.ErrTimeout) {
			t.Fatalf("got %v, want a time-out", err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("no outcome")
	}
	if took := time.Since(began); took < 250*time.Millisecond {
		t.Fatalf("timed out after %v, before its time", took)
	}
}

func TestBytesWrittenWhileConnectingArrive(t *testing.T) {
	l := start(t)
	addr := serve(t, l, func(c *loop.Conn) { c.SetHandler(echo(l)) })
	got := make(chan string, 1)
	on(l, func() {
		c, err := l.Dial(netip.MustParseAddrPort(addr), &probe{readable: func(c *loop.Conn) {
			b := make([]byte, 64)
			if n, err := c.Read(b); err == nil {
				got <- string(b[:n])
			}
		}}, int64(time.Second), loop.DialOptions{})
		if err != nil {
			t.Error(err)
			return
		}
		_ = c.Write([]byte("early"))
	})
	if s := <-got; s != "early" {
		t.Fatalf("got %q, want %q", s, "early")
	}
}

func TestPanicInAHandlerCostsOnlyItsConnection(t *testing.T) {
	panics := uint64(0)
	l, err := loop.New(&loop.Counters{Events: new(uint64), Accepted: new(uint64), AcceptErrors: new(uint64), Panics: &panics})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = l.Run() }()
	t.Cleanup(l.Stop)
	failed := make(chan error, 1)
	first := true
	addr := serve(t, l, func(c *loop.Conn) {
		if !first {
			c.SetHandler(echo(l))
			return
		}
		first = false
		c.SetHandler(&probe{
			readable: func(c *loop.Conn) {
				if _, err := c.Read(l.In); err == nil {
					panic("a handler's mistake")
				}
			},
			failed: func(_ *loop.Conn, err error) { failed <- err },
		})
	})
	bad := dial(t, addr)
	_, _ = bad.Write([]byte("x"))
	if err := <-failed; !errors.Is(err, loop.ErrPanic) {
		t.Fatalf("Failed got %v", err)
	}
	if _, err := bad.Read(make([]byte, 1)); err == nil {
		t.Fatal("the connection of the panicked handler is still open")
	}
	good := dial(t, addr)
	_, _ = good.Write([]byte("y"))
	if _, err := io.ReadFull(good, make([]byte, 1)); err != nil {
		t.Fatalf("the loop serves no more: %v", err)
	}
	on(l, func() {
		if panics != 1 {
			t.Errorf("%d panics counted, want 1", panics)
		}
	})
}

func TestDeadlines(t *testing.T) {
	l := start(t)
	fired := make(chan time.Duration, 4)
	addr := serve(t, l, func(c *loop.Conn) {
		began := l.Now()
		c.SetHandler(&probe{expired: func(c *loop.Conn) { fired <- time.Duration(l.Now() - began); c.Close() }})
		c.SetDeadline(l.Now() + int64(100*time.Millisecond))
		c.SetDeadline(l.Now() + int64(500*time.Millisecond)) // later
	})
	dial(t, addr)
	if took := <-fired; took < 450*time.Millisecond {
		t.Fatalf("fired after %v, before its time", took)
	}
	earlier := serve(t, l, func(c *loop.Conn) {
		c.SetHandler(&probe{expired: func(c *loop.Conn) { fired <- 0; c.Close() }})
		c.SetDeadline(l.Now() + int64(time.Hour))
		c.SetDeadline(l.Now() + int64(200*time.Millisecond))
	})
	dial(t, earlier)
	select {
	case <-fired:
	case <-time.After(10 * time.Second):
		t.Fatal("a deadline that was moved earlier did not fire")
	}
	unset := serve(t, l, func(c *loop.Conn) {
		c.SetHandler(&probe{expired: func(*loop.Conn) { fired <- 0 }})
		c.SetDeadline(l.Now() + int64(100*time.Millisecond))
		c.SetDeadline(0)
	})
	dial(t, unset)
	select {
	case <-fired:
		t.Fatal("an unset deadline fired")
	case <-time.After(500 * time.Millisecond):
	}
}

func TestTimersFarAheadFireOnTime(t *testing.T) {
	l := start(t)
	fired := make(chan struct{})
	on(l, func() {
		tm := l.NewTimer(func() { close(fired) })
		l.StartTimer(tm, int64(time.Hour))
		l.StartTimer(tm, int64(150*time.Millisecond))
		gone := l.NewTimer(func() { t.Error("a stopped timer fired") })
		l.StartTimer(gone, int64(100*time.Millisecond))
		l.StopTimer(gone)
	})
	select {
	case <-fired:
	case <-time.After(3 * time.Second):
		t.Fatal("the timer did not fire")
	}
}

func TestLingerDeliversTheLastAnswerToAPeerThatStillSends(t *testing.T) {
	l := start(t)
	addr := serve(t, l, func(c *loop.Conn) {
		c.SetHandler(&probe{readable: func(c *loop.Conn) {
			if _, err := c.Read(l.In[:10]); err == nil {
				_ = c.Write([]byte("no more"))
				c.Linger(int64(5 * time.Second))
			}
		}})
	})
	c := dial(t, addr)
	for range 20 {
		if _, err := c.Write(make([]byte, 64<<10)); err != nil {
			t.Fatalf("the sender was cut off: %v", err)
		}
	}
	_ = c.CloseWrite()
	got, err := io.ReadAll(c)
	if err != nil || string(got) != "no more" {
		t.Fatalf("got %q, %v", got, err)
	}
}

func TestLingerEndsWithItsTime(t *testing.T) {
	l := start(t)
	c := dial(t, serve(t, l, func(c *loop.Conn) {
		c.SetHandler(&probe{})
		c.Linger(int64(200 * time.Millisecond))
	}))
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := c.Write([]byte("still here")); err != nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal("a peer that never ends is listened to for ever")
		}
	}
}

func TestAcceptingRecoversWhenDescriptorsRanOut(t *testing.T) {
	if os.Getenv("LOOP_FEW_DESCRIPTORS") == "" {
		rerun(t, "LOOP_FEW_DESCRIPTORS=1")
		return
	}
	limit := syscall.Rlimit{Cur: 96, Max: 96}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	l := start(t)
	addr := serve(t, l, func(c *loop.Conn) { c.SetHandler(echo(l)) })
	speak := func(c net.Conn) error {
		_ = c.SetDeadline(time.Now().Add(5 * time.Second))
		if _, err := c.Write([]byte("x")); err != nil {
			return err
		}
		_, err := io.ReadFull(c, make([]byte, 1))
		return err
	}
	first := dial(t, addr)
	if err := speak(first); err != nil { // it is accepted
		t.Fatal(err)
	}
	var held []net.Conn
	for range 200 { // both ends are in this process, so the limit is reached soon
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if err != nil {
			break
		}
		held = append(held, c)
	}
	if len(held) == 200 {
		t.Fatal("the limit was not reached")
	}
	if err := speak(first); err != nil {
		t.Fatalf("a connection from before is not served: %v", err)
	}
	for _, c := range held {
		_ = c.Close()
	}
	c := dial(t, addr)
	if err := speak(c); err != nil {
		t.Fatalf("no recovery: %v", err)
	}
}

func TestConnectionThatAlwaysHasMoreDoesNotStarveOthers(t *testing.T) {
	l := start(t)
	var stop atomic.Bool
	busy := &probe{readable: func(c *loop.Conn) {
		if stop.Load() {
			return
		}
		l.Again(c)
	}}
	first := true
	addr := serve(t, l, func(c *loop.Conn) {
		if first {
			first = false
			c.SetHandler(busy)
			return
		}
		c.SetHandler(echo(l))
	})
	t.Cleanup(func() { stop.Store(true) })
	_, _ = dial(t, addr).Write([]byte("x"))
	other := dial(t, addr)
	_ = other.SetDeadline(time.Now().Add(3 * time.Second))
	if _, err := other.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(other, make([]byte, 5)); err != nil {
		stop.Store(true)
		t.Fatalf("the other connection got no turn: %v", err)
	}
}

// TestEventOfAClosedConnectionDoesNotBreakItsSuccessor puts three events into one
// batch: one that makes a handler close a connection, new connections that reuse its
// descriptor, and the reset of the closed one.
func TestEventOfAClosedConnectionDoesNotBreakItsSuccessor(t *testing.T) {
	l := start(t)
	var conns []*loop.Conn
	addr := serve(t, l, func(c *loop.Conn) {
		conns = append(conns, c)
		c.SetHandler(&probe{readable: func(c *loop.Conn) {
			if _, err := c.Read(l.In); err == nil {
				conns[1].Close()
			}
		}})
	})
	accepted := func(n int) {
		for have := 0; have < n; {
			on(l, func() { have = len(conns) })
		}
	}
	trigger := dial(t, addr)
	accepted(1)
	victim := dial(t, addr)
	accepted(2)
	blocked, release := make(chan struct{}), make(chan struct{})
	l.Post(func() { close(blocked); <-release })
	<-blocked
	if _, err := trigger.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		dial(t, addr)
	}
	_ = victim.SetLinger(0)
	_ = victim.Close()
	close(release)
	accepted(10)
	on(l, func() {
		for i, c := range conns[2:] {
			if c.Broken() {
				t.Errorf("new connection %d is broken", i)
			}
		}
	})
}
