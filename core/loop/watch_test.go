package loop_test

import (
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/loop"
)

// A client that is waited for has room in its socket, which must not cause an event.
// The only events are the accept and its bytes.
func TestWaitingForAClientCausesNoEvent(t *testing.T) {
	var events uint64
	l, err := loop.New(&loop.Counters{Events: &events})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = l.Run() }()
	t.Cleanup(l.Stop)
	reads := make(chan error, 8)
	addr := serve(t, l, func(c *loop.Conn) {
		c.SetHandler(&probe{readable: func(c *loop.Conn) {
			_, err := c.Read(l.In)
			reads <- err
		}})
	})
	var before, after uint64
	on(l, func() { before = events })
	c := dial(t, addr)
	if err := <-reads; err != loop.ErrDry {
		t.Fatalf("first read: %v", err)
	}
	_, _ = c.Write([]byte("x"))
	if err := <-reads; err != nil {
		t.Fatal(err)
	}
	on(l, func() { after = events })
	if n := after - before; n != 2 {
		t.Errorf("%d events, want 2", n)
	}
}

// A connection that keeps moving its idle deadline stays open. An idle one is ended after its
// idle time, within a small tolerance.
func TestEveryReadRestartsTheIdleTimeout(t *testing.T) {
	const idle = 400 * time.Millisecond
	l := start(t)
	read, expired := make(chan time.Time, 64), make(chan time.Time, 1)
	addr := serve(t, l, func(c *loop.Conn) {
		c.SetHandler(&probe{
			readable: func(c *loop.Conn) {
				if n, _ := c.Read(l.In); n > 0 {
					read <- time.Now()
					c.SetIdle(int64(idle))
				}
			},
			expired: func(c *loop.Conn) {
				expired <- time.Now()
				c.Close()
			},
		})
	})
	var last time.Time
	// lives reports whether the connection outlived its idle time. If the test itself
	// was delayed that long between two bytes, it need not have.
	lives := func() bool {
		c := dial(t, addr)
		for range 12 {
			_, _ = c.Write([]byte("x")) // fails after the end
			select {
			case last = <-read:
			case at := <-expired:
				if got := at.Sub(last); got < idle {
					t.Fatalf("ended %v after the last byte", got)
				}
				return false
			}
			time.Sleep(60 * time.Millisecond)
		}
		return true
	}
	for !lives() {
		t.Log("held up: once more")
	}
	select {
	case at := <-expired:
		if got := at.Sub(last); got < idle {
			t.Errorf("ended %v after the last byte", got)
		}
	case <-time.After(5 * time.Second):
		t.Error("never ended")
	}
}
