package proxy

import "github.com/sluicelb/sluice/core/loop"

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

// listen is called when the whole request has come: from then on nothing is read
// from the client, so somebody has to ask for its end.
func (cl *client) listen() {
	if cl.stream != nil || cl.ex.wait != nil { // who waits in a queue is heard already
		return
	}
	if c := cl.conn; !c.Watched() || c.Readable() {
		c.SetDeadline(cl.w.loop.Now() + unheard)
	}
}

// hear notices an end that no event will tell of, because it came with the
// request or before the loop listened.
func (cl *client) hear() {
	switch {
	case cl.stream != nil:
	case !cl.conn.Watched():
		cl.conn.Wait() // what it did before is an event then
	case cl.conn.Broken() || cl.left():
		cl.ex.clientGone()
	}
}

// left reports whether the client has ended its direction and the exchange is to
// end with it.
func (cl *client) left() bool {
	if ex := cl.ex; ex.service.IgnoreClose || !ex.request.done() {
		return false
	}
	return cl.conn.Ended() || cl.conn.Secured() && cl.notified()
}

// notified looks for a close_notify. What comes before it is kept for the next
// exchanges.
func (cl *client) notified() bool {
	if cl.in != nil {
		return false
	}
	n, err := cl.conn.Read(cl.w.loop.In[:readAhead])
	if err != nil {
		return err != loop.ErrDry
	}
	cl.keep(cl.w.loop.In[:n])
	return false
}
