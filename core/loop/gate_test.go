package loop_test

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/loop"
)

// slots is a gate with a number of free places.
type slots struct{ free atomic.Int32 }

func (p *slots) Enter() bool {
	if p.free.Add(-1) < 0 {
		p.free.Add(1)
		return false
	}
	return true
}

func (p *slots) Leave() { p.free.Add(1) }

func TestGateLeavesConnectionsInTheQueue(t *testing.T) {
	l := start(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	f, err := ln.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var gate slots
	gate.free.Store(2)
	var accepted atomic.Int32
	var listener *loop.Listener
	on(l, func() {
		listener, err = l.Listen(f, func(c *loop.Conn) {
			accepted.Add(1)
			c.SetHandler(&probe{readable: func(c *loop.Conn) {
				if _, err := c.Read(l.In); err == io.EOF {
					c.Close()
					gate.Leave()
					listener.Resume()
				}
			}})
		})
		listener.Guard(&gate)
	})
	if err != nil {
		t.Fatal(err)
	}
	var clients []net.Conn
	for range 5 {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		clients = append(clients, c)
	}
	for i, c := range clients[:3] {
		want := int32(i + 2)
		for end := time.Now().Add(5 * time.Second); accepted.Load() != want && time.Now().Before(end); time.Sleep(time.Millisecond) {
		}
		time.Sleep(20 * time.Millisecond)
		if n := accepted.Load(); n != want {
			t.Fatalf("%d connections were accepted, want %d", n, want)
		}
		_ = c.Close()
	}
	time.Sleep(50 * time.Millisecond)
	if n, free := accepted.Load(), gate.free.Load(); n != 5 || free != 0 {
		t.Errorf("%d accepted, %d slots free", n, free)
	}
	on(l, func() { listener.Close(); listener.Resume() }) // no effect
}
