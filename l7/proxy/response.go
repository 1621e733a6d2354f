package proxy

import (
	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/compress"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/table"
)

// maxInterim bounds the 1xx answers to one request.
const maxInterim = 16

// receiving is how far an exchange's answer is.
type receiving struct {
	// ahead holds the part of a response head that has arrived; pooled.
	ahead []byte
	// seen is how much of ahead http1 has looked at.
	seen        int
	interim     uint8 // 1xx answers passed on
	keepBackend bool  // the backend's connection may go on
}

// BackendReadable implements backend.Owner.
func (ex *exchange) BackendReadable() {
	defer ex.peer.Conn.Contain()
	peer := ex.peer
	corked := peer.Cork()
	switch ex.phase {
	case phaseHead:
		ex.readHead()
	case phaseBody:
		ex.pumpResponse()
	case phaseTunnel:
		ex.tunnelDown()
	}
	peer.Uncork(corked)
}

// readHead takes bytes of the response head, and comes back if there are more.
func (ex *exchange) readHead() {
	up := ex.up
	ex.readHeadOnce()
	if ex.up == up && ex.phase == phaseHead {
		up.Wait()
	}
}

func (ex *exchange) readHeadOnce() {
	l := ex.w.loop
	if ex.ahead == nil {
		n, err := ex.up.Read(l.In[:ex.firstRead()])
		if err != nil {
			ex.headEnded(err)
			return
		}
		ex.respond(l.In[:n])
		return
	}
	ex.ahead = l.Buffers.Grow(ex.ahead, max(4096, len(ex.ahead)))
	n, err := ex.up.Read(ex.ahead[len(ex.ahead):cap(ex.ahead)])
	if err != nil {
		ex.headEnded(err)
		return
	}
	ex.ahead = ex.ahead[:len(ex.ahead)+n]
	ex.respond(ex.ahead)
}

// firstRead is how much of an answer is read at once before it is known what
// it is: no more than may be compressed at once, if it may be.
func (ex *exchange) firstRead() int {
	n := ex.peer.FirstRead
	if ex.coding != compress.None {
		n = min(n, compressedRead)
	}
	return n
}

// headEnded handles a backend connection that ended before an answer came. On
// a connection that was used before this is most likely the backend's
// keep-alive time-out, so a request that may be repeated is.
func (ex *exchange) headEnded(err error) {
	if err == loop.ErrDry {
		return
	}
	if ex.repeatable(err) {
		ex.again()
		return
	}
	if ex.refused(err) {
		return
	}
	ex.backendStats().Resets++
	ex.erred(health.CauseReset)
	reason := endReason(err, "connection ended before the answer")
	if ex.ahead != nil {
		reason = "connection ended within the head"
	}
	if ex.mayRetry(table.RetryReset) {
		ex.retryAfter(rejected.CutAnswer, reason)
		return
	}
	ex.noteBackend(rejected.CutAnswer, 502, reason)
	ex.drop()
	ex.failed(502)
}

// BackendFailed implements backend.Owner.
func (ex *exchange) BackendFailed(err error) {
	defer ex.peer.Conn.Contain()
	ex.up = nil // the pool has it back
	switch ex.phase {
	case phaseHead:
		ex.headEnded(err)
	case phaseConnect:
		ex.BackendConnected(ex.w.loop.Now(), true, err)
	case phaseTunnel:
		ex.backendStats().Resets++
		ex.recordFlag(accesslog.AbortedByBackend)
		ex.Abort()
	default:
		ex.cutBody("connection ended within the body")
	}
}

// BackendExpired implements backend.Owner: the backend kept us waiting.
func (ex *exchange) BackendExpired() {
	defer ex.peer.Conn.Contain()
	switch {
	case !ex.request.done() && !ex.bodyRefused && ex.up.Pending() == 0:
		// It waits for the client, as we do: sendBody sets the deadline again.
	case ex.phase == phaseHead:
		s := ex.backendStats()
		s.Timeouts++
		ex.stats().Timeouts++
		ex.erred(health.CauseTimeout)
		if ex.mayRetry(table.RetryTimeout) {
			ex.retryAfter(rejected.BackendTimeout, "no answer in time")
			return
		}
		ex.noteBackend(rejected.BackendTimeout, 504, "no answer in time")
		ex.drop()
		ex.failed(504)
	case ex.phase == phaseBody && ex.client.Pending() == 0:
		ex.backendStats().Timeouts++
		ex.noteBackend(rejected.BackendTimeout, 0, "answer not complete in time")
		ex.Abort()
	}
}

// respond handles b, the bytes of the answer so far: they are in the loop's
// read buffer or in ex.ahead.
func (ex *exchange) respond(b []byte) {
	w := ex.w
	r := &w.resp
	for {
		if ex.seen > 0 && http1.NeedMore(b, ex.seen) {
			ex.seen = len(b)
			ex.keepAhead(b)
			return
		}
		r.Reset()
		n, err := r.Parse(b)
		switch {
		case err != nil:
			ex.badResponse(answerReason(err))
			return
		case n == 0:
			ex.seen = len(b)
			ex.keepAhead(b)
			return
		}
		ex.seen = 0
		switch {
		case r.Status == 101:
			ex.switchProtocol(b, n)
			return
		case r.Status >= 200:
			ex.answer(b, n)
			return
		}
		if !ex.passInterim() {
			return
		}
		if b = b[n:]; len(b) == 0 {
			ex.keepAhead(nil)
			return
		}
	}
}

// keepAhead keeps b, a tail of ex.ahead or of the read buffer, in ex.ahead.
func (ex *exchange) keepAhead(b []byte) {
	buffers := &ex.w.loop.Buffers
	switch {
	case len(b) == 0:
		if ex.ahead != nil {
			buffers.Put(ex.ahead)
			ex.ahead = nil
		}
	case ex.ahead != nil:
		ex.ahead = ex.ahead[:copy(ex.ahead[:cap(ex.ahead)], b)]
	default:
		ex.ahead = append(buffers.Get(len(b)), b...)
	}
}

// passInterim passes a 1xx answer on.
func (ex *exchange) passInterim() bool {
	if ex.interim++; ex.interim > maxInterim {
		ex.badResponse("too many interim answers")
		return false
	}
	if ex.oldClient {
		return true // HTTP/1.0 knows none
	}
	if e := ex.farm.Limits.Expect; ex.w.resp.Status == 100 && (e == table.ExpectIgnore || e == table.ExpectSilent) {
		return true
	}
	w := ex.w
	ex.unsave()
	out := http1.AppendResponse(w.loop.Scratch[:0], &w.resp, &http1.ResponseOptions{})
	if ex.client.Interim(out) != nil {
		ex.ClientGone()
		return false
	}
	return true
}

// badResponse answers for a backend whose answer breaks the rules. Nothing of
// it has been passed on.
func (ex *exchange) badResponse(reason string) {
	ex.noteBackend(rejected.BadAnswer, 502, reason)
	ex.backendStats().BadResponses++
	ex.drop()
	ex.failed(502)
}

// answer passes on the final response head, n bytes of b, with as much of the
// body as has come.
func (ex *exchange) answer(b []byte, n int) {
	r := &ex.w.resp
	kind, err := r.Body(ex.verb == http1.VerbHEAD)
	if err != nil {
		ex.badResponse(answerReason(err))
		return
	}
	if r.Status < 300 && ex.client.WantsTunnel() {
		ex.badResponse("no switch of protocols, but a success")
		return
	}
	if r.Status == 401 && asksToBind(&r.Head) {
		ex.bind()
	}
	if rt := ex.service.Retry; rt != nil && rt.Status(r.Status) && ex.retryAnswer(kind, b, n) {
		return
	}
	if err := ex.applyRules(); err != nil {
		ex.badResponse(answerReason(err))
		return
	}
	if ex.service.Compress != nil {
		ex.planEncoding(kind, ex.verb == http1.VerbHEAD)
	}
	ex.response.startAnswer(kind, &r.Head, !ex.oldClient)
	unchunk := kind == http1.BodyChunked && ex.unframed()
	if ex.service.Multiplexed && ex.unframed() && !ex.recalled {
		ex.response.unframe(!ex.oldClient, ex.peer.Frames)
	}
	rest := b[n:]
	in, out, err := ex.takeAnswer(rest, unchunk || ex.encoder != nil)
	if err != nil {
		ex.badResponse(answerReason(err))
		return
	}
	if ex.encoder != nil {
		ex.setEncoding(out)
	}
	ex.setKeepAlive(kind, unchunk)
	if in < len(rest) {
		ex.sentMore()
	}
	ex.learn()
	head := ex.rewriteHead(unchunk)
	if ex.encoder != nil {
		if !ex.answerEncoded(head, rest[:out]) {
			return
		}
	} else if !ex.writeAnswer(head, rest[:out]) {
		return
	}
	ex.unsave()
	ex.keepAhead(nil)
	if ex.encoder != nil && out >= ex.encoder.Turn()/2 && !ex.response.done() {
		ex.up.Again() // others first
		return
	}
	ex.advance()
}

// setKeepAlive decides which connections outlive the exchange.
func (ex *exchange) setKeepAlive(kind http1.Body, unchunk bool) {
	untilClose := kind == http1.BodyUntilClose
	ex.keepBackend = ex.w.resp.KeepAlive && !untilClose
	if untilClose && ex.encoder == nil || unchunk || ex.peer.Farm() == nil ||
		(ex.response.done() && !ex.request.done()) {
		ex.keepClient = false
	}
}

// countAnswer counts the answer with the bytes of it that came and those that
// were sent.
func (ex *exchange) countAnswer(in, out int) {
	class := ex.w.resp.Status/100 - 1
	f := ex.stats()
	f.Responses[class]++
	f.BytesOut += uint64(out)
	took := ex.w.loop.Now() - ex.sent
	if !ex.recalled { // else it was counted when it came
		ex.countTaken(in, took)
	}
	ex.recordAnswer(took)
	ex.recordMoved(0, uint64(out))
}

// countTaken counts an answer for the backend it came from.
func (ex *exchange) countTaken(bytes int, took int64) {
	s := ex.backendStats()
	s.Responses[ex.w.resp.Status/100-1]++
	s.BytesIn += uint64(bytes)
	s.ResponseNanos += uint64(took)
	ex.arrived()
	if ex.service.Tracked {
		ex.backend.Load.Observe(took)
	}
	if ex.service.Outlier != nil {
		ex.checkOutlier()
	}
}

// writeAnswer sends head and part, what has come of the body.
func (ex *exchange) writeAnswer(head, part []byte) bool {
	ex.countAnswer(len(head)+len(part), len(head)+len(part))
	return ex.beginAnswer(head, part, ex.answerTrailer())
}

// beginAnswer sends what the client gets first. It reports whether the client is
// still there.
func (ex *exchange) beginAnswer(head, part, trailer []byte) bool {
	ex.phase = phaseBody
	if ex.client.Respond(head, part, ex.response.done(), !ex.keepClient, trailer) != nil {
		ex.ClientGone()
		return false
	}
	return true
}

// unframed reports whether the client gets bodies without chunks.
func (ex *exchange) unframed() bool { return ex.oldClient || ex.peer.Frames }
