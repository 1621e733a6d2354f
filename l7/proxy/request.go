package proxy

import (
	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/l7/backend"
	"github.com/sluicelb/sluice/l7/client"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/table"
)

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
	ex.verb, ex.oldClient, ex.keepClient, ex.upgrade = r.Verb, r.Minor == 0, r.KeepAlive, r.Upgrade
	ex.binds = binds(r)
	ex.host = append(ex.host, r.Host...)
	cl.Serve(ex)
	ex.recordHead()
	ex.request.start(r.Body(), &r.Head, true)
	if ex.service.Multiplexed && ex.peer.Frames {
		ex.request.chunked.AllowAll()
	}
	if m := f.Limits.MaxBody; m > 0 {
		ex.request.chunked.Limit(m)
	}
	invite = w.query.Invites()
	if c := sv.Compress; c != nil && !ex.oldClient {
		ex.coding = c.Accepted(&r.Head)
	}
	return invite
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

// forwardTo finds a backend for the request and sends it, or starts to
// connect. It goes on to the next backend as long as none has seen a byte.
func (ex *exchange) forwardTo() {
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

// BackendConnected implements backend.Owner.
func (ex *exchange) BackendConnected(began int64, own bool, err error) {
	defer ex.peer.Conn.Contain()
	if err != nil {
		ex.up = nil // whoever opened it has it back
	}
	ex.connecting(-1)
	if why := backend.ErrorOf(err); why != nil {
		ex.badResponse(why.Reason)
		return
	}
	if err != nil {
		if status := ex.unreachable(ex.index(), err); status != 0 {
			ex.failed(status)
			return
		}
		ex.forwardTo()
		return
	}
	s := ex.backendStats()
	if own {
		s.Connects++
		s.ConnectNanos += uint64(ex.w.loop.Now() - began)
	} else {
		s.Reuses++
	}
	ex.recordConnect(began)
	ex.w.engine.Prober.Reached(ex.backend.ID)
	ex.attempted()
	if ex.service.TLS != nil {
		ex.service.TLS.Worked(ex.backend.ID, ex.nameAsked())
	}
	up := ex.up
	ex.send()
	if ex.up == up {
		ex.ClientReadable()
	}
}

// index is the position of the chosen backend in its service.
func (ex *exchange) index() int {
	for i := range ex.service.Backends {
		if &ex.service.Backends[i] == ex.backend {
			return i
		}
	}
	return -1
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

// again sends the saved request once more, on a new connection.
func (ex *exchange) again() {
	ex.backendStats().Retries++
	ex.drop()
	ex.fresh = true
	ex.forwardTo()
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
	if ex.wait == nil {
		ex.client.Listen(false)
	}
}

// ClientExpired implements client.Exchange: the client is silent.
func (ex *exchange) ClientExpired() {
	switch {
	case ex.wait != nil:
		ex.waitedTooLong()
	case ex.phase == phaseTunnel:
		ex.ClientGone()
	case ex.client.Pending() != 0:
		if ex.client.Stalled(ex.farm.RequestTimeout) {
			ex.stats().Timeouts++
			ex.note(rejected.Timeout, 0, "answer not taken in time")
			cl := ex.client
			ex.End()
			cl.Abort(false)
		}
	case ex.request.done() || ex.phase == phaseConnect || ex.up == nil || ex.up.Pending() != 0:
		ex.client.Hear() // the other side is what keeps the exchange waiting
	case ex.phase == phaseBody:
		ex.stats().Timeouts++
		ex.note(rejected.Timeout, 0, bodyLate)
		ex.Abort()
	default:
		ex.stats().Timeouts++
		ex.note(rejected.Timeout, 408, bodyLate)
		ex.keepClient = false
		ex.fail(408)
	}
}
