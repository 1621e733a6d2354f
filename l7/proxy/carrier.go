package proxy

import (
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/dial"
)

// carrier is what carries an exchange on its backend side: a connection of
// HTTP/1, which is a *dial.Conn, or a stream of HTTP/2, which is a *lane. Both
// give the answer as bytes of HTTP/1.1. What is written to them differs, see
// transmit.
type carrier interface {
	Read(p []byte) (int, error)
	// Pending is other than 0 while no more of the body is taken; then
	// BackendDrained follows.
	Pending() int
	SetDeadline(t int64)
	// Wait asks for BackendReadable when there is more to read, Again for it in
	// any case, after others had their turn.
	Wait()
	Again()
	// Reused reports whether the connection stood before the exchange came.
	Reused() bool
	// Discard ends what is not complete; nothing is heard of it any more.
	Discard()
}

// maxReplay bounds a request that is kept while a backend of HTTP/2 may still
// say that it has not looked at it.
const maxReplay = 64 << 10

// maxRefusals is how often a request may be sent again because of that.
const maxRefusals = 3

// carrier finds what carries the exchange to the target. stands tells that the
// request can be sent now; otherwise the outcome of a connect is awaited.
func (ex *exchange) carrier(to *dial.Target) (up carrier, stands bool, err error) {
	if ex.service.multiplexed {
		ln, err := ex.w.trunks.lane(to, ex)
		if err != nil {
			return nil, false, err
		}
		return ln, ln.reused, nil
	}
	if !ex.fresh && !ex.service.pinned {
		if up := ex.w.pool.Idle(to, ex); up != nil {
			return up, true, nil
		}
	}
	if to.Announce != 0 {
		to = ex.announce(to)
	}
	c, err := ex.w.pool.Dial(to, ex)
	if err != nil {
		return nil, false, err
	}
	return c, false, nil
}

// transmit sends the request as far as it has come: a head of HTTP/1.1 and
// bytes of the body, with chunks only where the backend speaks HTTP/1.
func (ex *exchange) transmit(b []byte) error {
	if ln, ok := ex.up.(*lane); ok {
		if ex.client.stream == nil {
			ex.client.conn.Wait() // if it leaves the backend may stop
		}
		err := ln.open(b, ex.request.done(), ex.requestTrailer())
		if ex.binds {
			ln.trunk.leave()
		}
		return err
	}
	return ex.up.(*dial.Conn).Write(b)
}

// transmitBody sends more of the body.
func (ex *exchange) transmitBody(p []byte) error {
	if ln, ok := ex.up.(*lane); ok {
		ex.keepSent(p)
		return ln.send(p, ex.request.done(), ex.requestTrailer())
	}
	c := ex.up.(*dial.Conn)
	if ex.head != nil {
		ex.keepSent(p)
		ex.keepSent(ex.requestTrailer())
	}
	err := c.Write(p)
	if t := ex.requestTrailer(); err == nil && len(t) > 0 {
		err = c.Write(t)
	}
	return err
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

// repeatable reports whether the request may be sent again after its carrier
// ended with err before an answer came.
func (ex *exchange) repeatable(err error) bool {
	if ex.ahead != nil || ex.interim != 0 {
		return false
	}
	switch why, ok := err.(*laneError); {
	case !ok || why.lost:
		return ex.replayable
	case why != errUnprocessed || ex.head == nil || ex.refusals == maxRefusals:
		return false
	}
	ex.refusals++
	ex.deaf = false
	return true
}

// giveBack ends the use of the carrier of a complete exchange. complete tells
// that the request is, too.
func (ex *exchange) giveBack(complete bool) {
	up := ex.up
	ex.up = nil
	if ln, ok := up.(*lane); ok {
		ln.finish()
		return
	}
	switch c := up.(*dial.Conn); {
	case !ex.keepBackend || !complete || c.Pending() != 0:
		c.Discard()
	case ex.service.pinned || ex.binds:
		ex.client.pinTo(c, ex.service.id, ex.backend.id)
	default:
		ex.w.pool.Put(c)
	}
}

// takeAnswer looks at the next bytes of the answer's body, as body.take does.
func (ex *exchange) takeAnswer(p []byte, unchunk bool) (in, out int, err error) {
	in, out, err = ex.response.take(p, unchunk)
	if err == nil && ex.response.bare && ex.up.(*lane).complete() {
		err = ex.endBare()
	}
	return in, out, err
}

// endBare ends a body that came without chunks.
func (ex *exchange) endBare() (err error) {
	w := ex.w
	w.loop.Scratch, err = ex.response.end(w.loop.Scratch, ex.up.(*lane).trailers)
	return err
}

// bareEnded handles the end of such a body when it comes alone.
func (ex *exchange) bareEnded() {
	switch err := ex.endBare(); {
	case err != nil:
		ex.badBody(err)
	case ex.sendBodyPart(nil) != nil:
		ex.clientGone()
	default:
		ex.finish()
	}
}

// refused answers for a backend of HTTP/2 that broke the rules. It reports
// false when err is no such thing.
func (ex *exchange) refused(err error) bool {
	why, ok := err.(*laneError)
	if !ok || !why.broke {
		return false
	}
	ex.badResponse(why.reason)
	return true
}

// endReason is why a carrier ended with err: otherwise, if it was a connection
// that just did.
func endReason(err error, otherwise string) string {
	if why, ok := err.(*laneError); ok && why != errLost {
		return why.reason
	}
	return otherwise
}

// plain is the connection of a backend that speaks HTTP/1.
func (ex *exchange) plain() *dial.Conn { return ex.up.(*dial.Conn) }

// protocols are those the backends of a service are offered with TLS.
func protocols(s *farm.Service) []string {
	if s.Multiplexed() {
		return []string{"h2"}
	}
	return nil
}
