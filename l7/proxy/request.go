package proxy

import (
	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/backend"
	"github.com/sluicelb/sluice/l7/client"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rewrite"
	"github.com/sluicelb/sluice/l7/table"
)

// sending is the state of an exchange's request.
type sending struct {
	began       int64 // time at which the request, or the part that had to be awaited, was passed to the backend
	rejections  uint8 // number of backends that did not process the request
	unshaken    uint8 // number of failed handshakes caused by the client's input
	fresh       bool  // requires a new connection
	reused      bool  // was sent on a connection of earlier requests
	bodyRefused bool  // the backend accepts no more of the body
}

// savedRequest is the rewritten request while it may have to be sent again: until a
// connection is established, or until the response begins.
type savedRequest struct {
	bytes      []byte // pooled; nil if nothing is saved
	replayable bool   // bytes is the whole request and safe to repeat
}

// store saves the request in the scratch buffer for a later attempt.
func (s *savedRequest) store(l *loop.Loop) {
	s.bytes = append(l.Buffers.Get(len(l.Scratch)), l.Scratch...)
}

// add adds p to the saved request, or releases it if it becomes longer than most.
func (s *savedRequest) add(l *loop.Loop, p []byte, most int) {
	switch {
	case s.bytes == nil:
	case len(s.bytes)+len(p) > most:
		s.release(l)
	default:
		s.bytes = append(l.Buffers.Grow(s.bytes, len(p)), p...)
	}
}

// release releases the saved request, which can then no longer be repeated.
func (s *savedRequest) release(l *loop.Loop) {
	if s.bytes != nil {
		l.Buffers.Put(s.bytes)
		s.bytes = nil
	}
	s.replayable = false
}

// room returns the size of the next read of the request body. If the request is saved, the
// read fits as well: the window of the backend is exhausted before the limit is.
func (s *savedRequest) room(sv *table.Service) int {
	const least = 4 << 10 // room for a chunk with its framing
	if left := mostSaved(sv) - len(s.bytes); s.bytes != nil && sv.Multiplexed && left >= least {
		return min(bodyRead, left)
	}
	return bodyRead
}

// mostSaved returns the limit of a saved request of a service.
func mostSaved(sv *table.Service) int {
	if sv.Multiplexed {
		return maxUnaccepted
	}
	return maxReplay
}

// maxReplay bounds a request that is kept while an HTTP/2 backend may still reject it
// unprocessed.
const maxReplay = 64 << 10

// maxUnaccepted bounds such a request with a body that the backend has not accepted: the
// initial flow-control window of nearly all servers, and the head. Larger uploads are kept
// until the backend opens the window, since a backend that ends its connection after a number
// of requests (nginx: keepalive_requests) refuses those that are on their way.
const maxUnaccepted = maxReplay + 16<<10

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
	if p.Service.DNSFarm != "" {
		return w.beginQuery(cl, f, p, unchecked, rest)
	}
	return w.forwardFor(cl, f, p, unchecked, rest)
}

// forwardFor begins an exchange for a forwarded request, after a pending password check if
// there is one.
func (w *worker) forwardFor(cl client.Client, f *table.Farm, p *table.Plan, unchecked *login, rest []byte) int {
	ex := w.exchanges.Get()
	invite := ex.start(w, cl, f, p.Service)
	used, err := ex.prepare(rest)
	if err != nil {
		ex.refuse(err)
		return len(rest)
	}
	if unchecked != nil {
		ex.saved.store(w.loop)
		ex.login.await(ex, unchecked, p.Auth, invite && used == 0)
		return used
	}
	if invite && used == 0 && !ex.inviteBody() {
		return len(rest)
	}
	ex.forwardTo()
	return used
}

// start initialises the exchange for the current request. It reports whether the client must
// get a 100 Continue.
func (ex *exchange) start(w *worker, cl client.Client, f *table.Farm, sv *table.Service) (invite bool) {
	r := &w.req
	// Field by field: a composite literal of 512 bytes would be built separately and copied.
	ex.client, ex.peer = cl, cl.From()
	ex.w, ex.farm, ex.service, ex.queue.shared = w, f, sv, sv.Queue
	ex.verb, ex.oldClient, ex.keepClient = r.Verb, r.Minor == 0, r.KeepAlive
	if r.Upgrade {
		ex.upgrade.request(r)
	}
	ex.binds = binds(r)
	ex.host = append(ex.host, r.Host...)
	cl.Serve(ex)
	ex.record.begin(w, ex.peer, f)
	ex.request.start(r.Body(), &r.Head, true)
	if m := f.Limits.MaxBody; m > 0 {
		ex.request.chunked.Limit(m)
	}
	invite = w.query.Invites()
	if c := sv.Compress; c != nil && !ex.oldClient {
		ex.encoding.coding = c.Accepted(&r.Head)
	}
	return invite
}

// binds reports whether the request logs in its connection, possibly unasked, which is then
// reserved for its client.
func binds(r *http1.Request) bool {
	i := r.Find(http1.KnownAuthorization)
	return i >= 0 && bindingScheme(r.Value(i))
}

var continueLine = []byte("HTTP/1.1 100 Continue\r\n\r\n")

// inviteBody sends 100 Continue. It reports whether the client is still connected.
func (ex *exchange) inviteBody() bool {
	if ex.client.Interim(continueLine) != nil {
		ex.ClientGone()
		return false
	}
	return true
}

// prepare writes the request for the backend to the scratch buffer: the head and the body
// received so far.
func (ex *exchange) prepare(rest []byte) (used int, err error) {
	told := table.Told{Proto: ex.peer.Scheme()}
	if len(ex.record.id) > 0 { // copying bytes that were just written stalls the processor
		told.ID = ex.record.id
	}
	if t := ex.farm.TLS; t != nil && t.TellsClients {
		told.Certificate = ex.peer.Certificate()
	}
	if err := ex.outgoing.Revise(&ex.w.query, ex.service, &ex.choice, &told); err != nil {
		return 0, err
	}
	return ex.assemble(rest)
}

// assemble writes the request.
func (ex *exchange) assemble(rest []byte) (used int, err error) {
	w := ex.w
	out := ex.outgoing.Append(w.loop.Scratch[:0], &w.query)
	in, n, err := ex.request.take(rest, ex.service.Multiplexed)
	if err != nil {
		return 0, err
	}
	out = append(out, rest[:n]...)
	if !ex.service.Multiplexed { // otherwise transmit adds it
		out = append(out, ex.w.requestTrailer(ex.farm, ex.service, &ex.request)...)
	}
	w.loop.Scratch = out
	ex.peer.Stats().BytesIn += uint64(in)
	ex.record.moved(uint64(in), 0)
	return in, nil
}

// requestTrailer returns the bytes after the last chunk of b, a request body for the service.
// They are valid until the next call on the loop.
func (w *worker) requestTrailer(f *table.Farm, sv *table.Service, b *body) []byte {
	t := b.trailer()
	rules, auth, farm := sv.Request, sv.Auth, f.Remove
	if len(t) == 0 || rules == nil && farm == nil && (auth == nil || auth.Keys == nil) {
		return t
	}
	return w.filter(t, !sv.Multiplexed, func(h *http1.Head, s *rewrite.Scratch) error {
		if farm != nil {
			farm.Remove(h, s)
		}
		if err := rules.Apply(h, s); err != nil {
			return err
		}
		if auth != nil && auth.Keys != nil { // the backend gets the checked key only, or none
			for i := h.Lookup(auth.Header); i >= 0; i = h.Lookup(auth.Header) {
				h.Remove(i)
			}
		}
		return nil
	})
}

// forwardTo selects a backend and sends the request or starts a connect. It continues with
// other backends as long as none has received a byte.
func (ex *exchange) forwardTo() {
	if ex.keepsOwn() && ex.queue.place == nil && ex.takeKept() {
		ex.send()
		return
	}
	for {
		ex.record.attempt()
		i, ok := ex.choose()
		if !ok && !ex.queue.waitsForOwn(ex) {
			i, ok = ex.revival.choose(ex)
		}
		if !ok {
			ex.noneLeft()
			return
		}
		ex.backend = &ex.service.Backends[i]
		ex.load.await(ex.service, ex.backend)
		up, established, err := ex.transport(ex.destination())
		switch {
		case err == nil && established:
			ex.up = up
			ex.backendStats().Reuses++
			ex.record.flag(accesslog.Reused)
			ex.send()
			return
		case err == nil:
			ex.up = up
			ex.connecting(1)
			if ex.saved.bytes == nil {
				ex.saved.store(ex.w.loop)
			}
			return
		}
		if status := ex.unreachable(i, err); status != 0 {
			ex.failed(status)
			return
		}
	}
}

// once reports whether the request must not be sent twice.
func (ex *exchange) once() bool { return !ex.request.done() || !ex.verb.Idempotent() }

// keepsOwn reports whether the client keeps a connection for the service.
func (ex *exchange) keepsOwn() bool {
	return ex.service.Pinned || ex.peer.Kept().Has(ex.service.ID)
}

// choose picks a backend, unless queued exchanges go first.
func (ex *exchange) choose() (int, bool) {
	if ex.service.QueueLength == 0 && ex.queue.place == nil {
		return ex.pick()
	}
	return ex.queue.choose(ex)
}

// pick selects the backend and counts evicted sessions.
func (ex *exchange) pick() (int, bool) {
	i, ok := ex.choice.Pick(ex.service)
	if ex.choice.Keyed(ex.service) {
		if n := ex.service.Sessions.Forgotten(); n > 0 { // an explanation does not count or evict sessions
			ex.stats().Forgotten += n
		}
		if ok && ex.choice.Why == accesslog.WhySession {
			ex.record.flag(accesslog.Session)
		}
	}
	return i, ok
}

// destination returns the target of the exchange's connection. The TLS server name is the
// request's host unless the service has its own. The result is valid until the next call on
// the loop.
func (ex *exchange) destination() *dial.Target {
	if ex.service.TLS == nil && ex.revival.attempt == nil {
		return &ex.backend.Target
	}
	t := &ex.w.target
	*t = ex.backend.Target
	if ex.service.TLS != nil {
		t.Options.Security.Config = ex.service.TLS.Config(ex.backend.ID, ex.nameAsked())
	}
	if ex.revival.attempt != nil {
		t.Timeout = min(t.Timeout, attemptTime)
	}
	return t
}

// transport returns the transport to the target. established means that the request can be
// sent now; otherwise a connect is in progress.
func (ex *exchange) transport(to *dial.Target) (up backend.Transport, established bool, err error) {
	pool := ex.w.pool
	if ex.service.Multiplexed {
		return pool.Stream(to, &backend.Ask{
			Owner: ex, New: ex.sending.fresh, Bare: ex.unframed(), Upgrade: ex.upgrade.requested,
			Began: ex.record.began, Timeout: ex.backend.Timeout,
		})
	}
	if !ex.sending.fresh && !ex.service.Pinned {
		if ex.once() {
			up = pool.IdleAlive(to, ex)
		} else {
			up = pool.Idle(to, ex)
		}
		if up != nil {
			return up, true, nil
		}
	}
	if to.Announce != 0 {
		to = ex.w.announce(ex.peer.Conn, to)
	}
	up, err = pool.Dial(to, ex)
	return up, false, err
}

// connecting counts connects in progress.
func (ex *exchange) connecting(by int) {
	if by > 0 {
		ex.phase = phaseConnect
		ex.backendStats().Pending++
	} else {
		ex.phase = phaseHead // prevents double counting after later failures
		ex.backendStats().Pending--
	}
}

// send passes the request received so far to the backend.
func (ex *exchange) send() {
	w := ex.w
	b := ex.saved.bytes
	if b == nil {
		b = w.loop.Scratch
	}
	b = ex.outgoing.Address(&w.addressed, b, ex.backend)
	up := ex.up
	ex.phase, ex.sending.began = phaseHead, w.loop.Now()
	up.SetDeadline(ex.sending.began + ex.backend.Timeout)
	if err := ex.transmit(b); err != nil {
		// Refused as a whole: the connection had already ended, so the backend has seen
		// nothing of this request.
		if ex.saved.bytes == nil {
			ex.saved.store(ex.w.loop)
		}
		if !up.Reused() {
			// The backend resets accepted connections: one attempt is enough.
			ex.choice.Tried = ex.choice.Tried.With(ex.service.Position(ex.backend))
		}
		ex.again()
		return
	}
	s := ex.backendStats()
	s.Requests++
	s.Established++
	s.BytesOut += uint64(len(b))
	ex.load.counted = true
	ex.sending.reused = up.Reused()
	ex.saved.replayable = ex.sending.reused && !ex.once()
	switch {
	case ex.service.Retry != nil && ex.retry.save(ex, b):
	case !ex.saved.replayable && !ex.service.Multiplexed: // a stream may be rejected unprocessed
		ex.saved.release(ex.w.loop)
	case ex.saved.bytes == nil:
		ex.saved.store(ex.w.loop)
	}
}

// transmit sends the request received so far: an HTTP/1.1 head and bytes of the body, with
// chunks for HTTP/1 backends only.
func (ex *exchange) transmit(b []byte) error {
	if !ex.service.Multiplexed {
		return ex.up.Send(b, false, nil)
	}
	ex.client.Listen(true) // so that the backend can stop if the client leaves
	up := ex.up
	err := up.Send(b, ex.request.done(), ex.w.requestTrailer(ex.farm, ex.service, &ex.request))
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

// listen monitors the client's end once the whole request has arrived. Queued clients are
// monitored already.
func (ex *exchange) listen() {
	if ex.queue.place == nil {
		ex.client.Listen(false)
	}
}
