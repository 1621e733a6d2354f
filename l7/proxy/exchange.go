package proxy

import (
	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/l7/compress"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rewrite"
)

// exchange is one request and its response, from the complete request head to
// the last byte of the response.
type exchange struct {
	w       *worker
	client  *client
	farm    *farmTable // of the table the exchange began with
	service *service
	backend *backend
	up      carrier // nil before a backend was found and after it was let go
	tried   balance.Tried
	held    *balance.Load // what the picker reserved for the exchange
	hash    uint64
	cookie  int // the backend the client's cookie names, its position + 1

	// head holds the rewritten request as long as it may have to be sent
	// again: until a connection stands, or until the answer begins.
	head []byte
	// holes are where in head the backend's address belongs, 0 means none; tail is,
	// while the head is made, what lies behind the hole in Destination.
	holes [2]int
	tail  int
	undo  rewrite.Undo // of what was done to the path; its memory is kept
	// ahead holds the part of a response head that has arrived; pooled.
	ahead []byte
	// seen is how much of ahead http1 has looked at.
	seen int

	request  body
	response body

	began   int64 // when the request head was complete
	sent    int64 // when the head was handed to the backend
	status  int   // of the answer, 0 before it
	interim uint8 // 1xx answers passed on
	verb    http1.Verb
	phase   phase
	why     accesslog.Why // how the backend was found
	// refusals is how often a backend did not look at the request.
	refusals uint8

	oldClient   bool // HTTP/1.0: no chunks, no 1xx
	keepClient  bool // the client's connection may go on
	keepBackend bool // the backend's connection may go on
	upgrade     bool // the client asked for another protocol
	replayable  bool // head is the whole request and sending it twice is safe
	counted     bool // the backend's counters say that it is in flight there
	waiting     bool // counted on the backend's load as awaiting the response
	fresh       bool // the next connection must be a new one
	deaf        bool // the backend takes no more of the body
	own         bool // the answer was made here
	invite      bool // the client waits to be asked for its body

	clientEnded, backendEnded bool // directions of a tunnel that are over

	last     []byte   // an answer that was not passed on, while there are other backends to ask; pooled
	lastOf   *backend // whose it is
	retried  uint8    // how often another one was asked for the sake of an answer
	recalled bool     // last was the best there was

	queue  *queue  // of the service
	wait   *waiter // its place in the queue of the service; nil while it does not wait
	waits  uint8   // how often it waited
	queued int64   // when it began to wait
	turned bool    // it need not stand behind those who wait
	login  *login  // what it waits for before a backend is looked for; nil for nothing

	encoder *compress.Encoder // of the answer's body, nil when that stays as it is
	coding  compress.Coding   // the client takes, None also when the service compresses nothing
	vary    bool              // the answer gets varyLine
	told    []byte            // and this line

	entry *accesslog.Entry // its record, nil when nobody wants one

	key  []byte // of the client's session, its array kept for the next exchange
	host []byte // the request's, likewise
	id   []byte // of the request, likewise; empty without one
}

// phase is where an exchange stands on its backend side.
type phase uint8

const (
	phaseConnect phase = iota // the connection is being opened
	phaseHead                 // the response head is awaited
	phaseBody                 // the response body flows
	phaseTunnel               // another protocol: bytes flow both ways
)

// begin serves one request head. rest is what was read behind it; the number
// of its bytes that belong to the request is returned. The head's bytes are
// used up afterwards.
func (w *worker) begin(cl *client, head, rest []byte) int {
	f := w.engine.farm(cl.port)
	if f == nil {
		cl.close()
		return 0
	}
	s := cl.stats()
	if !cl.began {
		cl.began = true
		s.Pending--
	}
	s.Requests++
	s.BytesIn += uint64(len(head))
	w.records.refusal = 0
	r := &w.req
	if f.challenges != nil && f.challenges.asks(r) {
		return w.answerChallenge(cl, f, rest)
	}
	d := w.judge(cl, f)
	if d.service != nil && d.service.limit != nil {
		if wait := d.service.limit.take(w, cl, f); wait > 0 {
			return w.refuseRate(cl, f, d.service, wait, rest)
		}
	}
	var unchecked *login
	if d.service != nil && d.service.auth != nil {
		var no denial
		if unchecked, no = d.service.auth.admit(w, cl, f); no.refused != nil {
			return w.deny(cl, f, d.service, no, rest)
		}
	}
	switch d.outcome {
	case outcomeRefuse:
		return w.refuse(cl, f, d.refused, rest)
	case outcomeRedirect:
		return w.redirect(cl, f, d.service, rest)
	case outcomeNone:
		s.NoBackend++
		return w.answer(cl, f, 503, rest)
	}
	ex := w.exchanges.Get()
	invite := ex.start(w, cl, f, d.service)
	used, err := ex.prepare(rest)
	if err != nil {
		ex.refuse(err)
		return len(rest)
	}
	if unchecked != nil {
		ex.await401(unchecked, invite && used == 0)
		return used
	}
	if invite && used == 0 && !ex.inviteBody() {
		return len(rest)
	}
	ex.forwardTo()
	return used
}

// judge decides what is done with the request at hand.
func (w *worker) judge(cl *client, f *farmTable) decision {
	if len(f.trusted) > 0 && trusts(f.trusted, cl.conn.Peer().Addr()) {
		w.req.Trust()
		if f.tls != nil && f.tls.asksClients {
			w.req.Distrust(http1.KnownXSSL)
		}
	}
	w.query.farm = f
	if f.misdirected(cl, &w.req) {
		return w.query.refuse(stepHost, refusedMisdirected)
	}
	d := decide(&w.query)
	if d.service != nil && d.service.share.end > 0 {
		d = forService(w.draw(cl, f, d.service))
	}
	return d
}

// start makes the exchange one of the request at hand. It reports whether the
// client is to be invited to send the body.
func (ex *exchange) start(w *worker, cl *client, f *farmTable, sv *service) (invite bool) {
	r := &w.req
	// Field by field: a literal would be built aside and copied, 512 bytes of it.
	ex.w, ex.client, ex.farm, ex.service, ex.queue = w, cl, f, sv, sv.queue
	ex.verb, ex.oldClient, ex.keepClient, ex.upgrade = r.Verb, r.Minor == 0, r.KeepAlive, r.Upgrade
	ex.host = append(ex.host, r.Host...)
	cl.ex = ex
	ex.recordHead()
	ex.request.start(r.Body(), &r.Head, true)
	if ex.service.multiplexed && cl.stream != nil {
		ex.request.chunked.AllowAll()
	}
	if m := f.limits.maxBody; m > 0 {
		ex.request.chunked.Limit(m)
	}
	if invite = r.Expect100 && f.limits.expect == expectIgnore; invite {
		r.DropExpect()
	}
	if c := sv.compress; c != nil && !ex.oldClient {
		ex.coding = c.accepted(&r.Head)
	}
	return invite
}

var continueLine = []byte("HTTP/1.1 100 Continue\r\n\r\n")

// inviteBody tells the client to send the body it waits with. It reports
// whether the client is still there.
func (ex *exchange) inviteBody() bool {
	if ex.client.interim(continueLine) != nil {
		ex.clientGone()
		return false
	}
	return true
}

// prepare makes the request a backend gets in the loop's scratch buffer: head
// and as much of the body as has come.
func (ex *exchange) prepare(rest []byte) (used int, err error) {
	if err := ex.revise(); err != nil {
		return 0, err
	}
	return ex.assemble(rest)
}

// revise finds out who the client is and applies the service's rules. Sessions
// go by what the client sent, not by what rules make of it.
func (ex *exchange) revise() error {
	w := ex.w
	w.ipText = ex.client.conn.Peer().Addr().AppendTo(w.ipText[:0])
	w.forward = http1.Forward{ClientIP: w.ipText, Proto: ex.client.proto()}
	rules := ex.service.request
	if rules != nil {
		w.rewrite.Reset()
		rules.strip(&w.req.Head, &w.rewrite)
		w.forward.Extra, w.forward.Given = rules.add, rules.given
	}
	ex.hash = ex.identify()
	if ex.service.auth != nil {
		ex.service.auth.strip(&w.req.Head)
	}
	if rules != nil {
		if err := rules.edit(&w.req.Head, &w.rewrite); err != nil {
			return err
		}
	}
	if ex.service.urls != nil {
		if err := ex.rewritePath(); err != nil {
			return err
		}
	}
	if len(w.req.Host) == 0 {
		w.forward.Host = ex.farm.hostField // HTTP/1.0 without Host: HTTP/1.1 needs one
	}
	if t := ex.farm.tls; t != nil && t.tellsClients {
		w.forward.Extra = ex.withCertificate(w.forward.Extra)
	}
	ex.requestID()
	if ex.farm.proxyHost || ex.farm.destination {
		ex.addressing() // last: it knows how far from its end the head has a hole
	}
	return nil
}

// rewritePath applies the service's rules to the path. What comes of it is read
// like the path of a client, and refused where that would be.
func (ex *exchange) rewritePath() error {
	r, scratch := &ex.w.req, &ex.w.rewrite
	if r.Path[0] != '/' {
		return nil // OPTIONS *
	}
	if ex.service.request == nil {
		scratch.Reset()
	}
	path, changed, err := ex.service.urls.Rewrite(r.Path, scratch, ex.w.rewritten)
	if !changed || err != nil {
		return err
	}
	if ex.service.locate.paths {
		ex.w.location = append(ex.w.location[:0], r.Path...)
	}
	if err := r.Retarget(path); err != nil {
		return err
	}
	if ex.service.locate.paths {
		ex.undo.Learn(ex.w.location, r.Path)
	}
	return nil
}

// appendHead appends the head of the request.
func (ex *exchange) appendHead(dst []byte) []byte {
	out := http1.AppendRequest(dst, &ex.w.req, &ex.w.forward)
	if ex.farm.proxyHost || ex.tail > 0 {
		ex.mark(out)
	}
	return out
}

// assemble writes the request.
func (ex *exchange) assemble(rest []byte) (used int, err error) {
	w := ex.w
	out := ex.appendHead(w.loop.Scratch[:0])
	in, n, err := ex.request.take(rest, ex.service.multiplexed)
	if err != nil {
		return 0, err
	}
	out = append(out, rest[:n]...)
	if !ex.service.multiplexed { // else transmit asks for it
		out = append(out, ex.request.trailer()...)
	}
	w.loop.Scratch = out
	ex.client.stats().BytesIn += uint64(in)
	ex.recordMoved(uint64(in), 0)
	return in, nil
}

// stats are the farm's counters of this loop.
func (ex *exchange) stats() *stats.Farm { return ex.w.shard.Farm(ex.farm.id) }

// backendStats are the counters of the chosen backend on this loop.
func (ex *exchange) backendStats() *stats.Backend { return ex.w.shard.Backend(ex.backend.id) }

// save keeps the request in the scratch buffer for sending later or again.
func (ex *exchange) save() {
	b := ex.w.loop.Scratch
	ex.head = append(ex.w.loop.Buffers.Get(len(b)), b...)
}

// unsave lets the saved request go: from now on it cannot be sent again.
func (ex *exchange) unsave() {
	if ex.head != nil {
		ex.w.loop.Buffers.Put(ex.head)
		ex.head = nil
	}
	ex.replayable = false
}

// release ends the use of the chosen backend: the picker's and the counters'
// view of it, not the connection.
func (ex *exchange) release() {
	ex.arrived()
	if held := ex.held; held != nil {
		ex.held = nil
		held.Done()
		ex.queue.released()
	}
	if ex.counted {
		ex.counted = false
		ex.backendStats().Established--
	}
}

// drop closes the backend's connection, if there is one.
func (ex *exchange) drop() {
	if up := ex.up; up != nil {
		ex.up = nil
		up.Discard() // first: an exchange that is broken may fail at counting
		if ex.phase == phaseConnect {
			ex.connecting(-1)
		}
	}
	ex.release()
}

// end gives the exchange back; its client goes on without it.
func (ex *exchange) end() {
	if ex.login != nil {
		ex.login.leave(ex)
	}
	ex.drop()
	if ex.wait != nil {
		ex.leaveQueue()
	}
	ex.recordEnd()
	ex.unsave()
	if ex.ahead != nil {
		ex.w.loop.Buffers.Put(ex.ahead)
	}
	if ex.last != nil {
		ex.w.loop.Buffers.Put(ex.last)
	}
	ex.returnEncoder()
	undo := ex.undo
	undo.Reset()
	ex.client.ex = nil
	w := ex.w
	key, host, id := ex.key[:0], ex.host[:0], ex.id[:0]
	asked, answered := ex.request.chunked.Spare(), ex.response.chunked.Spare()
	*ex = exchange{}
	ex.key, ex.host, ex.id = key, host, id
	ex.request.chunked.Lend(asked)
	ex.response.chunked.Lend(answered)
	w.exchanges.Put(ex)
	ex.undo = undo
}

// finish completes the exchange after the last byte of the response.
func (ex *exchange) finish() {
	cl := ex.client
	complete := ex.request.done()
	keep := ex.keepClient && complete
	if ex.up != nil {
		ex.release()
		ex.giveBack(complete)
	}
	ex.end()
	switch {
	case cl.stream != nil:
		cl.leave()
	case keep:
		cl.resume()
	case complete && cl.in == nil && cl.conn.Pending() == 0 && !cl.conn.Readable():
		cl.conn.CloseWrite() // pushes the answer out; closing alone could destroy it
		cl.close()           // nothing on its way in either direction
	default:
		cl.linger()
	}
}

// abort ends an exchange whose response cannot be completed. A client that
// got a part of it must not take it for the whole: chunked and counted bodies
// say so themselves, any other end is made a reset.
func (ex *exchange) abort() {
	cl := ex.client
	delimited := ex.phase < phaseBody || ex.response.kind == http1.BodyLength || ex.response.kind == http1.BodyChunked && !ex.oldClient
	ex.end()
	if cl.stream == nil && delimited && !cl.conn.Broken() {
		cl.linger()
		return
	}
	cl.abort()
}

// clientGone ends an exchange whose client is no longer there.
func (ex *exchange) clientGone() {
	cl := ex.client
	ex.recordFlag(accesslog.AbortedByClient)
	if ex.phase != phaseTunnel {
		ex.stats().ClientAborts++
	}
	ex.end()
	cl.close()
}
