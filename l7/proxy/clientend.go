package proxy

import (
	"io"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/http2"
	"github.com/sluicelb/sluice/l7/refused"
	"github.com/sluicelb/sluice/l7/table"
)

// refuse answers a head that is not acceptable and ends the connection.
func (cl *client) refuse(err error) {
	class, status, reason := refused.Classify(err)
	cl.refuseFor(refused.Because(class, status, reason))
}

// refuseFor is refuse for what is not http1's to judge.
func (cl *client) refuseFor(no *refused.Cause) {
	cl.note(no.Class, no.Status, no.Reason)
	s := cl.stats()
	refused.Count(s, no.Class)
	s.Responses[no.Status/100-1]++
	cl.lastAnswer(no.Status)
}

// lastAnswer answers with status and ends the connection.
func (cl *client) lastAnswer(status int) {
	var a table.Answers
	f := cl.w.engine.farm(cl.port)
	if f != nil {
		a = f.Answers
	}
	out := a.Append(cl.w.loop.Scratch[:0], status, false, true)
	if f != nil {
		cl.w.recordOwn(cl, f, nil, false, status, len(out))
	}
	if cl.answer(out) != nil {
		cl.close()
		return
	}
	cl.linger()
}

// linger ends the connection once what was written has arrived. What has not
// left yet gets the time any answer has; lingering is for what is on its way.
func (cl *client) linger() {
	if cl.stream != nil {
		cl.leave()
		return
	}
	c := cl.conn
	if c.Pending() != 0 {
		cl.last, cl.held = true, 0
		cl.keep(nil)
		cl.await(cl.requestTimeout())
		return
	}
	cl.forget()
	c.Linger(lingerTime)
}

// close ends the connection at once.
func (cl *client) close() {
	if cl.stream != nil {
		cl.reset(http2.CodeCancel)
		return
	}
	c := cl.conn
	cl.forget()
	c.Close()
}

// abort ends the connection with a reset.
func (cl *client) abort() {
	if cl.stream != nil {
		cl.reset(http2.CodeInternal)
		return
	}
	c := cl.conn
	cl.forget()
	c.Abort()
}

// forget lets go of the connection and counts it out.
func (cl *client) forget() {
	if cl.stream != nil {
		cl.release()
		return
	}
	s := cl.stats()
	s.Established--
	if !cl.began {
		s.Pending--
	}
	cl.keep(nil)
	cl.kept.Close()
	if cl.place != nil {
		cl.place.Leave()
	}
	w := cl.w
	*cl = client{w: w, farm: cl.farm}
	w.clients.Put(cl)
}

// ended handles the end of the client's direction between exchanges.
func (cl *client) ended(err error) {
	switch {
	case err == loop.ErrDry:
	case err == io.EOF && cl.seen > 0:
		cl.stats().BadRequests++
		cl.note(refused.BadRequest, 0, "connection ended within the head")
		cl.close() // half a head: nobody waits for an answer to it
	default:
		cl.close()
	}
}
