package proxy

import (
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/l7/compress"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/table"
)

// receiving is how far an exchange's answer is.
type receiving struct {
	// ahead holds the part of a response head that has arrived; pooled.
	ahead []byte
	// seen is how much of ahead http1 has looked at.
	seen        int
	interim     uint8 // 1xx answers passed on
	keepBackend bool  // the backend's connection may go on
	contradicts bool  // an answer without a body announced one: see http1.Response.Contradicts
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

// respond handles b, the bytes of the answer so far: they are in the loop's
// read buffer or in ex.ahead.
func (ex *exchange) respond(b []byte) {
	w := ex.w
	r := &w.resp
	for {
		if ex.seen > 0 && http1.NeedMore(b, ex.seen) {
			ex.awaitMore(b)
			return
		}
		r.Reset()
		r.Allow(ex.service.Leniency)
		n, err := r.Parse(b)
		switch {
		case err != nil:
			ex.badResponse(answerReason(err))
			return
		case n == 0:
			ex.awaitMore(b)
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
		ex.contradicts = ex.contradicts || r.Contradicts(false)
		if !ex.passInterim() {
			return
		}
		if b = b[n:]; len(b) == 0 {
			ex.awaitMore(nil)
			return
		}
	}
}

// awaitMore keeps b, a part of a head that http1 has looked at, until the next bytes
// come. The backend has its time anew for them.
func (ex *exchange) awaitMore(b []byte) {
	ex.seen = len(b)
	ex.keepAhead(b)
	ex.up.SetDeadline(ex.w.loop.Now() + ex.backend.Timeout)
}

// maxInterim bounds the 1xx answers to one request.
const maxInterim = 16

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
		ex.backendStats().Logins++
		if ex.peer.Frames {
			ex.requireHTTP1(len(b))
			return
		}
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
		ex.response.unframe(!ex.oldClient)
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
		ex.sentMore(moreReason(r, ex.verb == http1.VerbHEAD))
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

// unframed reports whether the client gets bodies without chunks.
func (ex *exchange) unframed() bool { return ex.oldClient || ex.peer.Frames }

// applyRules changes the fields of the response as the service's rules say.
func (ex *exchange) applyRules() error {
	rules := ex.service.Response
	if rules == nil {
		return nil
	}
	w := ex.w
	w.rewrite.Reset()
	return rules.Apply(&w.resp.Head, &w.rewrite)
}

// takeAnswer looks at the next bytes of the answer's body, as body.take does.
func (ex *exchange) takeAnswer(p []byte, unchunk bool) (in, out int, err error) {
	in, out, err = ex.response.take(p, unchunk)
	if err == nil && ex.response.bare && ex.up.Complete() {
		err = ex.endBare()
	}
	return in, out, err
}

// setKeepAlive decides which connections outlive the exchange.
func (ex *exchange) setKeepAlive(kind http1.Body, unchunk bool) {
	untilClose := kind == http1.BodyUntilClose
	ex.keepBackend = ex.reusable(kind)
	if untilClose && ex.encoder == nil || unchunk || ex.peer.Farm() == nil ||
		(ex.response.done() && !ex.request.done()) {
		ex.keepClient = false
	}
}

// reusable reports whether the answer at hand leaves a connection to the backend that
// another request may use.
func (ex *exchange) reusable(kind http1.Body) bool {
	r := &ex.w.resp
	return r.KeepAlive && kind != http1.BodyUntilClose && !ex.contradicts && !r.Contradicts(ex.verb == http1.VerbHEAD)
}

// moreReason is what the log says of bytes behind the head of r, or behind its body.
func moreReason(r *http1.Response, head bool) string {
	if r.Contradicts(head) {
		return "body of a response that has none"
	}
	return moreThanAnnounced
}

// learn takes the session a backend opens in its response: the cookie it
// sets, or the header it sends, is what the client comes back with.
func (ex *exchange) learn() {
	sv := ex.service
	if sv.Sessions == nil {
		return
	}
	r := &ex.w.resp
	var key []byte
	switch sv.Persist.Kind {
	case farm.PersistCookie:
		key = table.FindCookie(&r.Head, http1.KnownSetCookie, sv.Persist.Name)
	case farm.PersistHeader:
		if i := r.Lookup(string(sv.Persist.Name)); i >= 0 {
			key = r.Value(i)
		}
	}
	if len(key) > 0 {
		sv.Sessions.Put(key[:min(len(key), table.MaxKey)], ex.backend.ID, session.Now())
		ex.stats().Forgotten += sv.Sessions.Forgotten()
	}
}

// rewriteHead builds the head the client gets in the scratch buffer.
func (ex *exchange) rewriteHead(unchunk bool) []byte {
	w := ex.w
	o := http1.ResponseOptions{
		Close: !ex.keepClient, KeepAlive: ex.keepClient && ex.oldClient,
		Unchunk: unchunk || ex.oldClient, // HTTP/1.0 knows no chunks, even where no body follows
	}
	if rules := ex.service.Response; rules != nil {
		o.Extra = rules.Add
	}
	o.Extra = ex.answerID(o.Extra)
	ex.rewriteLocations()
	o.Extra = ex.withServedBy(ex.withCookie(o.Extra))
	if ex.service.Compress != nil {
		o.Extra = ex.withEncoding(o.Extra)
	}
	w.loop.Scratch = http1.AppendResponse(w.loop.Scratch[:0], &w.resp, &o)
	return w.loop.Scratch
}

// answerID adds the id to the field lines of the answer if the client is to
// have it, and keeps the backend's own from it.
func (ex *exchange) answerID(lines []byte) []byte {
	if ex.farm.Recording.ID != farm.RequestIDBoth {
		return lines
	}
	table.RemoveIDs(&ex.w.resp.Head)
	return ex.withID(lines)
}

// withID adds the id of the exchange, if it has one, to field lines. The
// result is good until the next call on the loop.
func (ex *exchange) withID(lines []byte) []byte {
	if len(ex.id) == 0 {
		return lines
	}
	rec := &ex.w.records
	rec.extra = table.AppendIDLine(append(rec.extra[:0], lines...), ex.id)
	return rec.extra
}

// rewriteLocations makes Location and Content-Location point to where the
// client is, if they point to the backend or to the farm's own address.
func (ex *exchange) rewriteLocations() {
	r := &ex.w.resp
	location, content := r.Find(http1.KnownLocation), r.Find(http1.KnownContentLocation)
	if location < 0 && content < 0 || !ex.service.Locate.On || len(ex.host) == 0 {
		return
	}
	ex.w.location = ex.w.location[:0]
	ex.rewriteLocation(location)
	ex.rewriteLocation(content)
}

// withServedBy adds who served the request to the lines an answer gets besides
// its own, and keeps what the backend says of it from being passed on: the
// field tells one thing, whoever else may write it.
func (ex *exchange) withServedBy(add []byte) []byte {
	name := ex.service.ServedBy
	if name == "" {
		return add
	}
	h := &ex.w.resp.Head
	for i := h.Lookup(name); i >= 0; i = h.Lookup(name) {
		if !h.Remove(i) {
			break
		}
	}
	return ex.w.join(add, ex.backend.ServedBy)
}

// withCookie adds the line that keeps the client on its backend to what the
// response gets besides its own fields, unless the client is known there.
func (ex *exchange) withCookie(add []byte) []byte {
	if ex.backend.SetCookie == nil || ex.Cookie > 0 && &ex.service.Backends[ex.Cookie-1] == ex.backend {
		return add
	}
	return ex.w.join(add, ex.backend.SetCookie)
}

// join gives lines followed by more. The result is good until the next call on
// the loop, which may be given it.
func (w *worker) join(lines, more []byte) []byte {
	switch {
	case len(more) == 0:
		return lines
	case len(lines) == 0:
		return more
	}
	w.extra = append(append(w.extra[:0], lines...), more...)
	return w.extra
}

// writeAnswer sends head and part, what has come of the body.
func (ex *exchange) writeAnswer(head, part []byte) bool {
	ex.countAnswer(len(head)+len(part), len(head)+len(part))
	return ex.beginAnswer(head, part, ex.answerTrailer())
}

// countAnswer counts the answer with the bytes of it that came and those that
// were sent.
func (ex *exchange) countAnswer(in, out int) {
	f := ex.stats()
	f.Responses[class(ex.w.resp.Status)]++
	f.BytesOut += uint64(out)
	took := ex.w.loop.Now() - ex.sent
	if !ex.recalled { // else it was counted when it came
		ex.countTaken(in, took)
	}
	ex.recordAnswer(took)
	ex.recordMoved(0, uint64(out))
}

// class returns the index that a status is counted under. A status of 600-999, which
// backend_leniency accepts, counts as 5xx (RFC 9110 section 15).
func class(status int) int { return min(status/100, 5) - 1 }

// countTaken counts an answer for the backend it came from.
func (ex *exchange) countTaken(bytes int, took int64) {
	s := ex.backendStats()
	s.Responses[class(ex.w.resp.Status)]++
	s.BytesIn += uint64(bytes)
	s.ResponseNanos += uint64(took)
	ex.arrived()
	if ex.service.Tracked {
		ex.backend.Load.Observe(took)
	}
	ex.checkOutlier()
}

// answerTrailer is requestTrailer for the answer.
func (ex *exchange) answerTrailer() []byte {
	t := ex.response.trailer()
	rules := ex.service.Response
	if len(t) == 0 || rules == nil {
		return t
	}
	return ex.w.filter(t, !ex.unframed(), rules.Apply)
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

// advance goes on after some of the response was written.
func (ex *exchange) advance() {
	if ex.response.done() {
		ex.finish()
		return
	}
	ex.pumpResponse()
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
