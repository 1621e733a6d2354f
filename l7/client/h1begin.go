package client

import (
	"errors"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/proxyproto"
	"github.com/sluicelb/sluice/l7/http2"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/table"
)

// A farm may allow trusted peers to begin a connection with a PROXY header, before TLS. Its
// address then is the client's for all purposes: fields for backends, sessions, limits,
// records. The peer only passes bytes on, so X-Forwarded-For was written by the client. It
// is accepted only if the address in the PROXY header is trusted, too.

// readProxyHeader continues reading the header.
func (c *h1Conn) readProxyHeader() {
	switch o, why := c.proxyHeader.Take(c.Conn, c.server.loop.In, &c.server.header); o {
	case proxyproto.Taken:
		c.proxyHeaderTaken()
	case proxyproto.Bad:
		// No response, because it could reach another client.
		c.Stats().BadRequests++
		c.Note(rejected.BadProxyHeader, 0, why)
		c.close()
	case proxyproto.Gone, proxyproto.Failed:
		c.close()
	}
}

// proxyHeaderTaken continues after the header.
func (c *h1Conn) proxyHeaderTaken() {
	f := c.Farm()
	if f == nil {
		c.close()
		return
	}
	if f.TLS != nil {
		c.Conn.Secure(f.TLS.Security)
	}
	c.Conn.Proceed()
}

// proxyHeaderExpired ends a connection whose header was late.
func (c *h1Conn) proxyHeaderExpired() {
	if c.proxyHeader.Begun() {
		c.Stats().Timeouts++
		c.Note(rejected.Timeout, 0, "PROXY header not complete in time")
	}
	c.close()
}

// Connected implements loop.Handler. It reports the outcome of a handshake.
func (c *h1Conn) Connected(conn *loop.Conn, err error) {
	switch {
	case err == nil && conn.TLS().Protocol == "h2":
		c.turnHTTP2(nil)
	case err == nil:
		conn.SetDeadline(c.server.loop.Now() + c.timeout())
	case errors.Is(err, loop.ErrPlain):
		c.notSecure()
	default:
		if reason := handshakeReason(err); reason != "" {
			c.Note(rejected.ClientHandshake, 0, reason)
		}
		c.forget() // it is closed already
	}
}

// notSecure responds to plain HTTP on a farm with TLS.
func (c *h1Conn) notSecure() {
	f := c.Farm()
	if f == nil || f.TLS == nil {
		c.close()
		return
	}
	c.Stats().BadRequests++
	const reason = "plain HTTP on a port with TLS"
	c.Note(rejected.BadRequest, 0, reason)
	c.server.handler.Answered(&c.Peer, f, rejected.Because(rejected.BadRequest, f.TLS.PlainStatus, reason), len(f.TLS.Plain))
	c.Answer(f.TLS.Plain, true)
}

// speaksHTTP2 detects the preface of HTTP/2 (prior knowledge, RFC 9113 section 3.3) and then
// serves the connection.
func (c *h1Conn) speaksHTTP2(b []byte) bool {
	if b[0] != 'P' || c.Conn.Secured() { // with TLS, ALPN decides
		return false
	}
	yes, more := http2.Preface(b)
	switch {
	case yes:
		c.turnHTTP2(b)
	case more:
		c.stash(b)
	}
	return yes || more
}

// turnHTTP2 switches the connection to HTTP/2, possibly after a delay. b holds the bytes
// read.
func (c *h1Conn) turnHTTP2(b []byte) {
	if !c.delayed(b) {
		c.serveHTTP2(b)
	}
}

// delayed delays an HTTP/2 connection if necessary. Trusted peers bring many clients and are
// never delayed.
func (c *h1Conn) delayed(b []byte) bool {
	s, from := c.server, c.Conn.Peer().Addr()
	wait := s.penalties.delay(c.FarmID, from, s.Clock())
	if wait == 0 {
		return false
	}
	if f := c.Farm(); f == nil || table.Trusts(f.Trusted, from) {
		return false
	}
	s.shard.Loop().HTTP2Delayed++
	c.slow = true
	c.keep(b)
	c.Conn.SetDeadline(s.loop.Now() + wait)
	c.Conn.Wait() // to be notified of its end
	return true
}

// stayOrGo closes the connection of a delayed client that left.
func (c *h1Conn) stayOrGo() {
	if c.Conn.Ended() {
		c.close()
	}
}

// waitedOut serves a connection after its delay.
func (c *h1Conn) waitedOut() {
	c.slow = false
	c.serveHTTP2(c.in)
}

// serveHTTP2 replaces the connection by an h2Conn.
func (c *h1Conn) serveHTTP2(b []byte) {
	s, conn := c.server, c.Conn
	h2 := newH2Conn(c.Peer)
	n := copy(s.frames, b) // its buffer is about to be reused
	c.release()
	conn.SetHandler(h2)
	conn.SetDeadline(s.loop.Now() + streamTick)
	if n > 0 && !h2.receive(s.frames[:n]) {
		return
	}
	h2.Readable(conn)
}
