package loop_test

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/loop"
)

// succeed has the loop handle, in one batch, an event in which a connection is
// closed and then an event of that connection: it can be written to and its peer
// has ended. In between next dials, which gets the same descriptor.
func succeed(t *testing.T, l *loop.Loop, next func() (*loop.Conn, error)) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var earlier *loop.Conn
	stands := make(chan error, 1)
	on(l, func() {
		earlier, err = l.Dial(netip.MustParseAddrPort(ln.Addr().String()), &probe{
			connected: func(_ *loop.Conn, err error) { stands <- err },
		}, int64(5*time.Second), loop.DialOptions{})
	})
	if err := errors.Join(err, <-stands); err != nil {
		t.Fatal(err)
	}
	peer, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan bool, 1)
	addr := serve(t, l, func(c *loop.Conn) {
		c.SetHandler(&probe{readable: func(c *loop.Conn) {
			if _, err := c.Read(l.In); err != nil {
				return
			}
			number := earlier.Number()
			earlier.Close()
			if c, err := next(); err != nil || c.Number() != number {
				t.Errorf("the next connection has another descriptor, or none: %v", err)
			}
			done <- true
		}})
	})
	trigger := dial(t, addr)
	for waits := false; !waits; {
		on(l, func() {
			l.Each(func(c *loop.Conn) { waits = waits || c.Peer().String() == trigger.LocalAddr().String() })
		})
	}
	blocked, release := make(chan bool), make(chan bool)
	l.Post(func() { close(blocked); <-release })
	<-blocked
	if _, err := trigger.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	_ = peer.Close()
	close(release)
	<-done
}

func TestAnEventOfAnEarlierConnectionDoesNotMakeAConnectSucceed(t *testing.T) {
	l := start(t)
	nobody := netip.MustParseAddrPort(silent(t))
	told := make(chan error, 2)
	succeed(t, l, func() (*loop.Conn, error) {
		return l.Dial(nobody, &probe{connected: func(_ *loop.Conn, err error) { told <- err }}, int64(time.Second/2), loop.DialOptions{})
	})
	if err := <-told; !errors.Is(err, loop.ErrTimeout) {
		t.Errorf("a connect that nobody answers: %v, want %v", err, loop.ErrTimeout)
	}
}

func TestAnEventOfAnEarlierConnectionDoesNotEndAStream(t *testing.T) {
	l := start(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	type part struct {
		text string
		err  error
	}
	parts := make(chan part, 8)
	read := func(c *loop.Conn) {
		for {
			n, err := c.Read(l.In)
			if err == loop.ErrDry {
				return
			}
			parts <- part{string(l.In[:n]), err}
			if err != nil {
				c.Close()
				return
			}
		}
	}
	succeed(t, l, func() (*loop.Conn, error) {
		return l.Dial(netip.MustParseAddrPort(ln.Addr().String()), &probe{
			connected: func(c *loop.Conn, err error) { read(c) }, readable: read,
		}, int64(5*time.Second), loop.DialOptions{})
	})
	peer, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"first", "second", "third"} {
		if _, err := peer.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := <-parts; got != (part{text, nil}) {
			t.Fatalf("read %q, %v, want %q", got.text, got.err, text)
		}
	}
	_, _ = peer.Write([]byte("last"))
	_ = peer.Close()
	if got := <-parts; got != (part{"last", nil}) {
		t.Errorf("read %q, %v, want the last bytes", got.text, got.err)
	}
	if got := <-parts; got.err != io.EOF {
		t.Errorf("read %q, %v, want the end", got.text, got.err)
	}
}
