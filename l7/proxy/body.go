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
	// readsPerTurn bounds the reads of one body per loop turn, in total 1 MiB.
	readsPerTurn = 4
	// bodyRead is the size of a read of a request body.
	bodyRead = 64 << 10
	// bodyLate is the log text for a body that stopped arriving.
	bodyLate = "body not complete in time"
)

// wantsBody reports whether more of the body is expected from the client.
func (ex *exchange) wantsBody() bool {
	return !ex.request.done() && ex.up != nil && ex.phase != phaseConnect && ex.up.Pending() == 0
}

// ClientReadable implements client.Exchange. It forwards the request body until it pauses or
// ends.
func (ex *exchange) ClientReadable() {
	if ex.sending.bodyRefused {
		return
	}
	l := ex.w.loop
	for range readsPerTurn {
		if !ex.wantsBody() {
			return // BackendDrained continues here
		}
		n, err := ex.client.ReadBody(l.In[:ex.saved.room(ex.service)])
		if err == loop.ErrDry {
			ex.client.SetDeadline(l.Now() + ex.farm.RequestTimeout)
			return
		}
		if err != nil {
			ex.ClientGone()
			return
		}
		if !ex.sendBody(l.In[:n]) {
			return
		}
	}
	ex.client.Again()
}

// sendBody sends the next bytes of the request body. It reports whether more are expected.
func (ex *exchange) sendBody(p []byte) bool {
	in, out, err := ex.request.take(p, ex.service.Multiplexed)
	if err != nil {
		ex.brokenBody(err)
		return false
	}
	ex.stats().BytesIn += uint64(in)
	ex.backendStats().BytesOut += uint64(out)
	ex.record.moved(uint64(in), 0)
	err = ex.transmitBody(p[:out])
	ex.up.SetDeadline(ex.w.loop.Now() + ex.backend.Timeout)
	if in < len(p) {
		ex.client.Unread(p[in:])
	}
	if err != nil {
		// The backend ended early, possibly after a response, which a read will show.
		ex.sending.bodyRefused = true
		return false
	}
	if ex.request.done() {
		if ex.phase == phaseHead { // the client's upload does not count as backend time
			ex.sending.began = ex.w.loop.Now()
		}
		ex.listen()
		return false
	}
	return true
}

// transmitBody sends more of the body.
func (ex *exchange) transmitBody(p []byte) error {
	t := ex.w.requestTrailer(ex.farm, ex.service, &ex.request)
	most := mostSaved(ex.service)
	ex.saved.add(ex.w.loop, p, most)
	if !ex.service.Multiplexed {
		ex.saved.add(ex.w.loop, t, most)
	}
	return ex.up.SendBody(p, ex.request.done(), t)
}

// brokenBody ends an exchange whose request body is badly framed. The backend's connection
// ends before the body does.
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

// BackendDrained implements backend.Owner. There is room for more of the body.
func (ex *exchange) BackendDrained() {
	defer ex.peer.Conn.Contain()
	ex.ClientReadable()
}

// pumpResponse forwards the response body until it pauses or ends.
func (ex *exchange) pumpResponse() {
	l := ex.w.loop
	reads, most := readsPerTurn, len(l.In)
	if ex.encoding.encoder != nil {
		reads, most = 1, ex.encoding.encoder.Turn() // encoding costs time as well as memory
	}
	for range reads {
		room := ex.client.Room(most)
		if room == 0 {
			// ClientDrained continues here. Until then the client's timeout applies instead
			// of the backend's.
			ex.client.Await(ex.farm.RequestTimeout)
			return
		}
		n, err := ex.up.Read(l.In[:room])
		if err == loop.ErrDry {
			if ex.encoding.encoder != nil && !ex.encoding.flush(ex) {
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
	ex.up.SetDeadline(l.Now() + ex.backend.Timeout) // a body with bytes always available never runs dry
	ex.up.Again()
}

// passBody forwards the next bytes of the response body. It reports whether more are
// expected.
func (ex *exchange) passBody(p []byte) bool {
	in, out, err := ex.takeAnswer(p, ex.unframed() || ex.encoding.encoder != nil)
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
	ex.clientTakes()
	return true
}

// clientTakes renews the time for the rest of the request body while the response flows. The
// client of a stream, e.g. of gRPC, may send its next message only after many of the backend.
func (ex *exchange) clientTakes() {
	if !ex.request.done() && ex.client.Pending() == 0 { // otherwise it has its time to take bytes
		ex.client.SetDeadline(ex.w.loop.Now() + ex.farm.RequestTimeout)
	}
}

// moreThanAnnounced is the log text for bytes after a response.
const moreThanAnnounced = "more than was announced"

// sentMore closes the connection of a backend that sent bytes after its complete response.
// These are dropped, and the response is delivered.
func (ex *exchange) sentMore(reason string) {
	ex.keepBackend = false
	ex.backendStats().BadResponses++
	ex.noteBackend(rejected.BadAnswer, 0, reason)
}

// sendBodyPart forwards content to the client, including the end of the body if it is done.
func (ex *exchange) sendBodyPart(p []byte) error {
	if ex.encoding.encoder != nil {
		return ex.encoding.send(ex, p, false)
	}
	ex.stats().BytesOut += uint64(len(p))
	ex.record.moved(0, uint64(len(p)))
	return ex.client.WriteBody(p, ex.response.done(), ex.answerTrailer())
}

// badBody ends an exchange whose response body is invalid.
func (ex *exchange) badBody(err error) {
	ex.backendStats().BadResponses++
	ex.noteBackend(rejected.BadAnswer, 0, answerReason(err))
	ex.Abort()
}

// endBare ends a response body that arrived without chunks.
func (b *body) endBare(l *loop.Loop, up backend.Transport) (err error) {
	l.Scratch, err = b.end(l.Scratch, up.Trailers())
	return err
}

// bareEnded handles the end of such a body if it arrives separately.
func (ex *exchange) bareEnded() {
	switch err := ex.response.endBare(ex.w.loop, ex.up); {
	case err != nil:
		ex.badBody(err)
	case ex.sendBodyPart(nil) != nil:
		ex.ClientGone()
	default:
		ex.finish()
	}
}

// bodyEnded handles the end of the backend connection within the body.
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
		if ex.encoding.encoder != nil && ex.encoding.send(ex, nil, true) != nil {
			ex.ClientGone()
			return
		}
		ex.finish()
		return
	}
	ex.cutBody(endReason(err, "connection ended within the body"))
}

// cutBody ends an exchange whose response body was truncated.
func (ex *exchange) cutBody(reason string) {
	ex.backendStats().Resets++
	ex.noteBackend(rejected.CutAnswer, 0, reason)
	ex.Abort()
}

// ClientDrained implements client.Exchange. The client has read all pending bytes.
func (ex *exchange) ClientDrained() {
	if ex.phase == phaseBody {
		ex.pumpResponse()
	}
}

// unframe marks the body of a response as raw, with its end reported by end. Trailers may
// follow even if its length is known.
func (b *body) unframe(trailers bool) {
	b.bare = true
	if b.kind != http1.BodyChunked {
		b.kind = http1.BodyLength // even an empty body has yet to end
		b.chunked.Reset(trailers)
		b.chunked.FromBackend(0) // its framing is ours
	}
}

// end ends a raw body. Its trailers are filtered like those after chunks. It overwrites
// scratch.
func (b *body) end(scratch, trailers []byte) ([]byte, error) {
	scratch = http2.AppendLastChunk(scratch[:0], trailers)
	_, _, err := b.chunked.Decode(scratch)
	return scratch, err
}

// Trailers are late fields, and many backends and clients merge them into the head. Rules
// that remove or change fields of the head therefore also apply to trailers. A service's key
// is not accepted as a trailer, because it would bypass the check.

// trailers is a loop's scratch space for applying rules to trailers.
type trailers struct {
	head http1.Head
	kept []byte
}

// filter applies rules to trailers. If nothing is left, chunks still end with an empty line.
// If a rule makes a trailer too long, all are dropped.
func (w *worker) filter(t []byte, chunks bool, rules func(*http1.Head, *rewrite.Scratch) error) []byte {
	if w.trailers == nil {
		w.trailers = new(trailers)
	}
	kept, h := w.trailers.kept[:0], &w.trailers.head
	w.rewrite.Reset() // all changed heads have been written
	if h.ParseTrailers(t) && rules(h, &w.rewrite) == nil {
		kept = h.AppendTrailers(kept)
	}
	if len(kept) == 0 && chunks {
		kept = append(kept, "\r\n"...)
	}
	w.trailers.kept = kept
	return kept
}
