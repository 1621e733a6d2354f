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

// Limits for connections. A connection is anonymous until a request on it has been
// authenticated.
const (
	maxConns = 1024
	// maxAnonymous is the maximum number of anonymous connections per source: an IPv4
	// address or an IPv6 /64.
	maxAnonymous = 100
	// fairShare is the number of connections that each user keeps when there are too many
	// in total.
	fairShare = maxConns / 8
	// anonymousIdle is the idle timeout of an anonymous connection.
	anonymousIdle = 5 * time.Second
)

// gate enforces the limits for the connections of a listener. It always accepts: if there
// are too many, an anonymous connection is closed, or one of a user with more than a fair
// share. Thus neither anonymous connections nor a single user can lock others out.
type gate struct {
	net.Listener

	mu    sync.Mutex
	conns map[*gatedConn]struct{}
	last  uint64 // number of the last connection
}

func gated(l net.Listener) *gate {
	return &gate{Listener: l, conns: map[*gatedConn]struct{}{}}
}

// gatedConn is a connection of a gate. The gate's lock guards its fields.
type gatedConn struct {
	net.Conn
	gate    *gate
	source  netip.Prefix
	number  uint64      // consecutive numbers in order of arrival
	serving int         // requests in progress; several with HTTP/2
	user    string      // the authenticated user of the current or last request, "" for none
	idle    *time.Timer // closes the connection while it is anonymous and idle
}

// Accept returns the next connection that is admitted.
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

// admit admits a connection. It returns nil if there is no room.
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

// makeRoom returns the connection to close before admitting one from source, nil for none,
// and whether there is room then. A source with too many anonymous connections loses one of
// its own. If there are too many in total, an idle connection of a user above the fair share
// is closed first. So new connections, which are anonymous at first, do not displace each
// other. Otherwise an idle anonymous connection goes, or one of the source with most of them,
// and only then a busy one of a user above the fair share.
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

// beyondShare returns a connection of the user with the most, or nil if no user exceeds the
// fair share.
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

// oldest returns the oldest matching connection, preferring idle ones.
func (g *gate) oldest(match func(*gatedConn) bool) (first *gatedConn) {
	for c := range g.conns {
		if match(c) && (first == nil || c.before(first)) {
			first = c
		}
	}
	return first
}

// before reports whether a connection is closed before another.
func (c *gatedConn) before(other *gatedConn) bool {
	if busy, otherBusy := c.serving > 0, other.serving > 0; busy != otherBusy {
		return otherBusy
	}
	return c.number < other.number
}

// closeIdle closes the connection if it is anonymous and idle.
func (c *gatedConn) closeIdle() {
	c.gate.mu.Lock()
	idle := c.anonymous() && c.serving == 0
	c.gate.mu.Unlock()
	if idle {
		_ = c.Close()
	}
}

// begin is called at the start of a request, end at its end. A request without concurrent
// ones makes the connection anonymous until it is authenticated. A concurrent request does
// not: browsers load the GUI's files, which need no authentication, on the same connection
// as API calls.
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

// identified sets the user of the connection.
func (c *gatedConn) identified(user string) {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	c.user = user
}

// anonymous reports whether the connection has no user. The caller holds the lock.
func (c *gatedConn) anonymous() bool { return c.user == "" }

// Close closes the connection and frees its place. It may be called repeatedly.
func (c *gatedConn) Close() error {
	c.gate.mu.Lock()
	delete(c.gate.conns, c)
	c.idle.Stop()
	c.gate.mu.Unlock()
	return c.Conn.Close()
}

// NetConn returns the underlying connection, for callers that need its type.
func (c *gatedConn) NetConn() net.Conn { return c.Conn }

// CloseWrite half-closes the connection. The server does so before closing a connection on
// which the client may still be sending, so that the client receives the response.
func (c *gatedConn) CloseWrite() error {
	if half, can := c.Conn.(interface{ CloseWrite() error }); can {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

type gatedKey struct{}

// withGated stores the connection of a request in its context.
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
