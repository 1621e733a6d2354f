package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/l7/refused"
)

// A request is explained by sending it the way of every other, on a worker of
// its own whose loop is none: what is looked at is the table that is in use,
// what exchanges change (turns, loads, sessions) are copies, and nothing is
// counted. What is decided on the way is told to a trail.

// Explain says what would become of a request if it came now. Any goroutine may
// call it: no loop waits for it. The error is for who asked, about the question
// or a farm the engine does not serve.
func (e *Engine) Explain(q *explain.Question) (*explain.Explanation, error) {
	t := e.table.Load()
	f := t.byID[q.Farm]
	if f == nil {
		return nil, errors.New("the engine does not serve the farm")
	}
	asked, err := readQuestion(f, q)
	if err != nil {
		return nil, err
	}
	x := &explainer{trail: trail{owner: ownerFarm, hidden: f.hidden(), Explanation: &explain.Explanation{
		Farm: f.name, Listener: f.origin, TLS: f.tls != nil, Generation: t.generation, From: asked.from.String(),
	}}, engine: e, farm: f}
	if asked.secure {
		x.SNI = explain.Clip(asked.name)
	}
	switch {
	case asked.secure && f.tls == nil:
		x.refuse(stepTLS, 400, "the farm speaks plain HTTP: a TLS handshake is no request")
	case !asked.secure && f.tls != nil:
		x.notSecure()
	default:
		x.run(asked)
	}
	return x.Explanation, nil
}

// explainer is one explanation in the making.
type explainer struct {
	trail
	engine *Engine
	farm   *farmTable
	w      *worker
	ex     *exchange
	chosen string // why the backend is
}

// clients tells how many the farm has, if it bounds them.
func (x *explainer) clients() {
	f := x.farm
	if f.places == nil {
		return
	}
	taken := f.places.Taken.Load()
	switch {
	case taken < f.maxClients:
		x.found(stepClients, "%d of %d", taken, f.maxClients)
	case f.refuses:
		x.found(stepClients, "%d of %d: connections of others are told 503", taken, f.maxClients)
	default:
		x.found(stepClients, "%d of %d: connections of others wait", taken, f.maxClients)
	}
}

// notSecure is for plain HTTP on a farm with TLS.
func (x *explainer) notSecure() {
	secured := x.farm.tls
	x.refuse(stepTLS, secured.plainStatus, "the farm speaks TLS, this is plain HTTP")
	if secured.plainStatus/100 == 3 {
		_, location, _ := bytes.Cut(secured.plain, []byte("\r\nLocation: "))
		location, _, _ = bytes.Cut(location, []byte("\r\n"))
		x.Result.Outcome, x.Result.Location = explain.Redirect, explain.Clip(string(location))
	}
}

// run sends the request its way, as client.process and worker.begin do.
func (x *explainer) run(a asked) {
	e, f := x.engine, x.farm
	l := loop.Dry()
	w := newWorker(e, l, nil, nil)
	w.query.trail, w.rewritten = &x.trail, x.rewritten
	w.rewrite.Observe(&x.trail)
	x.w = w
	cl := &client{w: w, conn: l.Imagine(netip.AddrPortFrom(a.from, 0), a.secure, a.name), farm: f.id}
	x.clients()
	n, err := w.req.Parse(a.head)
	switch {
	case err != nil:
		_, status, reason := refused.Classify(err)
		x.refuse(stepRequest, status, reason)
		return
	case n != len(a.head):
		x.refuse(stepRequest, 400, "the head does not end where it should")
		return
	}
	r := &w.req
	x.Request = &explain.Request{Method: explain.Clip(string(r.Method.Of(r.Buf))), Host: explain.Clip(string(r.Host)), Path: explain.Clip(string(r.Path)),
		Trusted: len(f.trusted) > 0 && trusts(f.trusted, a.from)}
	x.pass(stepRequest)
	q := &w.query
	q.farm, q.conn, q.now = f, cl.conn, w.clock()
	switch p := q.plan(); p.outcome {
	case outcomeChallenge:
		x.found(stepChallenge, "it asks for a token of an order for a certificate")
		x.Result = explain.Result{Outcome: explain.Answer, Status: 200, Reason: "the engine answers challenges of certification authorities", Step: string(stepChallenge)}
	case outcomeRedirect:
		x.Result.Outcome, x.Result.Status, x.Result.Location = explain.Redirect, p.service.code, explain.Clip(string(q.text))
		x.Result.Reason = "the service redirects"
	case outcomeForward:
		x.forward(cl, p.service)
	}
}

// forward finds the backend, as worker.begin and exchange.forwardTo do.
func (x *explainer) forward(cl *client, found *service) {
	w := x.w
	sv := found.rehearsal()
	ex := &exchange{}
	x.ex = ex
	ex.start(w, cl, x.farm, sv)
	if sv.request != nil {
		x.own = sv.request.own
		if sv.request.restore && len(x.Changes) > 0 {
			x.change(explain.Change{Kind: "restore-header", Owner: ownerService, Rule: -1})
		}
	}
	x.owner, x.path = ownerService, bytes.Clone(w.req.Path)
	if err := ex.revise(); err != nil {
		_, status, reason := refused.Classify(err)
		x.refuse(stepRules, status, reason)
		return
	}
	if n := len(x.Changes); n > 0 && sv.urls != nil && x.Changes[n-1].Kind == "rewrite-url" {
		x.Changes[n-1].Last = sv.urls.Last(x.Changes[n-1].Rule)
	}
	if sv.request != nil {
		x.added(sv.request.addedBy, sv.request.add)
	}
	head := ex.appendHead(nil)
	held := x.recall(found, sv)
	i, ok := ex.choose()
	x.persistence(found, held, i, ok)
	x.insertedCookie(i, ok)
	x.balance(found, i, ok)
	if !ok {
		x.unserved(sv)
		return
	}
	ex.backend = &sv.backends[i]
	x.Head = x.maskedHead(ex.address(head))
	x.Result = explain.Result{Outcome: explain.Forward, Service: sv.name, Backend: &ex.backend.number, Address: ex.backend.origin, Decision: ex.why.String(), Reason: x.chosen}
}

// oneTries is what becomes of backends that could not be connected to.
const oneTries = "while none is usable one request at a time tries one that is down"

// unserved tells what becomes of a request nobody can serve now.
func (x *explainer) unserved(sv *service) {
	waiting := sv.queue.Count.Load()
	switch {
	case sv.picker.Attemptable():
		x.refuse(stepBackends, 503, "no backend of the service can be used now; "+oneTries)
	case !x.ex.mayWait():
		x.refuse(stepBackends, 503, "no backend of the service can be used now")
	case waiting >= sv.queueLength:
		x.refuse(stepBackends, 503, fmt.Sprintf("no backend has room, and the queue is full: %d wait", waiting))
	default:
		x.Result.Outcome, x.Result.Step = explain.Wait, string(stepBackends)
		x.Result.Reason = fmt.Sprintf("no backend has room: it would wait %d seconds at most, behind %d others in a queue for %d", sv.queueTimeout/second, waiting, sv.queueLength)
	}
}

// rehearsal is a copy of the service in which an exchange can run without
// changing anything: whatever exchanges change must be replaced here.
func (s *service) rehearsal() *service {
	c := *s
	c.picker = s.picker.Copy()
	if s.sessions != nil {
		c.sessions = session.New(1)
	}
	return &c
}
