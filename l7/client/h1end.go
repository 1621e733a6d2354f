package client

import (
	"io"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/proxyproto"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/table"
)

// refuse responds to an unacceptable head and ends the connection.
func (c *h1Conn) refuse(err error) {
	class, status, reason := rejected.Classify(err)
	c.refuseFor(rejected.Because(class, status, reason))
}

// refuseFor is refuse for causes outside of http1.
func (c *h1Conn) refuseFor(no *rejected.Cause) {
	c.countRefused(no)
	c.lastAnswer(no)
}

var lateHead = rejected.Because(rejected.Timeout, 408, "head not complete in time")

// lastAnswer sends the refusal and ends the connection.
func (c *h1Conn) lastAnswer(no *rejected.Cause) {
	c.Answer(c.rejection(no), true)
}

// countRefused counts input refused before it became a request.
func (p *Peer) countRefused(no *rejected.Cause) {
	p.Note(no.Class, no.Status, no.Reason)
	s := p.Stats()
	rejected.Count(s, no.Class)
	s.Responses[no.Status/100-1]++
}

// rejection returns the response for a refusal, valid until the next call on the loop.
func (p *Peer) rejection(no *rejected.Cause) []byte {
	w, f := p.server, p.Farm()
	var a table.Answers
	if f != nil {
		a = f.Answers
	}
	out := a.Append(w.loop.Scratch[:0], no.Status, false, true)
	if f != nil {
		w.handler.Answered(p, f, no, len(out))
	}
	return out
}

// linger ends the connection once all output has arrived. Pending output has the usual
// timeout; lingering covers data in flight.
func (c *h1Conn) linger() {
	conn := c.Conn
	if conn.Pending() != 0 {
		c.last, c.held = true, 0
		c.keep(nil)
		c.Await(c.timeout())
		return
	}
	c.forget()
	conn.LingerActive(lingerTime, lingerMost)
}

// close ends the connection at once.
func (c *h1Conn) close() {
	conn := c.Conn
	c.forget()
	conn.Close()
}

// abort ends the connection with a reset.
func (c *h1Conn) abort() {
	conn := c.Conn
	c.forget()
	conn.Abort()
}

// forget releases the connection and updates the counters.
func (c *h1Conn) forget() {
	c.countOut()
	c.kept.Close()
	c.release()
}

// release recycles c.
func (c *h1Conn) release() {
	s := c.server
	c.keep(nil)
	*c = h1Conn{Peer: Peer{server: s, FarmID: c.FarmID}}
	s.conns.Put(c)
}

// ended handles the client's end between exchanges.
func (c *h1Conn) ended(err error) {
	switch {
	case err == loop.ErrDry:
	case err == io.EOF && c.seen > 0:
		c.Stats().BadRequests++
		c.Note(rejected.BadRequest, 0, "connection ended within the head")
		c.close() // partial head: no response is expected
	default:
		c.close()
	}
}

// Expired implements loop.Handler.
func (c *h1Conn) Expired(*loop.Conn) {
	switch {
	case c.ex != nil:
		c.ex.ClientExpired()
	case c.slow:
		c.waitedOut()
	case c.Conn.Handshaking():
		c.Stats().Timeouts++
		c.Conn.GiveUpHandshake()
	case c.Conn.Pending() != 0:
		if c.Stalled(c.timeout()) {
			c.Stats().Timeouts++
			c.Note(rejected.Timeout, 0, "answer not taken in time")
			c.abort()
		}
	case c.proxyHeader.Expected != proxyproto.Nothing:
		c.proxyHeaderExpired()
	case c.seen > 0:
		s := c.Stats()
		s.Timeouts++
		s.Responses[3]++
		c.Note(lateHead.Class, lateHead.Status, lateHead.Reason)
		c.lastAnswer(lateHead)
	default:
		c.close()
	}
}

// Failed implements loop.Handler. The exchange itself may be broken, so the client is
// counted out before it ends.
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
	case c.ex != nil || t.On(c.port) != nil:
		c.kept.Drop(t.Lost)
	case c.Conn.Pending() != 0:
		c.linger()
	default:
		c.close()
	}
}

func (c *h1Conn) forceClose() {
	if c.ex != nil {
		c.ex.Abort()
		return
	}
	c.close()
}
