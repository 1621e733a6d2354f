package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/refused"
	"github.com/sluicelb/sluice/l7/table"
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
	f := t.Farms[q.Farm]
	if f == nil {
		return nil, errors.New("the engine does not serve the farm")
	}
	asked, err := readQuestion(f, q)
	if err != nil {
		return nil, err
	}
	x := &explainer{Trail: table.Trail{Owner: table.OwnerFarm, Hidden: f.Hidden(), Explanation: &explain.Explanation{
		Farm: f.Name, Listener: f.Origin, TLS: f.TLS != nil, Generation: t.Generation, From: asked.from.String(),
	}}, engine: e, farm: f}
	if asked.secure {
		x.SNI = explain.Clip(asked.name)
	}
	switch {
	case asked.secure && f.TLS == nil:
		x.Refuse(table.StepTLS, 400, "the farm speaks plain HTTP: a TLS handshake is no request")
	case !asked.secure && f.TLS != nil:
		x.notSecure()
	default:
		x.run(asked)
	}
	return x.Explanation, nil
}

// explainer is one explanation in the making.
type explainer struct {
	table.Trail
	engine *Engine
	farm   *table.Farm
	w      *worker
	ex     *exchange
	chosen string // why the backend is
}

// clients tells how many the farm has, if it bounds them.
func (x *explainer) clients() {
	f := x.farm
	if f.Places == nil {
		return
	}
	taken := f.Places.Taken.Load()
	switch {
	case taken < f.MaxClients:
		x.Found(table.StepClients, "%d of %d", taken, f.MaxClients)
	case f.Refuses:
		x.Found(table.StepClients, "%d of %d: connections of others are told 503", taken, f.MaxClients)
	default:
		x.Found(table.StepClients, "%d of %d: connections of others wait", taken, f.MaxClients)
	}
}

// notSecure is for plain HTTP on a farm with TLS.
func (x *explainer) notSecure() {
	secured := x.farm.TLS
	x.Refuse(table.StepTLS, secured.PlainStatus, "the farm speaks TLS, this is plain HTTP")
	if secured.PlainStatus/100 == 3 {
		_, location, _ := bytes.Cut(secured.Plain, []byte("\r\nLocation: "))
		location, _, _ = bytes.Cut(location, []byte("\r\n"))
		x.Result.Outcome, x.Result.Location = explain.Redirect, explain.Clip(string(location))
	}
}

// run sends the request its way, as client.process and worker.begin do.
func (x *explainer) run(a asked) {
	e, f := x.engine, x.farm
	l := loop.Dry()
	w := newWorker(e, l, nil, nil)
	w.query.Trail = &x.Trail
	w.rewrite.Observe(&x.Trail)
	x.w = w
	cl := &client{w: w, conn: l.Imagine(netip.AddrPortFrom(a.from, 0), a.secure, a.name), farm: f.ID}
	x.clients()
	n, err := w.req.Parse(a.head)
	switch {
	case err != nil:
		_, status, reason := refused.Classify(err)
		x.Refuse(table.StepRequest, status, reason)
		return
	case n != len(a.head):
		x.Refuse(table.StepRequest, 400, "the head does not end where it should")
		return
	}
	r := &w.req
	x.Request = &explain.Request{Method: explain.Clip(string(r.Method.Of(r.Buf))), Host: explain.Clip(string(r.Host)), Path: explain.Clip(string(r.Path)),
		Trusted: len(f.Trusted) > 0 && table.Trusts(f.Trusted, a.from)}
	x.Pass(table.StepRequest)
	q := &w.query
	q.Farm, q.Conn, q.Now = f, cl.conn, w.clock()
	switch p := q.Plan(); p.Outcome {
	case table.OutcomeChallenge:
		x.Found(table.StepChallenge, "it asks for a token of an order for a certificate")
		x.Result = explain.Result{Outcome: explain.Answer, Status: 200, Reason: "the engine answers challenges of certification authorities", Step: string(table.StepChallenge)}
	case table.OutcomeRedirect:
		x.Result.Outcome, x.Result.Status, x.Result.Location = explain.Redirect, p.Service.Code, explain.Clip(string(q.Text))
		x.Result.Reason = "the service redirects"
	case table.OutcomeForward:
		x.forward(cl, p.Service)
	}
}

// forward finds the backend, as worker.begin and exchange.forwardTo do.
func (x *explainer) forward(cl *client, found *table.Service) {
	w := x.w
	sv := found.Rehearsal()
	ex := &exchange{}
	x.ex = ex
	ex.start(w, cl, x.farm, sv)
	if sv.Request != nil {
		x.Own = sv.Request.Own
		if sv.Request.Restore && len(x.Changes) > 0 {
			x.Change(explain.Change{Kind: "restore-header", Owner: table.OwnerService, Rule: -1})
		}
	}
	x.Owner, x.Path = table.OwnerService, bytes.Clone(w.req.Path)
	told := table.Told{Proto: cl.proto(), ID: ex.id}
	if t := x.farm.TLS; t != nil && t.TellsClients {
		told.Certificate = cl.certificate()
	}
	if err := ex.Revise(&w.query, sv, &ex.Choice, &told); err != nil {
		_, status, reason := refused.Classify(err)
		x.Refuse(table.StepRules, status, reason)
		return
	}
	if n := len(x.Changes); n > 0 && sv.URLs != nil && x.Changes[n-1].Kind == "rewrite-url" {
		x.Changes[n-1].Last = sv.URLs.Last(x.Changes[n-1].Rule)
	}
	if sv.Request != nil {
		x.Added(sv.Request.AddedBy, sv.Request.Add)
	}
	head := ex.Append(nil, &w.query)
	held := x.recall(found, sv)
	i, ok := ex.choose()
	x.persistence(found, held, i, ok)
	x.insertedCookie(i, ok)
	x.balance(found, i, ok)
	if !ok {
		x.unserved(sv)
		return
	}
	ex.backend = &sv.Backends[i]
	x.Head = x.MaskedHead(ex.Address(&w.addressed, head, ex.backend))
	x.Result = explain.Result{Outcome: explain.Forward, Service: sv.Name, Backend: &ex.backend.Number, Address: ex.backend.Origin, Decision: ex.Why.String(), Reason: x.chosen}
}

// oneTries is what becomes of backends that could not be connected to.
const oneTries = "while none is usable one request at a time tries one that is down"

// unserved tells what becomes of a request nobody can serve now.
func (x *explainer) unserved(sv *table.Service) {
	waiting := sv.Queue.Count.Load()
	switch {
	case sv.Picker.Attemptable():
		x.Refuse(table.StepBackends, 503, "no backend of the service can be used now; "+oneTries)
	case !x.ex.mayWait():
		x.Refuse(table.StepBackends, 503, "no backend of the service can be used now")
	case waiting >= sv.QueueLength:
		x.Refuse(table.StepBackends, 503, fmt.Sprintf("no backend has room, and the queue is full: %d wait", waiting))
	default:
		x.Result.Outcome, x.Result.Step = explain.Wait, string(table.StepBackends)
		x.Result.Reason = fmt.Sprintf("no backend has room: it would wait %d seconds at most, behind %d others in a queue for %d", sv.QueueTimeout/second, waiting, sv.QueueLength)
	}
}
