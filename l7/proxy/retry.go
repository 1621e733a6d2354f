package proxy

import (
	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/rejection"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/table"
)

// retries holds an exchange's retries after failed responses.
type retries struct {
	last     []byte         // response held back while other backends are tried; pooled
	backend  *table.Backend // that sent it
	count    uint8          // number of retries
	recalled bool           // last was the best response
}

// keeps keeps the request b if it may be retried, and reports whether it did.
func (ex *exchange) keeps(b []byte) bool {
	rt, w := ex.service.Retry, ex.w
	if ex.retry.count == 0 {
		rt.Spent[w.index].Request(w.loop.Now())
	}
	if len(b) > maxReplay || ex.retry.count >= rt.Most || ex.upgrade.requested || ex.client.WantsTunnel() || !rt.Unsafe && !ex.verb.Idempotent() {
		return false
	}
	if ex.saved.bytes == nil {
		ex.saved.store(ex.w.loop)
	}
	return true
}

// mayRetry reports whether an attempt that failed in that way is retried, and charges the
// budget. The client must not have received any part of the response.
func (ex *exchange) mayRetry(c table.RetryCondition) bool {
	rt := ex.service.Retry
	switch {
	case rt == nil || rt.On&c == 0 || ex.saved.bytes == nil || ex.head.interim != 0 || ex.retry.count >= rt.Most || ex.upgrade.requested || ex.client.WantsTunnel():
		return false
	case ex.head.partial != nil && c != table.RetryStatus:
		return false // the backend did respond
	case !ex.verb.Idempotent() && (!rt.Unsafe || c == table.RetryTimeout || !ex.request.done()):
		return false
	}
	return ex.service.Picker.Free(ex.choice.Tried.With(ex.index())) && rt.Spent[ex.w.index].Retry(ex.w.loop.Now(), rt.Percent)
}

// retryAfter tries another backend after the chosen one sent no response.
func (ex *exchange) retryAfter(class rejection.Class, reason string) {
	ex.noteBackend(class, 0, reason)
	ex.record.clearRejection()
	ex.leaveBackend()
	ex.drop()
	ex.goOn()
}

// leaveBackend records that the chosen backend failed.
func (ex *exchange) leaveBackend() {
	ex.backendStats().Retries++
	ex.choice.Tried = ex.choice.Tried.With(ex.index())
	ex.retry.count++
}

// goOn selects another backend and sends it the body as it arrives.
func (ex *exchange) goOn() {
	ex.sending.bodyRefused, ex.sending.fresh, ex.head.seen = false, false, 0
	ex.forwardTo()
	if ex.queue.place == nil && ex.up != nil {
		ex.ClientReadable()
	}
}

// retryAnswer tries another backend instead of forwarding b, a response with a head of n
// bytes. The response is kept in case it turns out to be the best; a response that cannot be
// kept is forwarded. It reports whether the response was kept, or will be once it is
// complete.
func (ex *exchange) retryAnswer(kind http1.Body, b []byte, n int) bool {
	r := &ex.w.resp
	if ex.saved.bytes == nil || len(b) > maxReplay || kind == http1.BodyUntilClose || kind == http1.BodyChunked && ex.service.Multiplexed || kind == http1.BodyLength && r.ContentLength > maxReplay {
		return false
	}
	// The kept bytes must be the original ones, because take modifies its input and the rest
	// of an incomplete body may begin within the part it removes.
	w := ex.w
	w.loop.Scratch = append(w.loop.Scratch[:0], b[n:]...)
	ex.response.startAnswer(kind, &r.Head, true)
	in, _, err := ex.response.take(w.loop.Scratch, false)
	switch {
	case err != nil:
		return false
	case !ex.response.done():
		if !ex.service.Picker.Free(ex.choice.Tried.With(ex.index())) {
			return false
		}
		ex.head.keep(&ex.w.loop.Buffers, b)
		ex.up.SetDeadline(w.loop.Now() + ex.backend.Timeout)
		return true
	case !ex.mayRetry(table.RetryStatus):
		return false
	}
	ex.countTaken(len(b), w.loop.Now()-ex.sending.began)
	ex.setReuse(kind)
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

// keepLast keeps a response that is not forwarded yet.
func (ex *exchange) keepLast(b []byte) {
	buffers := &ex.w.loop.Buffers
	if ex.retry.last != nil {
		buffers.Put(ex.retry.last)
	}
	ex.retry.last, ex.retry.backend = append(buffers.Get(len(b)), b...), ex.backend
	ex.head.keep(&ex.w.loop.Buffers, nil)
}

// failed ends an exchange without a response to forward: with the last one kept, or else
// with a generated one.
func (ex *exchange) failed(status int) {
	if ex.retry.last == nil {
		ex.fail(status)
		return
	}
	ex.drop()
	ex.saved.release(ex.w.loop)
	ex.head.keep(&ex.w.loop.Buffers, nil)
	if ex.encoding.encoder != nil { // planned for the response that failed
		ex.returnEncoder()
	}
	ex.head.partial, ex.retry.last, ex.backend, ex.retry.recalled = ex.retry.last, nil, ex.retry.backend, true
	r := &ex.w.resp // it holds another exchange's response by now
	r.Reset()
	r.Allow(ex.service.Leniency)
	n, err := r.Parse(ex.head.partial)
	if err != nil || n == 0 {
		ex.fail(status)
		return
	}
	ex.phase = phaseHead
	ex.answer(ex.head.partial, n)
}

// attemptTime bounds the attempts of one exchange to reach down backends. Other exchanges are
// refused meanwhile, so the next one should soon have its turn.
const attemptTime = second

// revival is an exchange's attempt to reach a down backend.
type revival struct {
	attempt *balance.Attempt // nil without one
	began   int64            // start of the attempts
}

// chooseDown picks a down backend if none is usable and it is this exchange's turn to try.
func (ex *exchange) chooseDown() (int, bool) {
	now := ex.w.loop.Now()
	if ex.revival.began != 0 && now-ex.revival.began >= attemptTime {
		return -1, false
	}
	i, right := ex.service.Picker.Attempt(ex.choice.Belongs(ex.service), ex.choice.Tried, ex.revival.attempt)
	if i < 0 {
		return -1, false
	}
	if ex.revival.began == 0 {
		ex.revival.began = now
	}
	ex.revival.attempt, ex.sending.fresh = right, true // a kept connection does not prove that the backend accepts new ones
	ex.choice.Held, ex.choice.Why = ex.service.Picker.Held(i), accesslog.WhyAttempt
	ex.queue.end(ex)
	return i, true
}

// endAttempt allows other exchanges to try.
func (ex *exchange) endAttempt() {
	ex.revival.attempt.Done()
	ex.revival.attempt = nil
}

// attempted marks the backend as reachable for all loops.
func (ex *exchange) attempted() {
	if ex.revival.attempt == nil {
		return
	}
	ex.w.engine.revived(ex.backend)
	ex.endAttempt()
}
