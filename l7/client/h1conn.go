package client

import (
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/proxyproto"
	"github.com/sluicelb/sluice/l7/http1"
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

// From implements Client.
func (c *h1Conn) From() *Peer { return &c.Peer }

// Serve implements Client.
func (c *h1Conn) Serve(ex Exchange) { c.ex = ex }

// ReadBody implements Client. What was read ahead comes first.
func (c *h1Conn) ReadBody(p []byte) (int, error) {
	if c.in != nil {
		n := copy(p, c.in)
		c.keep(c.in[n:])
		return n, nil
	}
	return c.Conn.Read(p)
}

// Unread implements Client: it is of the next request.
func (c *h1Conn) Unread(p []byte) { c.keep(p) }

// Again implements Client.
func (c *h1Conn) Again() { c.server.loop.Again(c.Conn) }

// Interim implements Client.
func (c *h1Conn) Interim(head []byte) error { return c.Conn.Write(head) }

// Respond implements Client. The head is put right before the part where that is
// possible, so that one call sends both and only the head moves.
func (c *h1Conn) Respond(head, part []byte, done, last bool, trailer []byte) (err error) {
	write := (*loop.Conn).Write
	if done && last {
		write = (*loop.Conn).WriteMore // the end of the connection follows, in the same packet
	}
	if len(part) == 0 {
		err = write(c.Conn, head)
	} else if all, ok := c.server.loop.Front(part, len(head)); ok {
		copy(all, head)
		err = write(c.Conn, all)
	} else if err = c.Conn.WriteMore(head); err == nil {
		err = write(c.Conn, part)
	}
	if err == nil && len(trailer) > 0 {
		err = c.Conn.Write(trailer)
	}
	return err
}

// WriteBody implements Client.
func (c *h1Conn) WriteBody(p []byte, _ bool, trailer []byte) error {
	err := c.Conn.Write(p)
	if err == nil && len(trailer) > 0 {
		err = c.Conn.Write(trailer)
	}
	return err
}

// EndTunnel implements Client.
func (c *h1Conn) EndTunnel(bool) { c.Conn.CloseWrite() }

// WantsTunnel implements Client: here it is 101 that tells.
func (c *h1Conn) WantsTunnel() bool { return false }

// Room implements Client.
func (c *h1Conn) Room(most int) int {
	if c.Conn.Pending() != 0 {
		return 0
	}
	return most
}

// Pending implements Client.
func (c *h1Conn) Pending() int { return c.Conn.Pending() }

// SetDeadline implements Client.
func (c *h1Conn) SetDeadline(t int64) { c.Conn.SetDeadline(t) }

// Await implements Client.
func (c *h1Conn) Await(timeout int64) { c.await(c, timeout) }

// Stalled implements Client.
func (c *h1Conn) Stalled(timeout int64) bool { return c.stalled(c, timeout) }

// A client of HTTP/1 may leave while its backend thinks: with a reset, which ends
// the exchange, or with the end of its direction, a FIN or the close_notify of TLS.
// That ends it too, unless the service says otherwise (abortonclose) or the body of
// the request is still on its way, which reading tells. Streams say it themselves.

const (
	// unheard is how long an exchange may take before the loop listens to its
	// client: most are over by then, and listening to a new connection is a system
	// call. Who sends a request and its end in one go is answered until then.
	unheard = second / 10
	// readAhead is how much of further requests is read to find the close_notify
	// behind them.
	readAhead = 4 << 10
)

// Listen implements Client.
func (c *h1Conn) Listen(now bool) {
	switch {
	case now:
		c.Conn.Wait()
	case !c.Conn.Watched() || c.Conn.Readable():
		c.Conn.SetDeadline(c.server.loop.Now() + unheard)
	}
}

// Hear implements Client: it notices an end that no event will tell of, because it
// came with the request or before the loop listened.
func (c *h1Conn) Hear() {
	switch {
	case !c.Conn.Watched():
		c.Conn.Wait() // what it did before is an event then
	case c.left():
		c.ex.ClientGone()
	}
}

// left reports whether the client has ended, as far as the exchange heeds that.
func (c *h1Conn) left() bool {
	switch conn := c.Conn; c.ex.Watches() {
	case WatchResets:
		return conn.Broken()
	case WatchCloses:
		return conn.Broken() || conn.Ended() || conn.Secured() && c.notified()
	}
	return false
}

// notified looks for a close_notify. What comes before it is kept for the next
// exchanges.
func (c *h1Conn) notified() bool {
	if c.in != nil {
		return false
	}
	n, err := c.Conn.Read(c.server.loop.In[:readAhead])
	if err != nil {
		return err != loop.ErrDry
	}
	c.keep(c.server.loop.In[:n])
	return false
}

// Answer implements Client.
func (c *h1Conn) Answer(b []byte, last bool) {
	switch err := c.Conn.Write(b); {
	case err != nil:
		c.close()
	case last:
		c.linger()
	default:
		c.resume()
	}
}

// Finish implements Client.
func (c *h1Conn) Finish(keep, complete bool) {
	switch {
	case keep && complete:
		c.resume()
	case complete && c.in == nil && c.Conn.Pending() == 0 && !c.Conn.Readable():
		c.Conn.CloseWrite() // pushes the answer out; closing alone could destroy it
		c.close()           // nothing on its way in either direction
	default:
		c.linger()
	}
}

// Abort implements Client.
func (c *h1Conn) Abort(told bool) {
	if told && !c.Conn.Broken() {
		c.linger()
		return
	}
	c.abort()
}

// RequireHTTP1 implements Client: it speaks nothing else.
func (c *h1Conn) RequireHTTP1() { c.Abort(false) }

// Close implements Client.
func (c *h1Conn) Close(told bool) {
	if !told {
		c.abort()
		return
	}
	c.close()
}
