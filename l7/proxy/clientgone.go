package proxy

import (
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/l7/client"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rejected"
)

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

// ClientExpired implements client.Exchange: the client is silent.
func (ex *exchange) ClientExpired() {
	switch {
	case ex.wait != nil:
		ex.waitedTooLong()
	case ex.phase == phaseTunnel:
		ex.ClientGone()
	case ex.client.Pending() != 0:
		if ex.client.Stalled(ex.farm.RequestTimeout) {
			ex.stats().Timeouts++
			ex.note(rejected.Timeout, 0, "answer not taken in time")
			cl := ex.client
			ex.End()
			cl.Abort(false)
		}
	case !ex.wantsBody():
		ex.client.Hear() // the other side is what keeps the exchange waiting
	case ex.phase == phaseBody:
		ex.stats().Timeouts++
		ex.note(rejected.Timeout, 0, bodyLate)
		ex.Abort()
	default:
		ex.stats().Timeouts++
		ex.note(rejected.Timeout, 408, bodyLate)
		ex.keepClient = false
		ex.fail(408)
	}
}

// Abort implements client.Exchange: it ends an exchange whose response cannot be
// completed. A client that got a part of it must not take it for the whole: chunked
// and counted bodies say so themselves, any other end is made a reset.
func (ex *exchange) Abort() {
	cl, delimited := ex.client, ex.delimited()
	ex.End()
	cl.Abort(delimited)
}

// delimited reports whether the client can tell that the answer is not whole, if it
// has a part of it, when the connection just ends.
func (ex *exchange) delimited() bool {
	return ex.phase < phaseBody || ex.response.kind == http1.BodyLength || ex.response.kind == http1.BodyChunked && !ex.oldClient
}

// CutOff implements client.Exchange.
func (ex *exchange) CutOff(from func(backend uint32) bool) bool {
	if ex.backend == nil || !from(ex.backend.ID) {
		return false
	}
	ex.Abort()
	return true
}

// BodyRefused implements client.Exchange.
func (ex *exchange) BodyRefused() bool { return ex.bodyRefused }

// Watches implements client.Exchange.
func (ex *exchange) Watches() client.Watch {
	switch {
	case ex.phase == phaseTunnel:
		return client.WatchNothing
	case ex.service.IgnoreClose || !ex.request.done():
		return client.WatchResets
	}
	return client.WatchCloses
}
