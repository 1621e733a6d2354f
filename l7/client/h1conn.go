package client

import (
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/proxyproto"
	"github.com/sluicelb/sluice/l7/http1"
)

// h1Conn is a client's HTTP/1 connection. It holds no buffer while it waits.
type h1Conn struct {
	Peer
	taking
	seen        int32             // bytes of in examined by http1 for the current head
	ex          Exchange          // in progress; nil while the client waits or sends a head
	in          []byte            // bytes read but not consumed; pooled
	busy        bool              // process is running and will continue
	last        bool              // the last response was written but has not left yet
	slow        bool              // delayed because of its address, see Penalties
	due         bool              // in holds a request for the next turn
	proxyHeader proxyproto.Intake // expected before the first request
}

const (
	// headRead is the size of a read of heads.
	headRead = 64 << 10
	// requestsPerTurn bounds the requests of one connection that are served per loop turn
	// without a backend. A client may send some 2,500 of them in one piece.
	requestsPerTurn = 32
	// lingerTime bounds the wait for the client's end after the last response while the client
	// sends nothing, and lingerMost while it still sends a body.
	lingerTime = 2 * second
	lingerMost = 30 * second
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
	case c.due:
		c.process(c.in)
	default:
		c.read()
	}
}

// read reads bytes of a head from the socket.
func (c *h1Conn) read() {
	if c.Conn.Pending() != 0 {
		return // the last response first: Drained continues here
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

// process serves the heads in b, one after the other, until an exchange is in progress or
// more bytes are needed. b is c.in or the loop's read buffer.
func (c *h1Conn) process(b []byte) {
	r := c.server.request
	if !c.began && c.speaksHTTP2(b) {
		return
	}
	c.due = false
	for left := requestsPerTurn; len(b) > 0; left-- {
		if left == 0 {
			c.postpone(b)
			return
		}
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
				c.ex.Proceed() // the socket may hold more, without another event
			} else {
				c.Await(c.timeout())
			}
			return
		}
	}
	c.keep(nil)
	c.rest()
}

// postpone leaves the requests in b to the next turn.
func (c *h1Conn) postpone(b []byte) {
	c.keep(b)
	c.due = true
	c.Conn.SetDeadline(c.server.loop.Now() + c.timeout())
	c.server.loop.Again(c.Conn)
}

// stash keeps a partial head and leaves it the rest of its timeout.
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

// keep stores b, a tail of c.in or of the read buffer, as c.in.
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

// rest waits for the next request.
func (c *h1Conn) rest() {
	if c.Farm() == nil {
		c.close()
		return
	}
	c.Conn.SetDeadline(c.server.loop.Now() + c.timeout())
	c.Conn.Wait()
}

// resume continues after an exchange with bytes read ahead or from the socket. It first
// waits until the client has read its response.
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

// ReadBody implements Client. Bytes read ahead come first.
func (c *h1Conn) ReadBody(p []byte) (int, error) {
	if c.in != nil {
		n := copy(p, c.in)
		c.keep(c.in[n:])
		return n, nil
	}
	return c.Conn.Read(p)
}

// Unread implements Client. The bytes belong to the next request.
func (c *h1Conn) Unread(p []byte) { c.keep(p) }

// Again implements Client.
func (c *h1Conn) Again() { c.server.loop.Again(c.Conn) }

// Interim implements Client.
func (c *h1Conn) Interim(head []byte) error { return c.Conn.Write(head) }

// Respond implements Client. If possible the head is placed right before the part, so that
// one call sends both and only the head is copied.
func (c *h1Conn) Respond(head, part []byte, done, last bool, trailer []byte) (err error) {
	write := (*loop.Conn).Write
	if done && last {
		write = (*loop.Conn).WriteMore // the FIN follows in the same packet
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

// WantsTunnel implements Client. HTTP/1 tunnels need a 101.
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

// An HTTP/1 client may leave while its backend works on the response: by a reset, which ends
// the exchange, or by a half-close (FIN or close_notify). A half-close ends it, too, unless
// the service allows it (abortonclose) or the request body is still arriving, where reading
// notices it. Streams report their end themselves.

const (
	// unheard is the time after which the loop monitors the client of an exchange. Most
	// exchanges end before that, and monitoring a new connection costs a system call. A
	// request sent together with its FIN thus gets its response within this time.
	unheard = second / 10
	// readAhead bounds the bytes of further requests read in search of a close_notify.
	readAhead = 4 << 10
)

// Listen implements Client.
func (c *h1Conn) Listen(now bool) {
	switch {
	case now:
		c.Conn.Wait()
	case c.held != 0: // the deadline is that of Await
		if !c.Conn.Watched() {
			c.Conn.Wait()
		}
	case !c.Conn.Watched() || c.Conn.Readable():
		c.Conn.SetDeadline(c.server.loop.Now() + unheard)
	}
}

// Hear implements Client. It detects an end without an event, which came with the request or
// before the loop monitored the connection.
func (c *h1Conn) Hear() {
	switch {
	case !c.Conn.Watched():
		c.Conn.Wait() // an earlier end becomes an event
	case c.left():
		c.ex.ClientGone()
	}
}

// left reports whether the client has left in a way that the exchange watches for.
func (c *h1Conn) left() bool {
	switch conn := c.Conn; c.ex.Watches() {
	case WatchResets:
		return conn.Broken()
	case WatchCloses:
		return conn.Broken() || conn.Ended() || conn.Secured() && c.notified()
	}
	return false
}

// notified looks for a close_notify. Bytes before it are kept for the next exchanges.
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
		c.Conn.CloseWrite() // flushes the response; closing alone could destroy it
		c.close()           // no bytes are in flight
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

// RequireHTTP1 implements Client. This client speaks HTTP/1 only.
func (c *h1Conn) RequireHTTP1() { c.Abort(false) }

// Close implements Client.
func (c *h1Conn) Close(told bool) {
	if !told {
		c.abort()
		return
	}
	c.close()
}
