package proxy

import (
	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/l7/backend"
	"github.com/sluicelb/sluice/l7/dial"
)

// maxReplay bounds a request that is kept while a backend of HTTP/2 may still
// say that it has not looked at it.
const maxReplay = 64 << 10

// maxRefusals is how often a request may be sent again because of that.
const maxRefusals = 3

// sending is how far an exchange's request is.
type sending struct {
	// head holds the rewritten request as long as it may have to be sent
	// again: until a connection stands, or until the answer begins.
	head []byte
	// refusals is how often a backend did not look at the request.
	refusals uint8
	// unshaken is how many handshakes failed for what the client sent.
	unshaken   uint8
	replayable bool // head is the whole request and sending it twice is safe
	fresh      bool // the next connection must be a new one
	deaf       bool // the backend takes no more of the body
}

// transport finds what carries the exchange to the target. established tells that
// the request can be sent now; otherwise the outcome of a connect is awaited.
func (ex *exchange) transport(to *dial.Target) (up backend.Transport, established bool, err error) {
	pool := ex.w.pool
	if ex.service.Multiplexed {
		return pool.Stream(to, &backend.Ask{
			Owner: ex, New: ex.fresh, Bare: ex.unframed(), Upgrade: ex.upgrade, Began: ex.began, Timeout: ex.backend.Timeout,
		})
	}
	if !ex.fresh && !ex.service.Pinned {
		if up := pool.Idle(to, ex); up != nil {
			return up, true, nil
		}
	}
	if to.Announce != 0 {
		to = ex.announce(to)
	}
	up, err = pool.Dial(to, ex)
	return up, false, err
}

// takeKept gives the exchange a connection its client keeps for the service. It
// answers false when there is none, or none that can serve it.
func (ex *exchange) takeKept() bool {
	up := ex.peer.Kept().Take(ex.service.ID, ex, func(c *dial.Conn, id uint32) bool {
		i := ex.service.Find(id)
		if i < 0 {
			return false
		}
		ex.backend = &ex.service.Backends[i]
		return c.Fits(ex.destination()) && ex.Claim(ex.service, i)
	})
	if up == nil {
		return false
	}
	ex.binds = true // if the service does not say so it was a log-in that did
	ex.up, ex.Why = up, accesslog.WhyPin
	ex.await()
	ex.backendStats().Reuses++
	return true
}

// transmit sends the request as far as it has come: a head of HTTP/1.1 and
// bytes of the body, with chunks only where the backend speaks HTTP/1.
func (ex *exchange) transmit(b []byte) error {
	if !ex.service.Multiplexed {
		return ex.up.Send(b, false, nil)
	}
	ex.client.Listen(true) // if it leaves the backend may stop
	up := ex.up
	err := up.Send(b, ex.request.done(), ex.requestTrailer())
	if ex.binds {
		up.Reserve()
	}
	return err
}

// transmitBody sends more of the body.
func (ex *exchange) transmitBody(p []byte) error {
	t := ex.requestTrailer()
	ex.keepSent(p)
	if !ex.service.Multiplexed {
		ex.keepSent(t)
	}
	return ex.up.SendBody(p, ex.request.done(), t)
}

// keepSent adds p to the request that may have to be sent again.
func (ex *exchange) keepSent(p []byte) {
	switch {
	case ex.head == nil:
	case len(ex.head)+len(p) > maxReplay:
		ex.unsave()
	default:
		ex.head = append(ex.w.loop.Buffers.Grow(ex.head, len(p)), p...)
	}
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
	case !why.Unprocessed || ex.head == nil || ex.refusals == maxRefusals:
		return false
	}
	ex.refusals++
	ex.deaf = false
	return true
}

// giveBack ends the use of the transport of a complete exchange. complete tells
// that the request is, too.
func (ex *exchange) giveBack(complete bool) {
	up, whole := ex.up, ex.keepBackend && complete
	ex.up = nil
	if ex.service.Pinned || ex.binds {
		up.FinishFor(ex.peer.Keep(), ex.service.ID, whole)
		return
	}
	up.Finish(whole)
}

// takeAnswer looks at the next bytes of the answer's body, as body.take does.
func (ex *exchange) takeAnswer(p []byte, unchunk bool) (in, out int, err error) {
	in, out, err = ex.response.take(p, unchunk)
	if err == nil && ex.response.bare && ex.up.Complete() {
		err = ex.endBare()
	}
	return in, out, err
}

// endBare ends a body that came without chunks.
func (ex *exchange) endBare() (err error) {
	w := ex.w
	w.loop.Scratch, err = ex.response.end(w.loop.Scratch, ex.up.Trailers())
	return err
}

// bareEnded handles the end of such a body when it comes alone.
func (ex *exchange) bareEnded() {
	switch err := ex.endBare(); {
	case err != nil:
		ex.badBody(err)
	case ex.sendBodyPart(nil) != nil:
		ex.ClientGone()
	default:
		ex.finish()
	}
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
