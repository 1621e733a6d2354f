package proxy

import (
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/l7/client"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/table"
)

// release ends the use of the chosen backend: the picker's and the counters'
// view of it, not the connection.
func (ex *exchange) release() {
	ex.arrived()
	if held := ex.Held; held != nil {
		ex.Held = nil
		held.Done()
		ex.queue.Released()
	}
	if ex.counted {
		ex.counted = false
		ex.backendStats().Established--
	}
}

// drop closes the backend's connection, if there is one.
func (ex *exchange) drop() {
	if up := ex.up; up != nil {
		ex.up = nil
		up.Discard() // first: an exchange that is broken may fail at counting
		if ex.phase == phaseConnect {
			ex.connecting(-1)
		}
	}
	ex.release()
}

// End implements client.Exchange: it gives the exchange back, and its client goes on
// without it.
func (ex *exchange) End() {
	if ex.login != nil {
		ex.login.leave(ex)
	}
	ex.drop()
	ex.endAttempt()
	if ex.wait != nil {
		ex.leaveQueue()
	}
	ex.recordEnd()
	ex.unsave()
	if ex.ahead != nil {
		ex.w.loop.Buffers.Put(ex.ahead)
	}
	if ex.last != nil {
		ex.w.loop.Buffers.Put(ex.last)
	}
	if ex.encoder != nil {
		ex.returnEncoder()
	}
	undo := ex.Undo
	undo.Reset()
	ex.client.Serve(nil)
	w := ex.w
	key, host, id := ex.Key[:0], ex.host[:0], ex.id[:0]
	ex.progress = progress{}
	ex.Key, ex.host, ex.id = key, host, id
	ex.request.clear()
	ex.response.clear()
	w.exchanges.Put(ex)
	ex.Undo = undo
}

// finish completes the exchange after the last byte of the response.
func (ex *exchange) finish() {
	cl := ex.client
	keep, complete := ex.keepClient, ex.request.done()
	if ex.up != nil {
		ex.release()
		ex.giveBack(complete)
	}
	ex.End()
	cl.Finish(keep, complete)
}

// Abort implements client.Exchange: it ends an exchange whose response cannot be
// completed. A client that got a part of it must not take it for the whole: chunked
// and counted bodies say so themselves, any other end is made a reset.
func (ex *exchange) Abort() {
	cl, delimited := ex.client, ex.delimited()
	ex.End()
	cl.Abort(delimited)
}

// Reconcile implements client.Exchange: it ends where its backend is to be cut off.
func (ex *exchange) Reconcile(t *table.Table) {
	if ex.backend != nil && t.Cut(ex.backend.ID) {
		ex.Abort()
	}
}

// Deaf implements client.Exchange.
func (ex *exchange) Deaf() bool { return ex.deaf }

// Heeds implements client.Exchange.
func (ex *exchange) Heeds() client.Heed {
	switch {
	case ex.phase == phaseTunnel:
		return client.HeedNothing
	case ex.service.IgnoreClose || !ex.request.done():
		return client.HeedResets
	}
	return client.HeedEnds
}

// delimited reports whether the client can tell that the answer is not whole, if it
// has a part of it, when the connection just ends.
func (ex *exchange) delimited() bool {
	return ex.phase < phaseBody || ex.response.kind == http1.BodyLength || ex.response.kind == http1.BodyChunked && !ex.oldClient
}

// ClientGone implements client.Exchange: it ends one whose client is no longer there.
// A client that only ended its direction may still read.
func (ex *exchange) ClientGone() {
	cl := ex.client
	delimited := ex.phase == phaseTunnel || ex.delimited()
	ex.recordFlag(accesslog.AbortedByClient)
	if ex.phase != phaseTunnel {
		ex.stats().ClientAborts++
	}
	if ex.phase == phaseHead && ex.up != nil && ex.request.done() && ex.w.loop.Now()-ex.sent >= int64(patience) {
		ex.backendStats().Abandoned++
	}
	ex.End()
	cl.Close(delimited)
}

// patience is how long a client waits at least before its going says something
// of the backend. Few wait until restimeout.
const patience = time.Second
