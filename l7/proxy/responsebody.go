package proxy

import (
	"io"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/backend"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/refused"
)

// advance goes on after some of the response was written.
func (ex *exchange) advance() {
	if ex.response.done() {
		ex.finish()
		return
	}
	ex.pumpResponse()
}

// pumpResponse moves the response body on, until it pauses or ends.
func (ex *exchange) pumpResponse() {
	l := ex.w.loop
	reads, most := readsPerTurn, len(l.In)
	if ex.encoder != nil {
		reads, most = 1, ex.encoder.Turn() // it takes time, not only memory
	}
	for range reads {
		room := ex.client.Room(most)
		if room == 0 {
			// ClientDrained comes back here; until then the client, not the
			// backend, is on the clock.
			ex.client.Await(ex.farm.RequestTimeout)
			return
		}
		n, err := ex.up.Read(l.In[:room])
		if err == loop.ErrDry {
			if ex.encoder != nil && !ex.flushEncoded() {
				return
			}
			ex.up.SetDeadline(l.Now() + ex.backend.Timeout)
			return
		}
		if err != nil {
			ex.bodyEnded(err)
			return
		}
		if !ex.passBody(l.In[:n]) {
			return
		}
	}
	ex.up.Again()
}

// passBody passes on the next bytes of the response body. It reports whether
// more are wanted.
func (ex *exchange) passBody(p []byte) bool {
	in, out, err := ex.takeAnswer(p, ex.unframed() || ex.encoder != nil)
	if err != nil {
		ex.badBody(err)
		return false
	}
	ex.backendStats().BytesIn += uint64(in)
	switch err = ex.sendBodyPart(p[:out]); {
	case err != nil:
		ex.ClientGone()
		return false
	case in < len(p):
		ex.sentMore()
	}
	if ex.response.done() {
		ex.finish()
		return false
	}
	return true
}

// sentMore gives up the connection of a backend that sent bytes behind its whole
// answer. They are nobody's; the answer is whole without them and goes on.
func (ex *exchange) sentMore() {
	ex.keepBackend = false
	ex.backendStats().BadResponses++
	ex.noteBackend(refused.BadAnswer, 0, "more than was announced")
}

// sendBodyPart sends content on to the client, with the end of the body if it
// is done.
func (ex *exchange) sendBodyPart(p []byte) error {
	if ex.encoder != nil {
		return ex.sendEncoded(p, false)
	}
	ex.stats().BytesOut += uint64(len(p))
	ex.recordMoved(0, uint64(len(p)))
	return ex.client.WriteBody(p, ex.response.done(), ex.answerTrailer())
}

// badBody ends an exchange whose backend broke the rules within the body.
func (ex *exchange) badBody(err error) {
	ex.backendStats().BadResponses++
	ex.noteBackend(refused.BadAnswer, 0, answerReason(err))
	ex.Abort()
}

// bodyEnded handles the end of the backend's direction within the body.
func (ex *exchange) bodyEnded(err error) {
	if err == io.EOF && ex.response.bare {
		ex.bareEnded()
		return
	}
	if why := backend.ErrorOf(err); why != nil && why.Broke {
		ex.badBody(err)
		return
	}
	if err == io.EOF && ex.response.kind == http1.BodyUntilClose {
		if ex.up.Truncated() {
			ex.cutBody("connection ended without a word, and nothing else ends the body") // RFC 9112, section 9.8
			return
		}
		ex.response.kind = http1.BodyNone
		if ex.encoder != nil && ex.sendEncoded(nil, true) != nil {
			ex.ClientGone()
			return
		}
		ex.finish()
		return
	}
	ex.cutBody(endReason(err, "connection ended within the body"))
}

// cutBody ends an exchange whose backend cut the body of its answer.
func (ex *exchange) cutBody(reason string) {
	ex.backendStats().Resets++
	ex.noteBackend(refused.CutAnswer, 0, reason)
	ex.Abort()
}

// ClientDrained implements client.Exchange: the client has taken what was pending.
func (ex *exchange) ClientDrained() {
	switch ex.phase {
	case phaseBody:
		ex.pumpResponse()
	case phaseTunnel:
		ex.tunnelDown()
	}
}
