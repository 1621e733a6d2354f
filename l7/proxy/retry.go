package proxy

import (
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

// save saves the request b if it may be retried, and reports whether it did.
func (r *retries) save(ex *exchange, b []byte) bool {
	rt, w := ex.service.Retry, ex.w
	if r.count == 0 {
		rt.Spent[w.index].Request(w.loop.Now())
	}
	if len(b) > maxReplay || r.exhausted(ex) || !rt.Unsafe && !ex.verb.Idempotent() {
		return false
	}
	if ex.saved.bytes == nil {
		ex.saved.store(ex.w.loop)
	}
	return true
}

// allowed reports whether an attempt that failed in that way is retried, and charges the
// budget. The client must not have received any part of the response.
func (r *retries) allowed(ex *exchange, c table.RetryCondition) bool {
	rt := ex.service.Retry
	switch {
	case rt == nil || rt.On&c == 0 || ex.saved.bytes == nil || ex.head.interim != 0 || r.exhausted(ex):
		return false
	case ex.head.partial != nil && c != table.RetryStatus:
		return false // the backend did respond
	case !ex.verb.Idempotent() && (!rt.Unsafe || c == table.RetryTimeout || !ex.request.done()):
		return false
	}
	return r.alternative(ex) && rt.Spent[ex.w.index].Retry(ex.w.loop.Now(), rt.Percent)
}

// exhausted reports whether the exchange has no retries left, or its upgrade allows none.
func (r *retries) exhausted(ex *exchange) bool {
	return r.count >= ex.service.Retry.Most || ex.upgrade.requested || ex.client.WantsTunnel()
}

// alternative reports whether another backend than the chosen one is free.
func (r *retries) alternative(ex *exchange) bool {
	return ex.service.Picker.Free(ex.choice.Tried.With(ex.service.Position(ex.backend)))
}

// hold keeps a response that is not forwarded yet.
func (r *retries) hold(ex *exchange, b []byte) {
	buffers := &ex.w.loop.Buffers
	if r.last != nil {
		buffers.Put(r.last)
	}
	r.last, r.backend = append(buffers.Get(len(b)), b...), ex.backend
	ex.head.keep(&ex.w.loop.Buffers, nil)
}

// retryAfter tries another backend after the chosen one sent no response.
func (ex *exchange) retryAfter(class rejection.Class, reason string) {
	ex.noteBackend(class, 0, reason)
	ex.record.clearRejection()
	ex.retry.leave(ex)
	ex.drop()
	ex.goOn()
}

// leave records that the chosen backend failed.
func (r *retries) leave(ex *exchange) {
	ex.backendStats().Retries++
	ex.choice.Tried = ex.choice.Tried.With(ex.service.Position(ex.backend))
	r.count++
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
	if ex.saved.bytes == nil || len(b) > maxReplay || kind == http1.BodyUntilClose ||
		kind == http1.BodyChunked && ex.service.Multiplexed || kind == http1.BodyLength && r.ContentLength > maxReplay {
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
		if !ex.retry.alternative(ex) {
			return false
		}
		ex.head.keep(&ex.w.loop.Buffers, b)
		ex.up.SetDeadline(w.loop.Now() + ex.backend.Timeout)
		return true
	case !ex.retry.allowed(ex, table.RetryStatus):
		return false
	}
	ex.countTaken(len(b), w.loop.Now()-ex.sending.began)
	ex.setReuse(kind)
	if n+in < len(b) {
		ex.sentMore(moreReason(r, ex.verb == http1.VerbHEAD))
	}
	ex.retry.hold(ex, b[:n+in])
	ex.retry.leave(ex)
	ex.release()
	ex.giveBack(ex.request.done())
	ex.goOn()
	return true
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
		ex.encoding.release(ex.w)
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
