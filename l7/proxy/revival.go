package proxy

import (
	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/balance"
)

// attemptTime bounds the attempts of one exchange to reach down backends. Other exchanges are
// refused meanwhile, so the next one should soon have its turn.
const attemptTime = second

// revival is an exchange's attempt to reach a down backend.
type revival struct {
	attempt *balance.Attempt // nil without one
	began   int64            // start of the attempts
}

// choose picks a down backend if none is usable and it is this exchange's turn to try.
func (rv *revival) choose(ex *exchange) (int, bool) {
	now := ex.w.loop.Now()
	if rv.began != 0 && now-rv.began >= attemptTime {
		return -1, false
	}
	i, right := ex.service.Picker.Attempt(ex.choice.Belongs(ex.service), ex.choice.Tried, rv.attempt)
	if i < 0 {
		return -1, false
	}
	if rv.began == 0 {
		rv.began = now
	}
	rv.attempt, ex.sending.fresh = right, true // a kept connection does not prove that the backend accepts new ones
	ex.choice.Held, ex.choice.Why = ex.service.Picker.Held(i), accesslog.WhyAttempt
	ex.queue.end(ex)
	return i, true
}

// end allows other exchanges to try.
func (rv *revival) end() {
	rv.attempt.Done()
	rv.attempt = nil
}

// succeed marks the backend as reachable for all loops.
func (rv *revival) succeed(ex *exchange) {
	if rv.attempt == nil {
		return
	}
	ex.w.engine.revived(ex.backend)
	rv.end()
}
