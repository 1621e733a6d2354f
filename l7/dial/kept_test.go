package dial_test

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/proxyproto"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/l7test"
)

// keptConns is a client that keeps connections, and their backend.
type keptConns struct {
	*bench
	*dial.Kept
	backend *l7test.Backend
	says    chan string // next output of the backend, on any connection; "" closes it
	client  *dial.Conn  // stands for the client's connection
	dialled int
}

func newKeptConns(t *testing.T, kept func(*loop.Conn) *dial.Kept) *keptConns {
	k := &keptConns{bench: newBench(t), says: make(chan string)}
	k.backend = l7test.NewBackend(t, func(c *l7test.Recorder) {
		ended := make(chan struct{})
		go func() { defer close(ended); _, _ = c.Head() }()
		for {
			select {
			case text := <-k.says:
				if c.Say(text); text == "" {
					_ = c.CloseWrite()
				}
			case <-ended:
				return
			}
		}
	})
	k.client = k.dial(0, 0, backend(t, nil, nil))
	k.Kept, k.dialled = kept(k.client.Conn), 0
	return k
}

// dial connects to a backend ID, with a PROXY header if announce is set.
func (k *keptConns) dial(id uint32, announce proxyproto.Version, addr netip.AddrPort) *dial.Conn {
	k.t.Helper()
	u := &opener{user{done: make(chan result, 1)}}
	k.on(func() {
		var err error
		u.conn, err = k.pool.Dial(&dial.Target{ID: id, Addr: addr, Timeout: int64(5 * time.Second), Announce: announce}, u)
		if err != nil {
			k.t.Error(err)
		}
	})
	if r := <-u.done; r.err != nil {
		k.t.Fatal(r.err)
	}
	k.dialled++
	k.on(u.conn.Wait) // as after a response was read
	return u.conn
}

// opener waits for the outcome of its connect.
type opener struct{ user }

func (o *opener) BackendConnected(_ int64, _ bool, err error) { o.done <- result{err: err} }
func (o *opener) BackendReadable()                            {}

// keep opens a connection to a backend and keeps it for a service.
func (k *keptConns) keep(id, service uint32, announce proxyproto.Version) (c *dial.Conn) {
	k.t.Helper()
	c = k.dial(id, announce, netip.MustParseAddrPort(k.backend.Addr))
	k.on(func() { c.FinishFor(k.Kept, service, true) })
	return c
}

// open waits until n connections are open at the backend.
func (k *keptConns) open(n int) {
	k.t.Helper()
	l7test.Eventually(k.t, "connections that nobody keeps are closed", func() bool {
		return k.backend.Accepted() == k.dialled && k.backend.Open() == n
	})
}

// take takes a connection for a service if its backend is in fit.
func (k *keptConns) take(service uint32, fit ...uint32) (c *dial.Conn) {
	k.on(func() {
		c = k.Take(service, &user{}, func(_ *dial.Conn, backend uint32) bool {
			for _, id := range fit {
				if id == backend {
					return true
				}
			}
			return false
		})
	})
	return c
}

func TestAClientKeepsOneConnectionForOneService(t *testing.T) {
	k := newKeptConns(t, dial.NewKept)
	c := k.keep(3, 7, 0)
	if !k.Has(7) || k.Has(8) {
		t.Error("the connection is kept for another service")
	}
	if got := k.take(7, 3); got != c || !c.Reused() || k.Has(7) {
		t.Errorf("taken: %t, reused %t, still kept %t", got == c, c.Reused(), k.Has(7))
	}
	k.on(func() { c.FinishFor(k.Kept, 7, true) })
	other := k.keep(3, 8, 0)
	if k.open(1); k.Has(7) || !k.Has(8) {
		t.Error("the connection before is kept as well")
	}
	if k.take(7, 3) != nil || k.Has(8) {
		t.Error("another service gets it, or it is still kept")
	}
	k.open(0)
	if k.keep(4, 7, 0); k.take(7, 3) != nil {
		t.Error("a connection to another target is taken")
	}
	k.open(0)
	other = k.keep(3, 7, 0)
	k.take(7, 3)
	k.on(func() { other.FinishFor(k.Kept, 7, false) })
	if k.open(0); k.Has(7) {
		t.Error("an unfinished connection is kept")
	}
	k.keep(3, 7, 0)
	k.on(k.Close)
	k.open(0)
	var nobody *dial.Kept
	if nobody.Has(7) || nobody.Take(7, nil, nil) != nil {
		t.Error("an empty Kept returns a connection")
	}
	nobody.Drop(nil)
}

func TestStreamsKeepAnnouncedConnectionsForEachOther(t *testing.T) {
	k := newKeptConns(t, dial.NewSharedKept)
	if k.keep(3, 7, 0); k.Has(7) {
		t.Error("a connection without its PROXY header is kept")
	}
	k.open(0)
	first, second, third := k.keep(3, 7, proxyproto.V1), k.keep(4, 7, proxyproto.V2), k.keep(5, 8, proxyproto.V2)
	if k.take(7, 3, 4, 5) != second || k.take(7, 3) != first || !k.Has(8) {
		t.Error("connections of a service must be taken last first, without affecting others")
	}
	k.on(func() { first.Discard(); second.Discard() })
	k.keep(3, 7, proxyproto.V1)
	k.on(func() { k.Drop(func(backend uint32) bool { return backend == 3 }) })
	if k.open(1); k.Has(7) || k.take(8, 5) != third {
		t.Error("connections to other backends were dropped")
	}
	k.on(third.Discard)
	for range 33 {
		k.keep(3, 7, proxyproto.V1)
	}
	k.open(32)
	k.on(k.Close)
	k.open(0)
}

func TestKeptConnectionEndsOnUnexpectedBytes(t *testing.T) {
	k := newKeptConns(t, dial.NewKept)
	for what, end := range map[string]func(c *dial.Conn){
		"its end":                func(*dial.Conn) { k.says <- "" },
		"bytes nobody asked for": func(*dial.Conn) { k.says <- "x" },
		"nothing for long":       func(c *dial.Conn) { k.on(func() { c.Expired(c.Conn) }) },
		"nothing it understands": func(c *dial.Conn) { k.on(func() { c.Conn.Close(); c.Failed(c.Conn, net.ErrClosed) }) },
		"more before it is kept": nil,
	} {
		if end == nil {
			c := k.dial(3, 0, netip.MustParseAddrPort(k.backend.Addr))
			k.says <- "x"
			l7test.Eventually(t, what, func() (came bool) { k.on(func() { came = c.Conn.Readable() }); return came })
			k.on(func() { c.FinishFor(k.Kept, 7, true) })
		} else {
			end(k.keep(3, 7, 0))
		}
		l7test.Eventually(t, "no connection is kept that said "+what, func() (gone bool) {
			k.on(func() { gone = !k.Has(7) })
			return gone
		})
		k.open(0)
	}
}

// A panic over a kept connection closes its own client only.
func TestPanicOverAKeptConnectionCostsItsClient(t *testing.T) {
	k := newKeptConns(t, dial.NewKept)
	c := k.keep(3, 7, 0)
	k.on(k.Forget)
	k.says <- "x"
	l7test.Eventually(t, "its client is gone", func() (gone bool) {
		k.on(func() { gone = k.client.Conn.Closed() })
		return gone
	})
	k.on(func() {
		c.Discard()
		*k.panics = 0
	})
}
