package proxy

import (
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/backend"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/table"
)

// headEnded handles a backend connection that ended before a response. On a reused
// connection the likely cause is the backend's keep-alive timeout, so a repeatable request
// is sent again.
func (ex *exchange) headEnded(err error) {
	if err == loop.ErrDry {
		return
	}
	if ex.sending.repeatable(ex, err) {
		ex.again()
		return
	}
	if why := backend.ErrorOf(err); why != nil && why.Broke { // the backend violated HTTP/2
		ex.badResponse(why.Reason)
		return
	}
	ex.backendStats().Resets++
	if ex.sending.endedIdle(ex) {
		ex.backendStats().Failures++
	} else {
		ex.w.countFailure(ex.service, ex.backend, health.CauseReset)
	}
	reason := endReason(err, "connection ended before the answer")
	if ex.head.partial != nil {
		reason = "connection ended within the head"
	}
	if ex.retry.allowed(ex, table.RetryReset) {
		ex.retryAfter(rejected.CutAnswer, reason)
		return
	}
	ex.noteBackend(rejected.CutAnswer, 502, reason)
	ex.drop()
	ex.failed(502)
}

// idleEnd is the time, in nanoseconds, within which the end of an idle connection shows after a
// request was sent on it.
const idleEnd = second

// endedIdle reports whether the connection probably ended because it was idle, before the
// backend had the request.
func (s *sending) endedIdle(ex *exchange) bool {
	return s.reused && !ex.service.Multiplexed && ex.head.partial == nil && ex.head.interim == 0 &&
		ex.w.loop.Now()-s.began < idleEnd
}

// repeatable reports whether the request may be sent again after its transport ended with
// err before a response.
func (s *sending) repeatable(ex *exchange, err error) bool {
	if ex.head.partial != nil || ex.head.interim != 0 {
		return false
	}
	switch why := backend.ErrorOf(err); {
	case why == nil || why.Lost:
		return ex.saved.replayable
	case !why.Unprocessed || ex.saved.bytes == nil || s.rejections == maxRejections:
		return false
	}
	s.rejections++
	s.bodyRefused = false
	return true
}

// maxRejections bounds the repetitions after rejected streams.
const maxRejections = 3

// again sends the saved request on a new connection.
func (ex *exchange) again() {
	ex.backendStats().Retries++
	ex.drop()
	ex.sending.fresh = true
	ex.forwardTo()
}

// endReason returns the reason why a transport ended with err, or otherwise if its
// connection just ended.
func endReason(err error, otherwise string) string {
	if why := backend.ErrorOf(err); why != nil && why != backend.ErrLost {
		return why.Reason
	}
	return otherwise
}

// badResponse refuses an invalid response of a backend. No part of it has been forwarded.
func (ex *exchange) badResponse(reason string) {
	ex.noteBackend(rejected.BadAnswer, 502, reason)
	ex.backendStats().BadResponses++
	ex.drop()
	ex.failed(502)
}

// BackendFailed implements backend.Owner.
func (ex *exchange) BackendFailed(err error) {
	defer ex.peer.Conn.Contain()
	ex.up = nil // the pool has taken the transport back
	switch ex.phase {
	case phaseHead:
		ex.headEnded(err)
	case phaseConnect:
		ex.BackendConnected(ex.w.loop.Now(), true, err)
	default:
		ex.cutBody("connection ended within the body")
	}
}

// BackendExpired implements backend.Owner. The backend exceeded its timeout.
func (ex *exchange) BackendExpired() {
	defer ex.peer.Conn.Contain()
	switch {
	case !ex.request.done() && !ex.sending.bodyRefused && ex.up.Pending() == 0:
		// The backend waits for the client, as this exchange does; sendBody sets the deadline
		// again.
	case ex.phase == phaseHead:
		s := ex.backendStats()
		s.Timeouts++
		ex.stats().Timeouts++
		ex.w.countFailure(ex.service, ex.backend, health.CauseTimeout)
		if ex.retry.allowed(ex, table.RetryTimeout) {
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
