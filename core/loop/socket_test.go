package loop_test

import (
	"io"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/loop"
)

// option returns a socket option.
func option(t *testing.T, f *os.File, level, name int) int {
	t.Helper()
	raw, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var v int
	if err := raw.Control(func(fd uintptr) { v, err = unix.GetsockoptInt(int(fd), level, name) }); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// The options of a listener's socket are set as requested. Duplicates of it stay open.
func TestListenerOptionsTakeEffect(t *testing.T) {
	l := start(t)
	var config net.ListenConfig
	config.SetMultipathTCP(false) // MPTCP has no urgent bytes
	in, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f, err := in.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	var ln *loop.Listener
	var file *os.File
	accepted := make(chan *loop.Conn, 1)
	before := loop.OpenCounts()
	on(l, func() {
		if ln, err = l.Listen(f, func(c *loop.Conn) { c.SetHandler(&probe{}); accepted <- c }); err == nil {
			file, err = ln.File()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, step := range []struct {
		name          string
		do            func() error
		deferred, oob int
	}{
		{"at first", func() error { return nil }, 0, 0},
		{"Defer", ln.Defer, 1, 0},
		{"Prompt", ln.Prompt, 0, 0},
		{"Urgent", func() error { ln.Urgent(); return nil }, 0, 1},
	} {
		on(l, func() { err = step.do() })
		deferred, oob := option(t, file, unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT), option(t, file, unix.SOL_SOCKET, unix.SO_OOBINLINE)
		if err != nil || min(deferred, 1) != step.deferred || oob != step.oob {
			t.Errorf("%s: TCP_DEFER_ACCEPT is %d, SO_OOBINLINE %d, %v", step.name, deferred, oob, err)
		}
	}
	dial(t, in.Addr().String())
	c := <-accepted
	on(l, func() {
		if c.Local().String() != in.Addr().String() || loop.OpenCounts()[2] != before[2]+1 {
			t.Errorf("accepted at %v, want %v; %d listeners", c.Local(), in.Addr(), loop.OpenCounts()[2])
		}
		ln.Close()
		ln.Close()
		if now := loop.OpenCounts(); now[2] != before[2] {
			t.Errorf("%d listeners are counted, want %d", now[2], before[2])
		}
		if _, err := ln.File(); err == nil {
			t.Error("a closed listener has a socket")
		}
		if ln.Defer() == nil || ln.Prompt() == nil {
			t.Error("a closed listener accepts options")
		}
	})
	if again, err := net.FileListener(f); err != nil { // the caller's socket is still open
		t.Error(err)
	} else {
		_ = again.Close()
	}
	_ = f.Close()
	used := usedDescriptors(t)
	on(l, func() {
		if _, err := l.Listen(f, nil); err == nil {
			t.Error("a closed file is listened on")
		}
		if _, err := l.ListenUDP(f, nil); err == nil {
			t.Error("a closed file is listened on for datagrams")
		}
		if now, open := usedDescriptors(t), loop.OpenCounts(); now != used || open[2] != before[2] || open[3] != before[3] {
			t.Errorf("%d descriptors, %d before; counted %v", now, used, open)
		}
	})
}

func TestPushSendsHeldBytes(t *testing.T) {
	l := start(t)
	accepted := make(chan *loop.Conn, 1)
	addr := serve(t, l, func(c *loop.Conn) { c.SetHandler(&probe{}); accepted <- c })
	peer := dial(t, addr)
	c := <-accepted
	on(l, func() {
		_ = c.WriteMore([]byte("part"))
		held := c.SegmentsSent()
		c.Push()
		if pushed := c.SegmentsSent(); held != 0 || pushed != 1 {
			t.Errorf("%d segments left before Push, %d after it", held, pushed)
		}
	})
	got := make([]byte, 4)
	if _, err := io.ReadFull(peer, got); err != nil || string(got) != "part" {
		t.Errorf("got %q, %v", got, err)
	}
}

// Taking reports false for a peer that has accepted everything. Otherwise it reports
// the time since the peer last accepted bytes.
func TestTakingReportsTheTimeSincePeerProgress(t *testing.T) {
	l := start(t)
	accepted := make(chan *loop.Conn, 1)
	addr := serve(t, l, func(c *loop.Conn) { c.SetHandler(&probe{}); accepted <- c })
	peer := dial(t, addr)
	c := <-accepted
	taking := func() (since time.Duration, waiting bool) {
		on(l, func() {
			var nanos int64
			nanos, waiting = c.Taking()
			since = time.Duration(nanos)
		})
		return since, waiting
	}
	on(l, func() { _ = c.Write([]byte("a little")) })
	enginetest.Eventually(t, "what fits is taken", func() bool { _, waiting := taking(); return !waiting })
	if since, _ := taking(); since != 0 {
		t.Errorf("the listener waits for clients for %v, want 0", since)
	}
	began := time.Now()
	on(l, func() { _ = c.Write(make([]byte, 64<<20)) })
	enginetest.Eventually(t, "it waits for 50 ms", func() bool {
		since, waiting := taking()
		if most := time.Since(began) + 20*time.Millisecond; since > most || !waiting {
			t.Fatalf("waiting: %t, for %v, and it cannot be more than %v", waiting, since, most)
		}
		return since >= 50*time.Millisecond
	})
	_ = peer.Close()
	on(l, func() {
		c.Close()
		if since, waiting := c.Taking(); since != 0 || waiting {
			t.Errorf("a closed connection waits for %d ns", since)
		}
	})
}

// WaitFor wakes when all bytes are available, with a larger receive buffer if
// necessary.
func TestWaitForWakesWhenAllBytesAreAvailable(t *testing.T) {
	l := start(t)
	for _, n := range []int{1, 2, 32 << 10, 32<<10 + 1, 300 << 10} {
		var have []int
		woken, ready := make(chan bool, 64), make(chan *loop.Conn, 1)
		addr := serve(t, l, func(c *loop.Conn) {
			first := true
			c.SetHandler(&probe{readable: func(c *loop.Conn) {
				if first {
					first = false
					if err := c.WaitFor(n); err != nil {
						t.Error(err)
					}
					ready <- c
					return
				}
				m, _ := c.Peek(make([]byte, 1<<20))
				have = append(have, m)
				woken <- true
			}})
		})
		peer := dial(t, addr)
		c := <-ready
		if n == 1 {
			on(l, func() {
				if !c.Readable() {
					t.Error("one byte is waited for as if it were read")
				}
				c.Close()
			})
			continue
		}
		for sent := 0; sent < n-1; {
			m, err := peer.Write(make([]byte, min(100<<10, n-1-sent)))
			if err != nil {
				t.Fatal(err)
			}
			sent += m
		}
		_, _ = peer.Write([]byte("x"))
		<-woken
		on(l, func() {
			if len(have) != 1 || have[0] != n {
				t.Errorf("of %d bytes it was woken at %v", n, have)
			}
			c.Close()
			if c.WaitFor(2) == nil {
				t.Error("a closed connection waits")
			}
		})
	}
}
