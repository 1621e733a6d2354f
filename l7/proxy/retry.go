package proxy

import (
	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/rejection"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/table"
)

// retries are an exchange's tries for the sake of an answer.
type retries struct {
	last     []byte         // an answer that was not passed on, while there are other backends to ask; pooled
	lastOf   *table.Backend // whose it is
	retried  uint8          // how often another one was asked
	recalled bool           // last was the best there was
}

// keeps keeps the request b that is being sent, if it may be sent again for the
// sake of an answer. It reports whether it did.
func (ex *exchange) keeps(b []byte) bool {
	rt, w := ex.service.Retry, ex.w
	if ex.retried == 0 {
		rt.Spent[w.index].Request(w.loop.Now())
	}
	if len(b) > maxReplay || ex.retried >= rt.Most || ex.upgrade || ex.client.WantsTunnel() || !rt.Unsafe && !ex.verb.Idempotent() {
		return false
	}
	if ex.head == nil {
		ex.save()
	}
	return true
}

// mayRetry reports whether a try that failed in that way goes on to another
// backend, and spends what that costs. Nothing of an answer may have come to the
// client.
func (ex *exchange) mayRetry(c table.RetryCondition) bool {
	rt := ex.service.Retry
	switch {
	case rt == nil || rt.On&c == 0 || ex.head == nil || ex.interim != 0 || ex.retried >= rt.Most || ex.upgrade || ex.client.WantsTunnel():
		return false
	case ex.ahead != nil && c != table.RetryStatus:
		return false // it did answer
	case !ex.verb.Idempotent() && (!rt.Unsafe || c == table.RetryTimeout || !ex.request.done()):
		return false
	}
	return ex.service.Picker.Free(ex.Tried.With(ex.index())) && rt.Spent[ex.w.index].Retry(ex.w.loop.Now(), rt.Percent)
}

// retryAfter goes on to another backend after the chosen one gave no answer.
func (ex *exchange) retryAfter(class rejection.Class, reason string) {
	ex.noteBackend(class, 0, reason)
	ex.recordGoesOn()
	ex.leaveBackend()
	ex.drop()
	ex.goOn()
}

// leaveBackend notes that the chosen backend failed the exchange.
func (ex *exchange) leaveBackend() {
	ex.backendStats().Retries++
	ex.Tried = ex.Tried.With(ex.index())
	ex.retried++
}

// goOn looks for a backend once more, and sends it what comes of the body.
func (ex *exchange) goOn() {
	ex.bodyRefused, ex.fresh, ex.seen = false, false, 0
	ex.forwardTo()
	if ex.wait == nil && ex.up != nil {
		ex.ClientReadable()
	}
}

// retryAnswer lets another backend answer instead of the one that answered with
// b, whose head has n bytes. That answer is kept, since it may turn out to be
// the best there is; one that cannot be is passed on. It reports whether the
// answer was taken, or is to be taken once it is complete.
func (ex *exchange) retryAnswer(kind http1.Body, b []byte, n int) bool {
	r := &ex.w.resp
	if ex.head == nil || len(b) > maxReplay || kind == http1.BodyUntilClose || kind == http1.BodyChunked && ex.service.Multiplexed || kind == http1.BodyLength && r.ContentLength > maxReplay {
		return false
	}
	// What is kept has to be as it came: take cleans its bytes in place, and the
	// rest of a body that is not complete may begin within what it takes out.
	w := ex.w
	w.loop.Scratch = append(w.loop.Scratch[:0], b[n:]...)
	ex.response.startAnswer(kind, &r.Head, true)
	in, _, err := ex.response.take(w.loop.Scratch, false)
	switch {
	case err != nil:
		return false
	case !ex.response.done():
		if !ex.service.Picker.Free(ex.Tried.With(ex.index())) {
			return false
		}
		ex.keepAhead(b)
		ex.up.SetDeadline(w.loop.Now() + ex.backend.Timeout)
		return true
	case !ex.mayRetry(table.RetryStatus):
		return false
	}
	ex.countTaken(len(b), w.loop.Now()-ex.sent)
	ex.keepBackend = ex.reusable(kind)
	if n+in < len(b) {
		ex.sentMore(moreReason(r, ex.verb == http1.VerbHEAD))
	}
	ex.keepLast(b[:n+in])
	ex.leaveBackend()
	ex.release()
	ex.giveBack(ex.request.done())
	ex.goOn()
	return true
}

// keepLast keeps an answer that is not passed on yet.
func (ex *exchange) keepLast(b []byte) {
	buffers := &ex.w.loop.Buffers
	if ex.last != nil {
		buffers.Put(ex.last)
	}
	ex.last, ex.lastOf = append(buffers.Get(len(b)), b...), ex.backend
	ex.keepAhead(nil)
}

// failed ends an exchange none of whose tries brought an answer to pass on: with
// the last one that was kept, or else with one of ours.
func (ex *exchange) failed(status int) {
	if ex.last == nil {
		ex.fail(status)
		return
	}
	ex.drop()
	ex.unsave()
	ex.keepAhead(nil)
	ex.ahead, ex.last, ex.backend, ex.recalled = ex.last, nil, ex.lastOf, true
	r := &ex.w.resp
	r.Reset()
	n, _ := r.Parse(ex.ahead)
	ex.phase = phaseHead
	ex.answer(ex.ahead, n)
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
