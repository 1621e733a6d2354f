package client

import (
	"io"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/refusal"
	"github.com/sluicelb/sluice/l7/refused"
	"github.com/sluicelb/sluice/l7/table"
)

// refuse answers a head that is not acceptable and ends the connection.
func (c *h1Conn) refuse(err error) {
	class, status, reason := refused.Classify(err)
	c.refuseFor(refused.Because(class, status, reason))
}

// refuseFor is refuse for what is not http1's to judge.
func (c *h1Conn) refuseFor(no *refused.Cause) {
	c.countRefused(no)
	c.lastAnswer(no.Class, no.Status)
}

// lastAnswer answers with status and ends the connection.
func (c *h1Conn) lastAnswer(class refusal.Class, status int) {
	c.Answer(c.refusal(class, status), true)
}

// countRefused counts what was refused before it was a request.
func (p *Peer) countRefused(no *refused.Cause) {
	p.Note(no.Class, no.Status, no.Reason)
	s := p.Stats()
	refused.Count(s, no.Class)
	s.Responses[no.Status/100-1]++
}

// refusal is the answer to what was refused so. It is good until the next call on
// the loop.
func (p *Peer) refusal(class refusal.Class, status int) []byte {
	w, f := p.server, p.Farm()
	var a table.Answers
	if f != nil {
		a = f.Answers
	}
	out := a.Append(w.loop.Scratch[:0], status, false, true)
	if f != nil {
		w.handler.Answered(p, f, class, status, len(out))
	}
	return out
}

// linger ends the connection once what was written has arrived. What has not
// left yet gets the time any answer has; lingering is for what is on its way.
func (c *h1Conn) linger() {
	conn := c.Conn
	if conn.Pending() != 0 {
		c.last, c.held = true, 0
		c.keep(nil)
		c.Await(c.timeout())
		return
	}
	c.forget()
	conn.Linger(lingerTime)
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

// forget lets go of the connection and counts it out.
func (c *h1Conn) forget() {
	c.countOut()
	c.kept.Close()
	c.release()
}

// release gives c back.
func (c *h1Conn) release() {
	s := c.server
	c.keep(nil)
	*c = h1Conn{Peer: Peer{server: s, FarmID: c.FarmID}}
	s.conns.Put(c)
}

// ended handles the end of the client's direction between exchanges.
func (c *h1Conn) ended(err error) {
	switch {
	case err == loop.ErrDry:
	case err == io.EOF && c.seen > 0:
		c.Stats().BadRequests++
		c.Note(refused.BadRequest, 0, "connection ended within the head")
		c.close() // half a head: nobody waits for an answer to it
	default:
		c.close()
	}
}
