package dial_test

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/l7test"
)

// heeding is an owner that reports its events.
type heeding struct {
	user
	heard chan string
}

func (h *heeding) BackendConnected(int64, bool, error) { h.heard <- "connected" }
func (h *heeding) BackendReadable()                    { h.heard <- "readable" }
func (h *heeding) BackendDrained()                     { h.heard <- "drained" }

func TestOwnerIsNotifiedOfRoomAndTurn(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	b := newBench(t)
	h := &heeding{heard: make(chan string, 9)}
	b.on(func() {
		h.conn, err = b.pool.Dial(&dial.Target{ID: 3, Addr: netip.MustParseAddrPort(ln.Addr().String()), Timeout: int64(5 * time.Second)}, h)
	})
	if got := <-h.heard; err != nil || got != "connected" {
		t.Fatal(got, err)
	}
	const size = 16 << 20
	b.on(func() { _ = h.conn.SendBody(make([]byte, size), true, nil) })
	peer, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = peer.Close() })
	for n, buf := 0, make([]byte, 1<<20); n < size; {
		some, err := peer.Read(buf)
		if n += some; err != nil {
			t.Fatalf("after %d bytes: %v", n, err)
		}
	}
	if got := <-h.heard; got != "drained" {
		t.Errorf("it hears %s when all has left", got)
	}
	b.on(func() { h.conn.Again() })
	if got := <-h.heard; got != "readable" {
		t.Errorf("it hears %s when it is its turn", got)
	}
	b.on(h.conn.Discard)
}

// Bytes after a response are unsolicited. They are detected before the connection becomes
// idle.
func TestConnectionWithExtraBytesIsNotPooled(t *testing.T) {
	k := newKeptConns(t, dial.NewKept)
	c := k.dial(3, 0, netip.MustParseAddrPort(k.backend.Addr))
	k.says <- "x"
	l7test.Eventually(t, "it came", func() (came bool) { k.on(func() { came = c.Conn.Readable() }); return came })
	k.on(func() { k.pool.Put(c) })
	if n := k.idle(3); n != 0 {
		t.Errorf("%d are idle", n)
	}
	k.open(0)
}
