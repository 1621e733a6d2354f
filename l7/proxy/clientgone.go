package proxy

import (
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/l7/client"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rejected"
)

// ClientGone implements client.Exchange. It ends the exchange of a client that has left. A
// client that only half-closed may still read.
func (ex *exchange) ClientGone() {
	cl, delimited := ex.client, ex.delimited()
	ex.record.flag(accesslog.AbortedByClient)
	ex.stats().ClientAborts++
	if ex.phase == phaseHead && ex.up != nil && ex.request.done() && ex.w.loop.Now()-ex.sending.began >= int64(patience) {
		ex.backendStats().Abandoned++
	}
	ex.End()
	cl.Close(delimited)
}

// patience is the minimum waiting time after which a client's departure counts against the
// backend. Few clients wait until restimeout.
const patience = time.Second

// ClientExpired implements client.Exchange. The client's timeout has passed.
func (ex *exchange) ClientExpired() {
	switch {
	case ex.queue.place != nil:
		ex.queue.timeOut(ex)
	case ex.client.Pending() != 0:
		if ex.client.Stalled(ex.farm.RequestTimeout) {
			ex.stats().Timeouts++
			ex.note(rejected.Timeout, 0, "answer not taken in time")
			cl := ex.client
			ex.End()
			cl.Abort(false)
		}
	case !ex.wantsBody():
		ex.client.Hear() // the exchange waits for the other side
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

// Abort implements client.Exchange. It ends an exchange whose response cannot be completed. A
// client that has a part of it must not mistake it for the whole. Bodies with chunks or a
// length reveal this; otherwise the connection is reset.
func (ex *exchange) Abort() {
	cl, delimited := ex.client, ex.delimited()
	ex.End()
	cl.Abort(delimited)
}

// delimited reports whether a client with a partial response can detect the truncation if
// the connection just ends.
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
func (ex *exchange) BodyRefused() bool { return ex.sending.bodyRefused && ex.saved.bytes == nil }

// Watches implements client.Exchange.
func (ex *exchange) Watches() client.Watch {
	if ex.service.IgnoreClose || !ex.request.done() {
		return client.WatchResets
	}
	return client.WatchCloses
}
