package api

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/sluicelb/sluice/mgmt/auth"
)

// The bounds of connections. A connection is anonymous until a request on it was
// identified.
const (
	maxConns = 1024
	// maxAnonymous is how many anonymous connections one source has: an IPv4 address or
	// an IPv6 /64.
	maxAnonymous = 100
	// fairShare is how many connections of one user stay when there are too many in all.
	fairShare = maxConns / 8
	// anonymousIdle is how long an anonymous connection may be without a request.
	anonymousIdle = 5 * time.Second
)

// gate keeps the connections of a listener within their bounds. It always accepts: if
// there are too many connections an anonymous one makes room, or one of a user who has
// more than a fair share. So neither connections that nobody answers for nor a single user
// can keep others out.
type gate struct {
	net.Listener

	mu    sync.Mutex
	conns map[*gatedConn]struct{}
	last  uint64 // number of the last connection
}

func gated(l net.Listener) *gate {
	return &gate{Listener: l, conns: map[*gatedConn]struct{}{}}
}

// gatedConn is a connection of a gate, whose lock guards its fields.
type gatedConn struct {
	net.Conn
	gate    *gate
	source  netip.Prefix
	number  uint64      // connections are numbered as they come
	serving int         // requests under way; several with HTTP/2
	user    string      // who was identified as the sender of one of them, or of the last one; "" for nobody
	idle    *time.Timer // closes it while it is anonymous and idle
}

// Accept returns the next connection for which there is room.
func (g *gate) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if in := g.admit(c); in != nil {
			return in, nil
		}
		_ = c.Close()
	}
}

// admit lets a connection in, nil if there is no room for it.
func (g *gate) admit(c net.Conn) *gatedConn {
	in := &gatedConn{Conn: c, gate: g, source: auth.Network(c.RemoteAddr())}
	g.mu.Lock()
	victim, room := g.makeRoom(in.source)
	if room {
		g.last++
		in.number = g.last
		in.idle = time.AfterFunc(anonymousIdle, in.closeIdle)
		g.conns[in] = struct{}{}
	}
	g.mu.Unlock()
	if victim != nil {
		_ = victim.Close()
	}
	if !room {
		return nil
	}
	return in
}

// makeRoom returns the connection that has to go before one of a source comes, nil for
// none, and whether there is room then. A source with too many anonymous connections
// loses one of its own. If there are too many in all, an idle one of a user with more than
// a fair share goes, so that newcomers, who are anonymous at first, do not push each other
// out. Without any, an idle anonymous one goes, or one of the source with the most of them,
// and only then a busy one of such a user.
func (g *gate) makeRoom(source netip.Prefix) (victim *gatedConn, room bool) {
	anonymous := map[netip.Prefix]int{}
	most := 0
	for c := range g.conns {
		if c.anonymous() {
			anonymous[c.source]++
			most = max(most, anonymous[c.source])
		}
	}
	switch {
	case anonymous[source] >= maxAnonymous:
		return g.oldest(func(c *gatedConn) bool { return c.anonymous() && c.source == source }), true
	case len(g.conns) < maxConns:
		return nil, true
	}
	greedy := g.beyondShare()
	if greedy != nil && greedy.serving == 0 {
		return greedy, true
	}
	if victim = g.oldest(func(c *gatedConn) bool { return c.anonymous() && c.serving == 0 }); victim == nil {
		victim = g.oldest(func(c *gatedConn) bool { return c.anonymous() && anonymous[c.source] == most })
	}
	if victim == nil {
		victim = greedy
	}
	return victim, victim != nil
}

// beyondShare returns a connection of the user with the most, nil if nobody has more than
// a fair share.
func (g *gate) beyondShare() *gatedConn {
	of, most := map[string]int{}, ""
	for c := range g.conns {
		if c.anonymous() {
			continue
		}
		if of[c.user]++; of[c.user] > of[most] {
			most = c.user
		}
	}
	if of[most] <= fairShare {
		return nil
	}
	return g.oldest(func(c *gatedConn) bool { return c.user == most })
}

// oldest returns the connection that came first of those that match: an idle one if there
// is any.
func (g *gate) oldest(match func(*gatedConn) bool) (first *gatedConn) {
	for c := range g.conns {
		if match(c) && (first == nil || c.before(first)) {
			first = c
		}
	}
	return first
}

// before reports whether a connection goes before another one.
func (c *gatedConn) before(other *gatedConn) bool {
	if busy, otherBusy := c.serving > 0, other.serving > 0; busy != otherBusy {
		return otherBusy
	}
	return c.number < other.number
}

// closeIdle closes a connection that is anonymous and idle.
func (c *gatedConn) closeIdle() {
	c.gate.mu.Lock()
	idle := c.anonymous() && c.serving == 0
	c.gate.mu.Unlock()
	if idle {
		_ = c.Close()
	}
}

// begin is called when a request begins, end when it is answered. A request that comes
// alone makes the connection anonymous until its sender is identified. One that comes
// beside others does not: a browser loads files of the GUI, for which nobody is
// identified, on the connection of its calls.
func (c *gatedConn) begin() {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	if c.serving == 0 {
		c.user = ""
	}
	c.serving++
	c.idle.Stop()
}

func (c *gatedConn) end() {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	c.serving--
	if c.serving == 0 && c.anonymous() {
		c.idle.Reset(anonymousIdle)
	}
}

// identified notes that a user answers for a request under way.
func (c *gatedConn) identified(user string) {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	c.user = user
}

// anonymous reports whether nobody answers for the connection. The caller holds the lock.
func (c *gatedConn) anonymous() bool { return c.user == "" }

// Close closes the connection and gives its room back, once or often.
func (c *gatedConn) Close() error {
	c.gate.mu.Lock()
	delete(c.gate.conns, c)
	c.idle.Stop()
	c.gate.mu.Unlock()
	return c.Conn.Close()
}

// NetConn returns the connection itself, for callers that must know of which kind it is.
func (c *gatedConn) NetConn() net.Conn { return c.Conn }

// CloseWrite ends what is sent and leaves what comes: the server does so before it
// closes a connection on which a client may still be sending, so that the client gets
// the answer.
func (c *gatedConn) CloseWrite() error {
	if half, can := c.Conn.(interface{ CloseWrite() error }); can {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

type gatedKey struct{}

// withGated puts the connection of a request into its context.
func withGated(ctx context.Context, c net.Conn) context.Context {
	for {
		if in, ok := c.(*gatedConn); ok {
			return context.WithValue(ctx, gatedKey{}, in)
		}
		w, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return ctx
		}
		c = w.NetConn()
	}
}

// gatedOf returns the connection of a request, nil without a gate.
func gatedOf(ctx context.Context) *gatedConn {
	c, _ := ctx.Value(gatedKey{}).(*gatedConn)
	return c
}
