package dial_test

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/proxyproto"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/l7test"
)

// An idle connection is closed when it is no longer needed, when it is unusable, and when
// bytes arrive.
func TestIdleConnectionsAreClosedInTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(b *bench, to *dial.Target, says chan string)
		want int // connections open afterwards
	}{
		"its time is not over": {func(b *bench, _ *dial.Target, _ chan string) { enginetest.Advance(b.loop, 29*time.Second) }, 1},
		"its time is over":     {func(b *bench, _ *dial.Target, _ chan string) { enginetest.Advance(b.loop, 31*time.Second) }, 0},
		"it ends":              {func(_ *bench, _ *dial.Target, says chan string) { says <- "" }, 0},
		"it says something":    {func(_ *bench, _ *dial.Target, says chan string) { says <- "x" }, 0},
		"it leads elsewhere": {func(b *bench, to *dial.Target, _ chan string) {
			other := *to
			other.Options.Mark = 1
			b.on(func() {
				if b.pool.Idle(&other, &user{}) != nil {
					t.Error("a connection is reused for another target")
				}
			})
		}, 0},
		"its backend goes": {func(b *bench, to *dial.Target, _ chan string) {
			b.on(func() { b.pool.Retain(func(uint32) bool { return false }) })
		}, 0},
		"its handling fails": {func(b *bench, to *dial.Target, _ chan string) {
			b.on(func() {
				c := b.pool.Idle(to, &user{})
				b.pool.Put(c)
				c.Conn.Close()
				c.Failed(c.Conn, net.ErrClosed)
			})
		}, 0},
	} {
		k := newKeptConns(t, dial.NewKept)
		to := &dial.Target{ID: 3, Addr: netip.MustParseAddrPort(k.backend.Addr), Timeout: int64(5 * time.Second)}
		k.connections(to, 1)
		k.dialled++
		k.on(func() { // as after a response
			c := k.pool.Idle(to, &user{})
			c.Wait()
			k.pool.Put(c)
		})
		c.end(k.bench, to, k.says)
		l7test.Eventually(t, name, func() bool { return k.backend.Open() == c.want })
		if n := k.idle(3); n != c.want {
			t.Errorf("%s: %d are idle, want %d", name, n, c.want)
		}
	}
}

// Connections kept between streams have a time limit. Those of an HTTP/1 client last as long
// as the client.
func TestKeptConnectionsHaveTheirTime(t *testing.T) {
	for _, shared := range []bool{false, true} {
		kept := dial.NewKept
		if shared {
			kept = dial.NewSharedKept
		}
		k := newKeptConns(t, kept)
		k.keep(3, 7, proxyproto.V1)
		enginetest.Advance(k.loop, 29*time.Second)
		k.open(1)
		if enginetest.Advance(k.loop, 2*time.Second); shared {
			k.open(0)
		} else {
			enginetest.Advance(k.loop, time.Hour)
			k.open(1)
		}
		if k.Has(7) == shared {
			t.Errorf("shared %t: kept after its time: %t", shared, !shared)
		}
		k.on(k.Close)
	}
}

// A backend that announces its idle time closes kept connections, too.
func TestKeptConnectionsEndBeforeTheirBackendClosesThem(t *testing.T) {
	for _, kept := range []func(*loop.Conn) *dial.Kept{dial.NewKept, dial.NewSharedKept} {
		k := newKeptConns(t, kept)
		c := k.dial(3, proxyproto.V1, netip.MustParseAddrPort(k.backend.Addr))
		k.on(func() {
			c.KeepFor(int64(5 * time.Second))
			c.FinishFor(k.Kept, 7, true)
		})
		enginetest.Advance(k.loop, 4*time.Second)
		k.open(1)
		enginetest.Advance(k.loop, 2*time.Second)
		k.open(0)
		if k.Has(7) {
			t.Error("kept after its time")
		}
		k.on(k.Close)
	}
}

// A connection with pending bytes of an exchange is not reused.
func TestConnectionsWithPendingBytesAreNotReused(t *testing.T) {
	for name, finish := range map[string]func(c *dial.Conn, k *dial.Kept, whole bool){
		"to the pool":   func(c *dial.Conn, _ *dial.Kept, whole bool) { c.Finish(whole) },
		"to its client": func(c *dial.Conn, k *dial.Kept, whole bool) { c.FinishFor(k, 7, whole) },
	} {
		for what, c := range map[string]struct {
			whole   bool
			pending int
			stays   bool
		}{"whole": {true, 0, true}, "not whole": {false, 0, false}, "not taken": {true, 16 << 20, false}} {
			k := newKeptConns(t, dial.NewKept)
			conn := k.dial(3, 0, stuck(t))
			k.on(func() {
				_ = conn.Write(make([]byte, c.pending))
				finish(conn, k.Kept, c.whole)
			})
			stays := false
			k.on(func() { stays = !conn.Conn.Closed() })
			if stays != c.stays || (k.idle(3) == 1 || k.Has(7)) != c.stays {
				t.Errorf("%s, %s: it stays: %t, %d are idle", name, what, stays, k.idle(3))
			}
			k.on(func() { k.Close(); k.pool.Retain(func(uint32) bool { return false }) })
		}
	}
}

// stuck is a backend that reads nothing.
func stuck(t *testing.T) netip.AddrPort {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return netip.MustParseAddrPort(ln.Addr().String())
}

func TestBodiesAreSentWithTheirTrailer(t *testing.T) {
	k := newKeptConns(t, dial.NewKept)
	c := k.dial(3, 0, netip.MustParseAddrPort(k.backend.Addr))
	k.on(func() {
		if c.Send([]byte("head "), false, []byte("nothing")) != nil || c.SendBody([]byte("part "), false, nil) != nil || c.SendBody([]byte("last "), true, []byte("t")) != nil {
			t.Error("it is not sent")
		}
		if c.Complete() || c.Trailers() != nil || c.Reused() {
			t.Error("an HTTP/1 connection has properties of HTTP/2")
		}
		c.Reserve()
	})
	l7test.Eventually(t, "all of it came", func() bool { return k.backend.Received() == "head part last t" })
	k.backend.Close()
	l7test.Eventually(t, "sending to who is gone fails", func() (failed bool) {
		k.on(func() { failed = c.SendBody([]byte("x"), true, []byte("t")) != nil })
		return failed
	})
	k.on(c.Discard)
}

// An immediate connect error is returned to the caller only.
func TestImmediateConnectErrorReachesOnlyTheCaller(t *testing.T) {
	b := newBench(t)
	u := &user{done: make(chan result, 1)}
	b.on(func() {
		c, err := b.pool.Dial(&dial.Target{ID: 3, Addr: netip.MustParseAddrPort("255.255.255.255:1"), Timeout: int64(time.Second)}, u)
		if c != nil || err == nil {
			t.Errorf("got %v, %v", c, err)
		}
	})
	if len(u.done) != 0 {
		t.Error("the owner was notified, too")
	}
	// The first backend and those after the last have no connections.
	for id := range uint32(6) {
		b.on(func() {
			if b.pool.Idle(&dial.Target{ID: id}, u) != nil {
				t.Errorf("backend %d has a connection", id)
			}
		})
		if id == 2 {
			b.ask(&dial.Target{ID: 3, Addr: backend(t, nil, nil), Timeout: int64(time.Second)})
		}
	}
}

// When the process is out of descriptors, an idle connection is closed to make room.
func TestIdleConnectionsMakeRoomForNewOnes(t *testing.T) {
	b := newBench(t)
	idle := &dial.Target{ID: 5, Addr: stuck(t), Timeout: int64(time.Second)}
	wanted := &dial.Target{ID: 9, Addr: stuck(t), Timeout: int64(time.Second)}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	l7test.Eventually(t, "one idle connection makes room for one", func() (so bool) { // others may close a descriptor meanwhile
		b.connections(idle, 1)
		b.on(func() {
			b.pool.IdleTo(1) // a backend without connections
			f, err := os.Open(os.DevNull)
			if err != nil {
				t.Error(err)
				return
			}
			full := before
			full.Cur = uint64(f.Fd()) // the lowest free descriptor
			_ = f.Close()
			if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &full); err != nil {
				t.Error(err)
			}
			first, _ := b.pool.Dial(wanted, &opener{user{done: make(chan result, 1)}})
			second, err := b.pool.Dial(wanted, &opener{user{done: make(chan result, 1)}})
			_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before)
			so = first != nil && second == nil && errors.Is(err, syscall.EMFILE) && b.pool.IdleTo(5) == 0
			for _, c := range []*dial.Conn{first, second} {
				if c != nil {
					c.Discard()
				}
			}
			b.pool.Retain(func(uint32) bool { return false })
		})
		return so
	})
}

// Idle connections may end in any order without affecting the others.
func TestIdleConnectionsEndInAnyOrder(t *testing.T) {
	for _, order := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		b := newBench(t)
		to := &dial.Target{ID: 3, Addr: stuck(t), Timeout: int64(time.Second)}
		b.connections(to, 3)
		b.on(func() {
			var all []*dial.Conn
			for range 3 {
				all = append(all, b.pool.Idle(to, &user{}))
			}
			for _, c := range all {
				b.pool.Put(c)
			}
			for left, i := range order {
				if n := b.pool.IdleTo(3); n != 3-left {
					t.Errorf("%v: %d are idle, want %d", order, n, 3-left)
				}
				all[i].Expired(all[i].Conn)
			}
			if c := b.pool.Idle(to, &user{}); c != nil {
				t.Errorf("%v: a closed connection is reused", order)
			}
		})
		// The remaining one of two is reused.
		b.connections(to, 3)
		b.on(func() {
			var all []*dial.Conn
			for range 3 {
				all = append(all, b.pool.Idle(to, &user{}))
			}
			for _, c := range all {
				b.pool.Put(c)
			}
			all[order[0]].Expired(all[order[0]].Conn)
			all[order[1]].Expired(all[order[1]].Conn)
			if c := b.pool.Idle(to, &user{}); c != all[order[2]] || b.pool.IdleTo(3) != 0 {
				t.Errorf("%v: %p is reused, want %p", order, c, all[order[2]])
			} else {
				c.Discard()
			}
		})
	}
}

// A kept connection delivers its events to the owner that took it.
func TestTakenConnectionsNotifyTheNewOwner(t *testing.T) {
	k := newKeptConns(t, dial.NewKept)
	c := k.keep(3, 7, 0)
	u := &user{done: make(chan result, 1)}
	k.on(func() { u.conn = k.Take(7, u, func(*dial.Conn, uint32) bool { return true }) })
	k.says <- "said\n"
	if r := <-u.done; r.conn != c || r.line != "said\n" {
		t.Errorf("got %+v", r)
	}
	k.on(c.Discard)
}

// The memory of a closed connection is reused, regardless of the way it was closed.
func TestClosedConnectionStructsAreReused(t *testing.T) {
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := netip.MustParseAddrPort(nobody.Addr().String())
	_ = nobody.Close()
	for name, end := range map[string]func(k *keptConns, c *dial.Conn){
		"discarded": func(k *keptConns, c *dial.Conn) { k.on(c.Discard) },
		"its handling fails": func(k *keptConns, c *dial.Conn) {
			k.on(func() { c.Conn.Close(); c.Failed(c.Conn, net.ErrClosed) })
		},
		"the next is not even begun": func(k *keptConns, c *dial.Conn) {
			k.on(c.Discard)
			k.on(func() {
				_, _ = k.pool.Dial(&dial.Target{ID: 3, Addr: netip.MustParseAddrPort("255.255.255.255:1"), Timeout: int64(time.Second)}, &user{})
			})
		},
		"the next is refused": func(k *keptConns, c *dial.Conn) {
			k.on(c.Discard)
			o := &opener{user{done: make(chan result, 1)}}
			k.on(func() {
				_, _ = k.pool.Dial(&dial.Target{ID: 3, Addr: refused, Timeout: int64(time.Second)}, o)
			})
			if r := <-o.done; r.err == nil {
				t.Error("the connect succeeded")
			}
		},
	} {
		k := newKeptConns(t, dial.NewKept)
		c := k.dial(3, 0, netip.MustParseAddrPort(k.backend.Addr))
		end(k, c)
		if next := k.dial(3, 0, netip.MustParseAddrPort(k.backend.Addr)); next != c {
			t.Errorf("%s: the next one has memory of its own", name)
		}
	}
}
