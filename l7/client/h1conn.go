package client

import (
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/proxyproto"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/refused"
	"github.com/sluicelb/sluice/l7/table"
)

// h1Conn is a client's connection of HTTP/1. It holds no buffer while it waits.
type h1Conn struct {
	Peer
	taking
	seen        int32             // of in, how much http1 has looked at for the current head
	ex          Exchange          // under way; nil while the client waits or sends a head
	in          []byte            // bytes that were read and not consumed yet; pooled
	busy        bool              // process is at work and goes on by itself
	last        bool              // the last answer was written, but has not left yet
	slow        bool              // it waits because of its address, see Penalties
	proxyHeader proxyproto.Intake // what has to come before its first request
}

const (
	// headRead is how much is read at once from a client that sends heads.
	headRead = 64 << 10
	// lingerTime is how long a connection that was answered for the last time
	// may take to end its side.
	lingerTime = 2 * second
)

// Readable implements loop.Handler.
func (c *h1Conn) Readable(*loop.Conn) {
	switch {
	case c.ex != nil:
		if c.left() {
			c.ex.ClientGone()
			return
		}
		c.ex.ClientReadable()
	case c.proxyHeader.Expected != proxyproto.Nothing:
		c.readProxyHeader()
	case c.slow:
		c.stayOrGo()
	default:
		c.read()
	}
}

// read takes bytes of a head from the socket.
func (c *h1Conn) read() {
	if c.Conn.Pending() != 0 {
		return // the last answer first: Drained comes back here
	}
	if c.last {
		c.linger()
		return
	}
	l := c.server.loop
	if c.in == nil {
		n, err := c.Conn.Read(l.In[:headRead])
		if err != nil {
			c.ended(err)
			return
		}
		c.process(l.In[:n])
		return
	}
	c.in = l.Buffers.Grow(c.in, min(4096, max(64, len(c.in))))
	n, err := c.Conn.Read(c.in[len(c.in):cap(c.in)])
	if err != nil {
		c.ended(err)
		return
	}
	c.in = c.in[:len(c.in)+n]
	c.process(c.in)
}

// process serves the heads in b, one after the other, until an exchange needs
// time or more bytes are needed. b is c.in or the loop's read buffer.
func (c *h1Conn) process(b []byte) {
	r := c.server.request
	if !c.began && c.speaksHTTP2(b) {
		return
	}
	for len(b) > 0 {
		if c.seen > 0 && http1.NeedMore(b, int(c.seen)) {
			c.stash(b)
			return
		}
		r.Reset()
		n, err := r.Parse(b)
		switch {
		case err != nil:
			c.refuse(err)
			return
		case n == 0:
			c.stash(b)
			return
		}
		f := c.Farm()
		if f == nil {
			c.close()
			return
		}
		c.begin()
		c.seen = 0
		c.busy = true
		used := c.server.handler.Begin(c, f, b[:n], b[n:])
		c.busy = false
		if c.Conn == nil || c.last {
			return // closed, or about to be
		}
		b = b[n+used:]
		if c.ex != nil || c.Conn.Pending() != 0 {
			c.keep(b)
			if c.ex != nil {
				c.ex.Proceed() // the socket may hold more, and no event says so
			}
			return
		}
	}
	c.keep(nil)
	c.rest()
}

// stash keeps the beginning of a head and gives its rest the time it has left.
func (c *h1Conn) stash(b []byte) {
	if f := c.Farm(); f != nil {
		if no := f.Limits.CheckPart(b); no != nil {
			c.refuseFor(no)
			return
		}
	}
	if c.seen == 0 {
		c.Conn.SetDeadline(c.server.loop.Now() + c.timeout())
	}
	c.seen = int32(len(b))
	c.keep(b)
	c.Conn.Wait()
}

// keep makes b, a tail of c.in or of the read buffer, all there is in c.in.
func (c *h1Conn) keep(b []byte) {
	buffers := &c.server.loop.Buffers
	if len(b) == 0 {
		if c.in != nil {
			buffers.Put(c.in)
			c.in = nil
		}
		return
	}
	if c.in != nil {
		c.in = c.in[:copy(c.in[:cap(c.in)], b)]
		return
	}
	c.in = append(buffers.Get(len(b)), b...)
}

// rest lets the client wait for its next request.
func (c *h1Conn) rest() {
	if c.Farm() == nil {
		c.close()
		return
	}
	c.Conn.SetDeadline(c.server.loop.Now() + c.timeout())
	c.Conn.Wait()
}

// resume goes on after an exchange: with what was read ahead, or with the
// socket. A client that has not taken its answer waits until it did.
func (c *h1Conn) resume() {
	switch {
	case c.busy:
	case c.Conn.Pending() != 0:
		c.Await(c.timeout())
	case c.in != nil:
		c.process(c.in)
	default:
		c.rest()
	}
}

// Drained implements loop.Handler.
func (c *h1Conn) Drained(*loop.Conn) {
	c.held = 0
	if c.ex != nil {
		c.ex.ClientDrained()
		return
	}
	if c.last || c.Conn.Readable() && c.in == nil {
		c.read()
		return
	}
	c.resume()
}

// Expired implements loop.Handler.
func (c *h1Conn) Expired(*loop.Conn) {
	switch {
	case c.ex != nil:
		c.ex.ClientExpired()
	case c.slow:
		c.waitedOut()
	case c.Conn.Pending() != 0:
		if c.Stalled(c.timeout()) {
			c.Stats().Timeouts++
			c.Note(refused.Timeout, 0, "answer not taken in time")
			c.abort()
		}
	case c.proxyHeader.Expected != proxyproto.Nothing:
		c.proxyHeaderExpired()
	case c.seen > 0:
		s := c.Stats()
		s.Timeouts++
		s.Responses[3]++
		c.Note(refused.Timeout, 408, "head not complete in time")
		c.lastAnswer(refused.Timeout, 408)
	default:
		c.close()
	}
}

// Failed implements loop.Handler. The exchange may be what is broken, so the
// client is counted out before it ends.
func (c *h1Conn) Failed(*loop.Conn, error) {
	ex := c.ex
	c.forget()
	if ex != nil {
		ex.End()
	}
}

func (c *h1Conn) exchanges(fn func(Exchange)) {
	if c.ex != nil {
		fn(c.ex)
	}
}

func (c *h1Conn) reconcile(t *table.Table) {
	switch {
	case c.ex != nil || t.Farm(c.port) != nil:
		c.kept.Drop(t.Lost)
	case c.Conn.Pending() != 0:
		c.linger()
	default:
		c.close()
	}
}

func (c *h1Conn) expel() {
	if c.ex != nil {
		c.ex.Abort()
		return
	}
	c.close()
}
