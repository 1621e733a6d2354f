package client

import "github.com/sluicelb/sluice/core/loop"

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
	switch conn := c.Conn; c.ex.Heeds() {
	case HeedResets:
		return conn.Broken()
	case HeedEnds:
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

// Close implements Client.
func (c *h1Conn) Close(told bool) {
	if !told {
		c.abort()
		return
	}
	c.close()
}
