package proxy

import (
	"io"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/backend"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/http2"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/rewrite"
)

const (
	// readsPerTurn bounds the reads one body may take of a turn: 1 MiB at most.
	readsPerTurn = 4
	// bodyRead is how much of a request body is read at once.
	bodyRead = 64 << 10
	// bodyLate is what the log says of a body that stopped coming.
	bodyLate = "body not complete in time"
)

// wantsBody reports whether the client is waited for, to send more of the body.
func (ex *exchange) wantsBody() bool {
	switch {
	case ex.request.done():
		return false
	case ex.service.DNSFarm != "":
		return true
	}
	return ex.up != nil && ex.phase != phaseConnect && ex.up.Pending() == 0
}

// ClientReadable implements client.Exchange: it moves the request body on, until it
// pauses or ends.
func (ex *exchange) ClientReadable() {
	if ex.phase == phaseTunnel && ex.request.done() {
		ex.tunnelUp()
		return
	}
	if ex.bodyRefused {
		return
	}
	l := ex.w.loop
	for range readsPerTurn {
		if !ex.wantsBody() {
			return // BackendDrained comes back here
		}
		n, err := ex.client.ReadBody(l.In[:bodyRead])
		if err == loop.ErrDry {
			ex.client.SetDeadline(l.Now() + ex.farm.RequestTimeout)
			return
		}
		if err != nil {
			ex.ClientGone()
			return
		}
		var more bool
		if ex.service.DNSFarm != "" {
			more = ex.takeQuestion(l.In[:n])
		} else {
			more = ex.sendBody(l.In[:n])
		}
		if !more {
			if ex.phase == phaseTunnel && ex.request.done() { // the backend switched before it had the whole body
				ex.tunnelUp()
			}
			return
		}
	}
	ex.client.Again()
}

// sendBody sends the next bytes of the request body. It reports whether more
// are wanted.
func (ex *exchange) sendBody(p []byte) bool {
	in, out, err := ex.request.take(p, ex.service.Multiplexed)
	if err != nil {
		ex.brokenBody(err)
		return false
	}
	ex.stats().BytesIn += uint64(in)
	ex.backendStats().BytesOut += uint64(out)
	ex.recordMoved(uint64(in), 0)
	err = ex.transmitBody(p[:out])
	if ex.phase != phaseTunnel {
		ex.up.SetDeadline(ex.w.loop.Now() + ex.backend.Timeout)
	}
	if in < len(p) {
		ex.client.Unread(p[in:])
	}
	if err != nil {
		// The backend ended early; it may have answered before. What it said,
		// or that it said nothing, is learned by reading.
		ex.bodyRefused = true
		return false
	}
	if ex.request.done() {
		if ex.phase == phaseHead { // how long the client took to send it is not the backend's time
			ex.sent = ex.w.loop.Now()
		}
		ex.listen()
		return false
	}
	return true
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

// brokenBody ends an exchange whose request body breaks the framing rules.
// The backend sees its connection end before the body did.
func (ex *exchange) brokenBody(err error) {
	ex.keepClient = false
	if ex.phase >= phaseBody {
		class, _, reason := rejected.Classify(err)
		ex.note(class, 0, reason)
		ex.stats().BadRequests++
		ex.Abort()
		return
	}
	ex.refuse(err)
}

// BackendDrained implements backend.Owner: there is room for more of the body.
func (ex *exchange) BackendDrained() {
	defer ex.peer.Conn.Contain()
	ex.ClientReadable()
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
	ex.up.SetDeadline(l.Now() + ex.backend.Timeout) // a body that always has more is never dry
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
		ex.sentMore(moreThanAnnounced)
	}
	if ex.response.done() {
		ex.finish()
		return false
	}
	return true
}

// moreThanAnnounced is what the log says of bytes behind an answer.
const moreThanAnnounced = "more than was announced"

// sentMore gives up the connection of a backend that sent bytes behind its whole
// answer. They are nobody's; the answer is whole without them and goes on.
func (ex *exchange) sentMore(reason string) {
	ex.keepBackend = false
	ex.backendStats().BadResponses++
	ex.noteBackend(rejected.BadAnswer, 0, reason)
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
	ex.noteBackend(rejected.BadAnswer, 0, answerReason(err))
	ex.Abort()
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
	ex.noteBackend(rejected.CutAnswer, 0, reason)
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

// unframe says that the body of an answer comes without chunks, and that its end is told by
// end: trailers may follow it even if its length is known.
func (b *body) unframe(trailers bool) {
	b.bare = true
	if b.kind != http1.BodyChunked {
		b.kind = http1.BodyLength // of none, too, the end is still to come
		b.chunked.Reset(trailers)
		b.chunked.FromBackend(0) // its framing is ours
	}
}

// end ends a body that came without chunks. Its trailers are judged like those
// behind chunks; scratch is used up.
func (b *body) end(scratch, trailers []byte) ([]byte, error) {
	scratch = http2.AppendLastChunk(scratch[:0], trailers)
	_, _, err := b.chunked.Decode(scratch)
	return scratch, err
}

// Trailers are fields that come late: many backends and clients put them beside
// those of the head. So what rules take out of heads or change in them, they take
// out of trailers and change in those too, and the field a service takes its keys
// from cannot be sent behind the body, where nobody has checked it.

// trailers is what one loop needs to apply rules to trailers.
type trailers struct {
	head http1.Head
	kept []byte
}

// filter applies rules to trailers. Where nothing is left of them chunks still end
// with an empty line; where rules make one too long none is.
func (w *worker) filter(t []byte, chunks bool, rules func(*http1.Head, *rewrite.Scratch) error) []byte {
	if w.trailers == nil {
		w.trailers = new(trailers)
	}
	kept, h := w.trailers.kept[:0], &w.trailers.head
	w.rewrite.Reset() // heads that were changed are written
	if h.ParseTrailers(t) && rules(h, &w.rewrite) == nil {
		kept = h.AppendTrailers(kept)
	}
	if len(kept) == 0 && chunks {
		kept = append(kept, "\r\n"...)
	}
	w.trailers.kept = kept
	return kept
}
