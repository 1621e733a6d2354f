package proxy

import (
	"bytes"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/l7/compress"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/table"
)

// responseHead is the state of a response head that is being received.
type responseHead struct {
	partial     []byte // pooled; nil without one
	seen        int    // bytes of partial that http1 has examined
	interim     uint8  // 1xx responses forwarded
	contradicts bool   // a response without body announced one, see http1.Response.Contradicts
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
	}
	peer.Uncork(corked)
}

// readHead reads the response head and repeats while there is more.
func (ex *exchange) readHead() {
	up := ex.up
	ex.readHeadOnce()
	if ex.up == up && ex.phase == phaseHead {
		up.Wait()
	}
}

func (ex *exchange) readHeadOnce() {
	l := ex.w.loop
	if ex.head.partial == nil {
		n, err := ex.up.Read(l.In[:ex.firstRead()])
		if err != nil {
			ex.headEnded(err)
			return
		}
		ex.respond(l.In[:n])
		return
	}
	ex.head.partial = l.Buffers.Grow(ex.head.partial, max(4096, len(ex.head.partial)))
	n, err := ex.up.Read(ex.head.partial[len(ex.head.partial):cap(ex.head.partial)])
	if err != nil {
		ex.headEnded(err)
		return
	}
	ex.head.partial = ex.head.partial[:len(ex.head.partial)+n]
	ex.respond(ex.head.partial)
}

// firstRead returns the size of the first read of a response. It is limited if the response
// may be compressed.
func (ex *exchange) firstRead() int {
	n := ex.peer.FirstRead
	if ex.encoding.coding != compress.None {
		n = min(n, compressedRead)
	}
	return n
}

// respond handles b, the response so far, in the read buffer or in ex.head.
func (ex *exchange) respond(b []byte) {
	w := ex.w
	r := &w.resp
	for {
		if ex.head.seen > 0 && http1.NeedMore(b, ex.head.seen) {
			ex.head.await(ex, b)
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
			ex.head.await(ex, b)
			return
		}
		ex.head.seen = 0
		switch {
		case r.Status == 101:
			ex.switchProtocol(b, n)
			return
		case r.Status >= 200:
			ex.answer(b, n)
			return
		}
		ex.head.contradicts = ex.head.contradicts || r.Contradicts(false)
		if !ex.passInterim() {
			return
		}
		if b = b[n:]; len(b) == 0 {
			ex.head.await(ex, nil)
			return
		}
	}
}

// await keeps b, an examined part of a head, until more bytes arrive. The backend's
// timeout restarts.
func (h *responseHead) await(ex *exchange, b []byte) {
	h.seen = len(b)
	h.keep(&ex.w.loop.Buffers, b)
	ex.up.SetDeadline(ex.w.loop.Now() + ex.backend.Timeout)
}

// maxInterim bounds the 1xx responses to one request.
const maxInterim = 16

// passInterim forwards a 1xx response.
func (ex *exchange) passInterim() bool {
	if ex.head.interim++; ex.head.interim > maxInterim {
		ex.badResponse("too many interim answers")
		return false
	}
	if ex.oldClient {
		return true // HTTP/1.0 has none
	}
	if e := ex.farm.Limits.Expect; ex.w.resp.Status == 100 && (e == table.ExpectIgnore || e == table.ExpectSilent) {
		return true
	}
	w := ex.w
	ex.saved.release(ex.w.loop)
	out := http1.AppendResponse(w.loop.Scratch[:0], &w.resp, &http1.ResponseOptions{})
	if ex.client.Interim(out) != nil {
		ex.ClientGone()
		return false
	}
	return true
}

// keep keeps b, a tail of the partial head or of the read buffer, as the partial head.
func (h *responseHead) keep(buffers *loop.BufferPool, b []byte) {
	switch {
	case len(b) == 0:
		if h.partial != nil {
			buffers.Put(h.partial)
			h.partial = nil
		}
	case h.partial != nil:
		h.partial = h.partial[:copy(h.partial[:cap(h.partial)], b)]
	default:
		h.partial = append(buffers.Get(len(b)), b...)
	}
}

// answer forwards the final response head, n bytes of b, with the body received so far.
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
	if err := ex.w.applyRules(ex.service); err != nil {
		ex.badResponse(answerReason(err))
		return
	}
	if ex.service.Compress != nil {
		ex.encoding.plan(ex, kind, ex.verb == http1.VerbHEAD)
	}
	ex.response.startAnswer(kind, &r.Head, !ex.oldClient)
	unchunk := kind == http1.BodyChunked && ex.unframed()
	if ex.service.Multiplexed && ex.unframed() && !ex.retry.recalled {
		ex.response.unframe(!ex.oldClient)
	}
	rest := b[n:]
	in, out, err := ex.takeAnswer(rest, unchunk || ex.encoding.encoder != nil)
	if err != nil {
		ex.badResponse(answerReason(err))
		return
	}
	if ex.encoding.encoder != nil {
		ex.encoding.begin(ex, out)
	}
	ex.setKeepAlive(kind, unchunk)
	if in < len(rest) {
		ex.sentMore(moreReason(r, ex.verb == http1.VerbHEAD))
	}
	ex.learn()
	head := ex.rewriteHead(unchunk)
	if ex.encoding.encoder != nil {
		if !ex.encoding.answer(ex, head, rest[:out]) {
			return
		}
	} else if !ex.writeAnswer(head, rest[:out]) {
		return
	}
	ex.saved.release(ex.w.loop)
	ex.head.keep(&ex.w.loop.Buffers, nil)
	if ex.encoding.encoder != nil && out >= ex.encoding.encoder.Turn()/2 && !ex.response.done() {
		ex.up.Again() // other events first
		return
	}
	ex.advance()
}

// unframed reports whether the client gets bodies without chunks.
func (ex *exchange) unframed() bool { return ex.oldClient || ex.peer.Frames }

// applyRules applies the rules of a service to the current response.
func (w *worker) applyRules(sv *table.Service) error {
	rules := sv.Response
	if rules == nil {
		return nil
	}
	w.rewrite.Reset()
	return rules.Apply(&w.resp.Head, &w.rewrite)
}

// takeAnswer is body.take for the response.
func (ex *exchange) takeAnswer(p []byte, unchunk bool) (in, out int, err error) {
	in, out, err = ex.response.take(p, unchunk)
	if err == nil && ex.response.bare && ex.up.Complete() {
		err = ex.response.endBare(ex.w.loop, ex.up)
	}
	return in, out, err
}

// setKeepAlive decides which connections outlive the exchange.
func (ex *exchange) setKeepAlive(kind http1.Body, unchunk bool) {
	untilClose := kind == http1.BodyUntilClose
	ex.setReuse(kind)
	if untilClose && ex.encoding.encoder == nil || unchunk || ex.peer.Farm() == nil ||
		(ex.response.done() && !ex.request.done()) {
		ex.keepClient = false
	}
}

// setReuse decides whether, and for how long, the backend connection outlives the exchange.
func (ex *exchange) setReuse(kind http1.Body) {
	r := &ex.w.resp
	ex.keepBackend = r.KeepAlive && kind != http1.BodyUntilClose &&
		!ex.head.contradicts && !r.Contradicts(ex.verb == http1.VerbHEAD)
	if seconds, announced := r.IdleTimeout(); announced && ex.up != nil {
		idle := int64(seconds) * second
		ex.up.KeepFor(idle - min(second, idle/2)) // the next request must arrive in time
	}
}

// moreReason returns the log text for bytes after the head or body of r.
func moreReason(r *http1.Response, head bool) string {
	if r.Contradicts(head) {
		return "body of a response that has none"
	}
	return moreThanAnnounced
}

// learn stores the session that a backend opens in its response: the cookie or header that
// the client will send back.
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
	key = session.AppendKey(ex.w.sessionKey[:0], key)
	ex.w.sessionKey = key
	if ex.choice.Full > 0 && bytes.Equal(key, ex.choice.Key) {
		return // it stays with its own backend, which had no room
	}
	if len(key) > 0 {
		sv.Sessions.Put(key, ex.backend.ID, session.Now())
		ex.stats().Forgotten += sv.Sessions.Forgotten()
	}
}

// rewriteHead writes the head for the client to the scratch buffer.
func (ex *exchange) rewriteHead(unchunk bool) []byte {
	w := ex.w
	o := http1.ResponseOptions{
		Close: !ex.keepClient, KeepAlive: ex.keepClient && ex.oldClient,
		Unchunk: unchunk || ex.oldClient, // HTTP/1.0 does not define Transfer-Encoding, even for bodyless responses
	}
	if rules := ex.service.Response; rules != nil {
		o.Extra = rules.Add
	}
	o.Extra = ex.record.answerID(w, ex.farm, o.Extra)
	ex.rewriteLocations()
	o.Extra = w.withServedBy(w.withCookie(o.Extra, ex.service, ex.backend, &ex.choice), ex.service, ex.backend)
	if ex.service.Compress != nil {
		o.Extra = ex.encoding.addLines(ex.w, o.Extra)
	}
	w.loop.Scratch = http1.AppendResponse(w.loop.Scratch[:0], &w.resp, &o)
	return w.loop.Scratch
}

// rewriteLocations rewrites Location and Content-Location for the client if they point to
// the backend or to the farm's own address.
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

// withServedBy appends the field that names the backend, and removes the backend's own, so
// that the field has a single value.
func (w *worker) withServedBy(add []byte, sv *table.Service, b *table.Backend) []byte {
	name := sv.ServedBy
	if name == "" {
		return add
	}
	h := &w.resp.Head
	for i := h.Lookup(name); i >= 0; i = h.Lookup(name) {
		if !h.Remove(i) {
			break
		}
	}
	return w.join(add, b.ServedBy)
}

// withCookie appends the persistence cookie unless the client already has that of its
// backend, or of one that just had no room. A cookie with a lifetime is renewed.
func (w *worker) withCookie(add []byte, sv *table.Service, b *table.Backend, c *table.Choice) []byte {
	if b.SetCookie == nil || c.Full > 0 {
		return add
	}
	own := c.Cookie > 0 && &sv.Backends[c.Cookie-1] == b
	if own && !sv.Cookie.Renew {
		return add
	}
	return w.join(add, b.SetCookie)
}

// join returns lines followed by more. The result is valid until the next call on the loop,
// to which it may be passed.
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

// writeAnswer sends head and part, the body received so far.
func (ex *exchange) writeAnswer(head, part []byte) bool {
	ex.countAnswer(len(head)+len(part), len(head)+len(part))
	return ex.beginAnswer(head, part, ex.answerTrailer())
}

// countAnswer counts the response, with the bytes received and sent.
func (ex *exchange) countAnswer(in, out int) {
	f := ex.stats()
	f.Responses[class(ex.w.resp.Status)]++
	f.BytesOut += uint64(out)
	took := ex.w.loop.Now() - ex.sending.began
	if !ex.retry.recalled { // otherwise it was counted on arrival
		ex.countTaken(in, took)
	}
	ex.record.answered(ex.w, ex.farm, ex.backend, took)
	ex.record.moved(0, uint64(out))
}

// class returns the counter index of a status. Statuses of 600-999, which backend_leniency
// accepts, count as 5xx (RFC 9110 section 15).
func class(status int) int { return min(status/100, 5) - 1 }

// countTaken counts a response for its backend.
func (ex *exchange) countTaken(bytes int, took int64) {
	s := ex.backendStats()
	s.Responses[class(ex.w.resp.Status)]++
	s.BytesIn += uint64(bytes)
	s.ResponseNanos += uint64(took)
	ex.load.arrived(ex.backend)
	if ex.service.Tracked {
		ex.backend.Load.Observe(took)
	}
	ex.w.checkOutlier(ex.service, ex.backend)
}

// answerTrailer is requestTrailer for the response.
func (ex *exchange) answerTrailer() []byte {
	t := ex.response.trailer()
	rules := ex.service.Response
	if len(t) == 0 || rules == nil {
		return t
	}
	return ex.w.filter(t, !ex.unframed(), rules.Apply)
}

// beginAnswer sends the beginning of the response. It reports whether the client is still
// connected.
func (ex *exchange) beginAnswer(head, part, trailer []byte) bool {
	ex.phase = phaseBody
	if ex.client.Respond(head, part, ex.response.done(), !ex.keepClient, trailer) != nil {
		ex.ClientGone()
		return false
	}
	ex.clientTakes()
	return true
}

// advance continues after a part of the response was written.
func (ex *exchange) advance() {
	if ex.response.done() {
		ex.finish()
		return
	}
	ex.pumpResponse()
}

// giveBack releases the transport of a complete response. complete means that the request is
// complete, too.
func (ex *exchange) giveBack(complete bool) {
	up, whole := ex.up, ex.keepBackend && complete
	ex.up = nil
	if ex.service.Pinned || ex.binds {
		up.FinishFor(ex.peer.Keep(), ex.service.ID, whole)
		return
	}
	up.Finish(whole)
}
