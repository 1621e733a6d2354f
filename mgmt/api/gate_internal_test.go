package api

import (
	"context"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// caller is the remote end of a connection from an address.
type caller struct {
	net.Conn
	from  net.Addr
	ended atomic.Bool
}

func (c *caller) RemoteAddr() net.Addr { return c.from }
func (c *caller) Close() error         { c.ended.Store(true); return nil }
func (c *caller) closed() bool         { return c.ended.Load() }

func call(t *testing.T, g *gate, from string) (*caller, *gatedConn) {
	t.Helper()
	c := &caller{from: net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(from), 1))}
	return c, g.admit(c)
}

// calls opens n connections from a source.
func calls(t *testing.T, g *gate, from string, n int) (callers []*caller, conns []*gatedConn) {
	t.Helper()
	for range n {
		c, in := call(t, g, from)
		callers, conns = append(callers, c), append(conns, in)
	}
	return callers, conns
}

// count returns the number of connections of a gate.
func (g *gate) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.conns)
}

// identify sets the user of a connection to ann, identifyAs to the given one.
func identify(c *gatedConn) { identifyAs(c, "ann") }

func identifyAs(c *gatedConn, user string) {
	c.begin()
	c.identified(user)
	c.end()
}

func TestASourceHasSoManyAnonymousConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gated(nil)
		callers, conns := calls(t, g, "2001:db8::1", maxAnonymous)
		conns[0].begin()
		identify(conns[1])
		call(t, g, "2001:db8::2") // there is room: one is authenticated
		call(t, g, "2001:db8::3")
		if callers[0].closed() || callers[1].closed() || !callers[2].closed() || callers[3].closed() {
			t.Error("not the oldest anonymous and idle connection of the source went")
		}
		other, _ := call(t, g, "2001:db8:0:1::1")
		if other.closed() || callers[3].closed() || g.count() != maxAnonymous+2 {
			t.Errorf("another network is limited, too: %d connections", g.count())
		}
		for _, c := range conns {
			c.begin()
		}
		calls(t, g, "2001:db8::1", 3)
		if _, in := call(t, g, "2001:db8::1"); in == nil || callers[1].closed() {
			t.Error("no new connection for a source whose connections are all busy")
		}
	})
}

func TestAnonymousConnectionsMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gated(nil)
		var first []*caller
		for i := range maxConns - 1 {
			c, _ := call(t, g, netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}).String())
			first = append(first, c)
		}
		known, in := call(t, g, "192.0.2.1")
		identify(in)
		late, in := call(t, g, "192.0.2.2")
		if in == nil || late.closed() || !first[0].closed() || first[1].closed() || known.closed() || g.count() != maxConns {
			t.Errorf("the oldest did not make room: %d connections", g.count())
		}
		for c := range g.conns {
			c.begin()
		}
		attacker, _ := calls(t, g, "192.0.2.3", 1)
		for c := range g.conns {
			c.begin()
		}
		calls(t, g, "192.0.2.3", 1)
		if attacker[0].closed() {
			t.Error("there was an idle one") // every other source has one connection
		}
		for c := range g.conns { // no user exceeds the fair share
			identifyAs(c, string(rune('a'+c.number%16)))
		}
		if c, in := call(t, g, "192.0.2.4"); in != nil {
			t.Errorf("a connection of a known source was closed for another: %v", c.from)
		}
	})
}

// A user with many connections, idle or busy, must not lock others out.
func TestAUserBeyondAFairShareMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gated(nil)
		var few, many []*caller
		for range fairShare {
			c, in := call(t, g, "192.0.2.1")
			identifyAs(in, "bob")
			few = append(few, c)
		}
		for i := range maxConns - fairShare {
			c, in := call(t, g, netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}).String())
			identifyAs(in, "eve")
			if i < 2 {
				in.begin()
				in.identified("eve")
			}
			many = append(many, c)
		}
		late, in := call(t, g, "192.0.2.2")
		if in == nil || late.closed() || many[0].closed() || !many[2].closed() || g.count() != maxConns {
			t.Fatalf("no idle connection of the user with the most made room: %d connections", g.count())
		}
		if _, in := call(t, g, "192.0.2.4"); in == nil || late.closed() || !many[3].closed() {
			t.Error("a new source replaced another new one")
		}
		identifyAs(in, "ann")
		for c := range g.conns {
			if c.anonymous() {
				identifyAs(c, "ann")
			}
			if c.user == "eve" {
				c.begin()
				c.identified("eve")
			}
		}
		if _, in := call(t, g, "192.0.2.3"); in == nil || !many[0].closed() {
			t.Error("busy connections keep new sources out")
		}
		for _, c := range few {
			if c.closed() {
				t.Error("a source within its fair share lost a connection")
			}
		}
	})
}

func TestAnonymousConnectionsEndSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gated(nil)
		callers, conns := calls(t, g, "192.0.2.1", 4)
		silent, busy, again, known := callers[0], callers[1], callers[2], callers[3]
		conns[1].begin()
		identify(conns[3])
		time.Sleep(4 * time.Second)
		conns[2].begin()
		conns[2].end()
		time.Sleep(time.Second)
		synctest.Wait()
		if !silent.closed() || busy.closed() || again.closed() || known.closed() {
			t.Errorf("after 5 s closed: %t %t %t %t", silent.closed(), busy.closed(), again.closed(), known.closed())
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if !again.closed() || busy.closed() || known.closed() || g.count() != 2 {
			t.Errorf("after 9 s closed: %t %t %t, %d are left", again.closed(), busy.closed(), known.closed(), g.count())
		}
		conns[3].begin() // its user logged out, or another request came on it
		conns[3].end()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if !known.closed() || busy.closed() {
			t.Error("a connection that is anonymous now stays")
		}
	})
}

// With HTTP/2 a connection has several concurrent requests. None of them affects another.
func TestConnectionsWithSeveralRequestsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gated(nil)
		callers, conns := calls(t, g, "192.0.2.1", 2)
		browser, stranger := callers[0], callers[1]
		conns[0].begin() // an event stream
		conns[0].identified("ann")
		conns[1].begin()
		for _, c := range conns { // a file of the GUI
			c.begin()
			c.end()
		}
		time.Sleep(time.Minute)
		if browser.closed() || stranger.closed() {
			t.Errorf("closed while a request is under way: %t %t", browser.closed(), stranger.closed())
		}
		conns[0].end()
		conns[1].end()
		time.Sleep(time.Minute)
		if browser.closed() || !stranger.closed() {
			t.Errorf("after the last request, closed: %t %t", browser.closed(), stranger.closed())
		}
	})
}

func TestTheConnectionOfARequestIsFound(t *testing.T) {
	g := gated(nil)
	_, in := call(t, g, "192.0.2.1")
	if got := gatedOf(withGated(context.Background(), in)); got != in {
		t.Errorf("got %v", got)
	}
	if got := gatedOf(withGated(context.Background(), wrapped{in})); got != in {
		t.Errorf("in a wrapper: %v", got)
	}
	if gatedOf(withGated(context.Background(), &caller{})) != nil {
		t.Error("another connection is one of a gate")
	}
}

// wrapped wraps a connection like TLS does.
type wrapped struct{ net.Conn }

func (w wrapped) NetConn() net.Conn { return w.Conn }
