package loop_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/loop"
)

func TestHandshakesOverTheLimitWaitInOrderAndThenAreClosed(t *testing.T) {
	var refused uint64
	l, err := loop.New(&loop.Counters{HandshakesRefused: &refused})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = l.Run() }()
	t.Cleanup(l.Stop)
	on(l, func() { l.LimitHandshakes(1, 2) })
	order := make(chan string, 16)
	n := 0
	addr := secure(t, l, serverConfig(nil, "P-256"), func(*loop.Conn) *probe {
		p, i := echo(l), n
		n++
		p.connected = func(_ *loop.Conn, err error) { order <- fmt.Sprint(i, " ", err) }
		return p
	})
	state := func() (under, waiting int) {
		on(l, func() { under, waiting = l.Handshakes() })
		return under, waiting
	}
	first := dial(t, addr) // occupies the only slot
	_, _ = first.Write([]byte{0x16, 3, 1})
	eventually(t, "the first is not under way", func() bool { u, _ := state(); return u == 1 })
	var done []chan error
	for i := 1; i <= 3; i++ {
		c, result := tls.Client(dial(t, addr), clientConfig(nil)), make(chan error, 1)
		done = append(done, result)
		go func() { result <- c.Handshake() }()
		if i <= 2 {
			eventually(t, "it does not wait", func() bool { _, w := state(); return w == i })
		}
	}
	if got := <-order; got != "3 too many handshakes" {
		t.Errorf("first outcome %q, want %q", got, "3 too many handshakes")
	}
	if err := <-done[2]; err == nil {
		t.Error("the client over the limit has a handshake")
	}
	_ = first.Close()
	for i, want := range []string{"0 unexpected EOF", "1 <nil>", "2 <nil>"} {
		if got := <-order; got != want {
			t.Errorf("outcome %q, want %q", got, want)
		}
		if i > 0 {
			if err := <-done[i-1]; err != nil {
				t.Errorf("client %d: %v", i, err)
			}
		}
	}
	on(l, func() {
		if refused != 1 {
			t.Errorf("%d refused, want 1", refused)
		}
	})
}

func TestWaitingClientThatLeavesMakesRoom(t *testing.T) {
	l := start(t)
	on(l, func() { l.LimitHandshakes(1, 1) })
	outcomes := make(chan error, 8)
	// The handshake in the only slot waits for a worker, so it is not aborted.
	works, release := make(chan bool, 1), make(chan bool)
	addr := secure(t, l, slowConfig(func() { works <- true; <-release }, nil), outcome(l, outcomes))
	t.Cleanup(func() { close(release) })
	first := tls.Client(dial(t, addr), clientConfig(nil))
	go func() { _ = first.Handshake() }()
	<-works
	waits := func() (n int) {
		on(l, func() { _, n = l.Handshakes() })
		return n
	}
	for range 3 {
		c := dial(t, addr)
		_, _ = c.Write([]byte{0x16, 3, 1})
		eventually(t, "it does not wait", func() bool { return waits() == 1 })
		_ = c.SetLinger(0)
		_ = c.Close()
		if err := <-outcomes; err != io.ErrUnexpectedEOF {
			t.Errorf("outcome %v", err)
		}
		if n := waits(); n != 0 {
			t.Errorf("%d wait", n)
		}
	}
}

// Clients that stall in the handshake do not block others forever.
func TestStalledHandshakesMakeRoom(t *testing.T) {
	l := start(t)
	on(l, func() { l.LimitHandshakes(3, 8) })
	addr := secure(t, l, serverConfig(nil, "P-256"), func(*loop.Conn) *probe { return echo(l) })
	began := time.Now()
	for range 3 {
		_, _ = dial(t, addr).Write([]byte{0x16, 3, 1})
	}
	eventually(t, "they are not under way", func() (all bool) {
		on(l, func() { n, _ := l.Handshakes(); all = n == 3 })
		return all
	})
	c := tls.Client(dial(t, addr), clientConfig(nil))
	if err := c.Handshake(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 3*time.Second {
		t.Errorf("served after %v: one of them had no three seconds", took)
	}
}

// A burst of clients is served completely although each turn starts only some
// handshakes. A plain connection is served in between.
func TestABurstOfHandshakesIsServed(t *testing.T) {
	l := start(t)
	addr := secure(t, l, serverConfig(nil, "P-256"), func(*loop.Conn) *probe { return echo(l) })
	block, release := make(chan bool), make(chan bool)
	l.Post(func() { close(block); <-release })
	<-block
	const clients = 60
	results := make(chan error, clients)
	for range clients {
		c := tls.Client(dial(t, addr), clientConfig(nil))
		go func() { results <- c.Handshake() }()
	}
	time.Sleep(100 * time.Millisecond)
	close(release)
	for range clients {
		if err := <-results; err != nil {
			t.Fatal(err)
		}
	}
}
