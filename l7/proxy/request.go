package proxy

import (
	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/l7/backend"
	"github.com/sluicelb/sluice/l7/client"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rewrite"
	"github.com/sluicelb/sluice/l7/table"
)

// sending is how far an exchange's request is.
type sending struct {
	// head holds the rewritten request as long as it may have to be sent
	// again: until a connection is established, or until the answer begins.
	head []byte
	// rejections is how often a backend did not look at the request.
	rejections uint8
	// unshaken is how many handshakes failed for what the client sent.
	unshaken    uint8
	replayable  bool // head is the whole request and sending it twice is safe
	fresh       bool // the next connection must be a new one
	bodyRefused bool // the backend takes no more of the body
}

// maxReplay bounds a request that is kept while a backend of HTTP/2 may still
// say that it has not looked at it.
const maxReplay = 64 << 10

// Begin implements client.Handler.
func (w *worker) Begin(cl client.Client, f *table.Farm, head, rest []byte) int {
	peer := cl.From()
	s := peer.Stats()
	s.Requests++
	s.BytesIn += uint64(len(head))
	q := &w.query
	q.Farm, q.Conn, q.Now = f, peer.Conn, w.Clock()
	p := q.Plan()
	switch p.Outcome {
	case table.OutcomeChallenge:
		return w.answerChallenge(cl, f, rest)
	case table.OutcomeRefuse:
		return w.refuse(cl, f, p, rest)
	case table.OutcomeRedirect:
		return w.redirect(cl, f, p, rest)
	}
	var unchecked *login
	if p.Unchecked {
		if unchecked = w.check(p); unchecked == nil {
			return w.refuse(cl, f, p, rest)
		}
	}
	return w.forwardFor(cl, f, p.Service, unchecked, rest)
}

// forwardFor begins an exchange for a request that is forwarded, perhaps once a
// password has been checked.
func (w *worker) forwardFor(cl client.Client, f *table.Farm, sv *table.Service, unchecked *login, rest []byte) int {
	ex := w.exchanges.Get()
	invite := ex.start(w, cl, f, sv)
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

// start makes the exchange one of the request at hand. It reports whether the
// client is to be invited to send the body.
func (ex *exchange) start(w *worker, cl client.Client, f *table.Farm, sv *table.Service) (invite bool) {
	r := &w.req
	// Field by field: a literal would be built aside and copied, 512 bytes of it.
	ex.client, ex.peer = cl, cl.From()
	ex.w, ex.farm, ex.service, ex.queue = w, f, sv, sv.Queue
	ex.verb, ex.oldClient, ex.keepClient = r.Verb, r.Minor == 0, r.KeepAlive
	if ex.upgrade = r.Upgrade; r.Upgrade {
		ex.askFor(r)
	}
	ex.binds = binds(r)
	ex.host = append(ex.host, r.Host...)
	cl.Serve(ex)
	ex.recordHead()
	ex.request.start(r.Body(), &r.Head, true)
	if m := f.Limits.MaxBody; m > 0 {
		ex.request.chunked.Limit(m)
	}
	invite = w.query.Invites()
	if c := sv.Compress; c != nil && !ex.oldClient {
		ex.coding = c.Accepted(&r.Head)
	}
	return invite
}

// binds reports whether a connection that carries the request is its client's from
// then on: it is to log in, perhaps without having been asked to.
func binds(r *http1.Request) bool {
	i := r.Find(http1.KnownAuthorization)
	return i >= 0 && bindingScheme(r.Value(i))
}

var continueLine = []byte("HTTP/1.1 100 Continue\r\n\r\n")

// inviteBody tells the client to send the body it waits with. It reports
// whether the client is still there.
func (ex *exchange) inviteBody() bool {
	if ex.client.Interim(continueLine) != nil {
		ex.ClientGone()
		return false
	}
	return true
}

// prepare makes the request a backend gets in the loop's scratch buffer: head
// and as much of the body as has come.
func (ex *exchange) prepare(rest []byte) (used int, err error) {
	if ex.service.DNSFarm != "" {
		return ex.prepareQuestion(rest)
	}
	told := table.Told{Proto: ex.peer.Scheme()}
	if len(ex.id) > 0 { // copying what was just written makes the processor wait
		told.ID = ex.id
	}
	if t := ex.farm.TLS; t != nil && t.TellsClients {
		told.Certificate = ex.peer.Certificate()
	}
	if err := ex.Revise(&ex.w.query, ex.service, &ex.Choice, &told); err != nil {
		return 0, err
	}
	return ex.assemble(rest)
}

// assemble writes the request.
func (ex *exchange) assemble(rest []byte) (used int, err error) {
	w := ex.w
	out := ex.Append(w.loop.Scratch[:0], &w.query)
	in, n, err := ex.request.take(rest, ex.service.Multiplexed)
	if err != nil {
		return 0, err
	}
	out = append(out, rest[:n]...)
	if !ex.service.Multiplexed { // else transmit asks for it
		out = append(out, ex.requestTrailer()...)
	}
	w.loop.Scratch = out
	ex.peer.Stats().BytesIn += uint64(in)
	ex.recordMoved(uint64(in), 0)
	return in, nil
}

// requestTrailer is what follows the last chunk of the request's body. It is good
// until the next call on the loop.
func (ex *exchange) requestTrailer() []byte {
	t := ex.request.trailer()
	rules, auth, farm := ex.service.Request, ex.service.Auth, ex.farm.Remove
	if len(t) == 0 || rules == nil && farm == nil && (auth == nil || auth.Keys == nil) {
		return t
	}
	return ex.w.filter(t, !ex.service.Multiplexed, func(h *http1.Head, s *rewrite.Scratch) error {
		if farm != nil {
			farm.Remove(h, s)
		}
		if err := rules.Apply(h, s); err != nil {
			return err
		}
		if auth != nil && auth.Keys != nil { // the backend gets the one that was checked, or none
			for i := h.Lookup(auth.Header); i >= 0; i = h.Lookup(auth.Header) {
				h.Remove(i)
			}
		}
		return nil
	})
}

// forwardTo finds a backend for the request and sends it, or starts to
// connect. It goes on to the next backend as long as none has seen a byte.
func (ex *exchange) forwardTo() {
	if ex.service.DNSFarm != "" {
		ex.ask()
		return
	}
	if ex.keepsOwn() && ex.wait == nil && ex.takeKept() {
		ex.send()
		return
	}
	for {
		ex.recordTry()
		i, ok := ex.choose()
		if !ok {
			i, ok = ex.chooseDown()
		}
		if !ok {
			ex.noneLeft()
			return
		}
		ex.backend = &ex.service.Backends[i]
		ex.await()
		up, established, err := ex.transport(ex.destination())
		switch {
		case err == nil && established:
			ex.up = up
			ex.backendStats().Reuses++
			ex.recordFlag(accesslog.Reused)
			ex.send()
			return
		case err == nil:
			ex.up = up
			ex.connecting(1)
			if ex.head == nil {
				ex.save()
			}
			return
		}
		if status := ex.unreachable(i, err); status != 0 {
			ex.failed(status)
			return
		}
	}
}

// keepsOwn reports whether the client keeps a connection for the service of the
// exchange.
func (ex *exchange) keepsOwn() bool {
	return ex.service.Pinned || ex.peer.Kept().Has(ex.service.ID)
}

// choose picks a backend, unless others are to have one first.
func (ex *exchange) choose() (int, bool) {
	if ex.service.QueueLength == 0 && ex.wait == nil {
		return ex.pick()
	}
	return ex.chooseInTurn()
}

// pick chooses the backend, and counts what that costs others.
func (ex *exchange) pick() (int, bool) {
	i, ok := ex.Pick(ex.service)
	if ex.Keyed(ex.service) {
		if n := ex.service.Sessions.Forgotten(); n > 0 { // an explanation, which counts nothing, displaces none
			ex.stats().Forgotten += n
		}
		if ok && ex.Why == accesslog.WhySession {
			ex.recordFlag(accesslog.Session)
		}
	}
	return i, ok
}

// destination is where and how to connect for the exchange. With TLS the name
// that is asked for is the request's, unless the service has one of its own;
// the result is good until the next call on the loop.
func (ex *exchange) destination() *dial.Target {
	if ex.service.TLS == nil && ex.attempt == nil {
		return &ex.backend.Target
	}
	t := &ex.w.target
	*t = ex.backend.Target
	if ex.service.TLS != nil {
		t.Options.Security.Config = ex.service.TLS.Config(ex.backend.ID, ex.nameAsked())
	}
	if ex.attempt != nil {
		t.Timeout = min(t.Timeout, attemptTime)
	}
	return t
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

// await counts the exchange as waiting for its response, for the algorithm
// that compares how many do.
func (ex *exchange) await() {
	if ex.service.Tracked {
		ex.waiting = true
		ex.backend.Load.Pending.Add(1)
	}
}

// arrived ends await.
func (ex *exchange) arrived() {
	if ex.waiting {
		ex.waiting = false
		ex.backend.Load.Pending.Add(-1)
	}
}

// connecting counts connects under way.
func (ex *exchange) connecting(by int) {
	if by > 0 {
		ex.phase = phaseConnect
		ex.backendStats().Pending++
	} else {
		ex.phase = phaseHead // not counted twice, whatever goes wrong next
		ex.backendStats().Pending--
	}
}

// send hands the request, as far as it has come, to the backend.
func (ex *exchange) send() {
	w := ex.w
	b := ex.head
	if b == nil {
		b = w.loop.Scratch
	}
	b = ex.Address(&w.addressed, b, ex.backend)
	up := ex.up
	ex.phase, ex.sent = phaseHead, w.loop.Now()
	up.SetDeadline(ex.sent + ex.backend.Timeout)
	if err := ex.transmit(b); err != nil {
		// Refused as a whole: the connection had ended before, so the backend
		// has seen nothing of this request.
		if ex.head == nil {
			ex.save()
		}
		if !up.Reused() {
			ex.Tried = ex.Tried.With(ex.index()) // it resets what it accepts: once is enough
		}
		ex.again()
		return
	}
	s := ex.backendStats()
	s.Requests++
	s.Established++
	s.BytesOut += uint64(len(b))
	ex.counted = true
	ex.replayable = up.Reused() && ex.request.done() && ex.verb.Idempotent()
	switch {
	case ex.service.Retry != nil && ex.keeps(b):
	case !ex.replayable && !ex.service.Multiplexed: // a stream may be refused unseen
		ex.unsave()
	case ex.head == nil:
		ex.save()
	}
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

// Proceed implements client.Exchange.
func (ex *exchange) Proceed() {
	if ex.request.done() {
		ex.listen()
		return
	}
	ex.ClientReadable()
}

// listen has the client's end noticed once the whole request has come. Who waits in
// a queue is heard already.
func (ex *exchange) listen() {
	if ex.wait == nil && ex.phase != phaseTunnel {
		ex.client.Listen(false)
	}
}
