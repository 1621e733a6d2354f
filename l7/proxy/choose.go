package proxy

import (
	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/balance"
)

// pick chooses the backend, and counts what that costs others.
func (ex *exchange) pick() (int, bool) {
	i, ok := ex.Pick(ex.service)
	if ex.Keyed(ex.service) {
		if n := ex.service.Sessions.Forgotten(); n > 0 { // an explanation, which counts nothing, displaces none
			ex.stats().Forgotten += n
		}
		if ok && ex.Why == accesslog.WhySession {
			ex.recordFlag(accesslog.Session)
		}
	}
	return i, ok
}

// choose picks a backend, unless others are to have one first.
func (ex *exchange) choose() (int, bool) {
	if ex.service.QueueLength == 0 && ex.wait == nil {
		return ex.pick()
	}
	return ex.chooseInTurn()
}

func (ex *exchange) chooseInTurn() (int, bool) {
	q := ex.queue
	if !ex.turned && q.Len() > 0 {
		return -1, false
	}
	i, ok := ex.pick()
	if !ok {
		return -1, false
	}
	ex.turned = true
	ex.endWait()
	return i, true
}

// attemptTime bounds how long one exchange tries backends that are down: others
// are told meanwhile that there is none, and the next one should soon have its
// turn.
const attemptTime = second

// reviving is an exchange's try of a backend that is down.
type reviving struct {
	attempt *balance.Attempt // nil without one
	trying  int64            // since when it does so
}

// chooseDown picks a backend that is down while none is usable, if it is the turn
// of this exchange to try.
func (ex *exchange) chooseDown() (int, bool) {
	now := ex.w.loop.Now()
	if ex.trying != 0 && now-ex.trying >= attemptTime {
		return -1, false
	}
	i, right := ex.service.Picker.Attempt(ex.Belongs(ex.service), ex.Tried, ex.attempt)
	if i < 0 {
		return -1, false
	}
	if ex.trying == 0 {
		ex.trying = now
	}
	ex.attempt, ex.fresh = right, true // a connection that is kept proves nothing
	ex.Held, ex.Why = ex.service.Picker.Held(i), accesslog.WhyAttempt
	ex.endWait()
	return i, true
}

// endAttempt lets other exchanges try.
func (ex *exchange) endAttempt() {
	ex.attempt.Done()
	ex.attempt = nil
}

// attempted tells all loops that the backend the exchange tried is there again.
func (ex *exchange) attempted() {
	if ex.attempt == nil {
		return
	}
	ex.w.engine.revived(ex.backend)
	ex.endAttempt()
}
