package proxy

import (
	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/backend"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/table"
)

// headEnded handles a backend connection that ended before an answer came. On
// a connection that was used before this is most likely the backend's
// keep-alive time-out, so a request that may be repeated is.
func (ex *exchange) headEnded(err error) {
	if err == loop.ErrDry {
		return
	}
	if ex.repeatable(err) {
		ex.again()
		return
	}
	if ex.refused(err) {
		return
	}
	ex.backendStats().Resets++
	ex.erred(health.CauseReset)
	reason := endReason(err, "connection ended before the answer")
	if ex.ahead != nil {
		reason = "connection ended within the head"
	}
	if ex.mayRetry(table.RetryReset) {
		ex.retryAfter(rejected.CutAnswer, reason)
		return
	}
	ex.noteBackend(rejected.CutAnswer, 502, reason)
	ex.drop()
	ex.failed(502)
}

// repeatable reports whether the request may be sent again after its transport
// ended with err before an answer came.
func (ex *exchange) repeatable(err error) bool {
	if ex.ahead != nil || ex.interim != 0 {
		return false
	}
	switch why := backend.ErrorOf(err); {
	case why == nil || why.Lost:
		return ex.replayable
	case !why.Unprocessed || ex.head == nil || ex.rejections == maxRejections:
		return false
	}
	ex.rejections++
	ex.bodyRefused = false
	return true
}

// maxRejections is how often a request may be sent again because of that.
const maxRejections = 3

// again sends the saved request once more, on a new connection.
func (ex *exchange) again() {
	ex.backendStats().Retries++
	ex.drop()
	ex.fresh = true
	ex.forwardTo()
}

// refused answers for a backend of HTTP/2 that broke the rules. It reports
// false when err is no such thing.
func (ex *exchange) refused(err error) bool {
	why := backend.ErrorOf(err)
	if why == nil || !why.Broke {
		return false
	}
	ex.badResponse(why.Reason)
	return true
}

// endReason is why a transport ended with err: otherwise, if it was a connection
// that just did.
func endReason(err error, otherwise string) string {
	if why := backend.ErrorOf(err); why != nil && why != backend.ErrLost {
		return why.Reason
	}
	return otherwise
}

// badResponse answers for a backend whose answer breaks the rules. Nothing of
// it has been passed on.
func (ex *exchange) badResponse(reason string) {
	ex.noteBackend(rejected.BadAnswer, 502, reason)
	ex.backendStats().BadResponses++
	ex.drop()
	ex.failed(502)
}

// BackendFailed implements backend.Owner.
func (ex *exchange) BackendFailed(err error) {
	defer ex.peer.Conn.Contain()
	ex.up = nil // the pool has it back
	switch ex.phase {
	case phaseHead:
		ex.headEnded(err)
	case phaseConnect:
		ex.BackendConnected(ex.w.loop.Now(), true, err)
	case phaseTunnel:
		ex.backendStats().Resets++
		ex.recordFlag(accesslog.AbortedByBackend)
		ex.Abort()
	default:
		ex.cutBody("connection ended within the body")
	}
}

// BackendExpired implements backend.Owner: the backend kept us waiting.
func (ex *exchange) BackendExpired() {
	defer ex.peer.Conn.Contain()
	switch {
	case !ex.request.done() && !ex.bodyRefused && ex.up.Pending() == 0:
		// It waits for the client, as we do: sendBody sets the deadline again.
	case ex.phase == phaseHead:
		s := ex.backendStats()
		s.Timeouts++
		ex.stats().Timeouts++
		ex.erred(health.CauseTimeout)
		if ex.mayRetry(table.RetryTimeout) {
			ex.retryAfter(rejected.BackendTimeout, "no answer in time")
			return
		}
		ex.noteBackend(rejected.BackendTimeout, 504, "no answer in time")
		ex.drop()
		ex.failed(504)
	case ex.phase == phaseBody && ex.client.Pending() == 0:
		ex.backendStats().Timeouts++
		ex.noteBackend(rejected.BackendTimeout, 0, "answer not complete in time")
		ex.Abort()
	}
}
