package loop_test

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"

	"github.com/sluicelb/sluice/core/loop"
)

// pair accepts two connections on one loop and passes them to accept, in the order in
// which they were dialled.
func pair(t *testing.T, l *loop.Loop, accept func(i int, c *loop.Conn)) [2]*net.TCPConn {
	t.Helper()
	n, ready := 0, make(chan bool, 2)
	addr := serve(t, l, func(c *loop.Conn) {
		accept(n, c)
		n++
		ready <- true
	})
	var conns [2]*net.TCPConn
	for i := range conns {
		conns[i] = dial(t, addr)
		<-ready
	}
	return conns
}

// ended waits for the end of a connection on which nothing was sent.
func ended(c *net.TCPConn) bool {
	_, err := c.Read(make([]byte, 1))
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}

func TestContainedPanicEndsOnlyItsConnection(t *testing.T) {
	l := start(t)
	failed := make(chan error, 1)
	var other *loop.Conn
	conns := pair(t, l, func(i int, c *loop.Conn) {
		if i == 0 {
			other = c
			c.SetHandler(&probe{failed: func(_ *loop.Conn, err error) { failed <- err }})
			return
		}
		p := echo(l)
		back := p.readable
		p.readable = func(c *loop.Conn) {
			func() {
				defer other.Contain()
				if !other.Closed() {
					panic("a mistake in what is done for the other")
				}
			}()
			back(c)
		}
		c.SetHandler(p)
	})
	if _, err := conns[1].Write([]byte("y")); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; !errors.Is(err, loop.ErrPanic) {
		t.Errorf("Failed got %v", err)
	}
	if !ended(conns[0]) {
		t.Error("the connection the panic was contained to is still open")
	}
	if _, err := io.ReadFull(conns[1], make([]byte, 1)); err != nil {
		t.Errorf("the event was not continued: %v", err)
	}
}

func TestPanicInAVisitEndsOnlyTheVisitedConnection(t *testing.T) {
	l := start(t)
	failed := make(chan int, 2)
	conns := pair(t, l, func(i int, c *loop.Conn) {
		p := echo(l)
		p.failed = func(*loop.Conn, error) { failed <- i }
		c.SetHandler(p)
	})
	visits := 0
	on(l, func() {
		l.Each(func(*loop.Conn) {
			if visits++; visits == 1 {
				panic("a mistake in what is done to all")
			}
		})
	})
	if visits != 2 {
		t.Fatalf("%d of 2 connections were visited", visits)
	}
	bad := <-failed
	if !ended(conns[bad]) {
		t.Error("the visited connection is still open")
	}
	good := conns[1-bad]
	_, _ = good.Write([]byte("y"))
	if _, err := io.ReadFull(good, make([]byte, 1)); err != nil {
		t.Errorf("the other connection is no longer served: %v", err)
	}
}
