package proxy

import (
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/refused"
)

// badResponse answers for a backend whose answer breaks the rules. Nothing of
// it has been passed on.
func (ex *exchange) badResponse(reason string) {
	ex.noteBackend(refused.BadAnswer, 502, reason)
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
		ex.settleEncoding(out)
	}
	ex.settleKeeping(kind, unchunk)
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

// settleKeeping decides which connections outlive the exchange.
func (ex *exchange) settleKeeping(kind http1.Body, unchunk bool) {
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
		ex.judge()
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
