// Package explain returns the outcome of a hypothetical request by running it through the
// code for traffic. It uses the current table and copies of the state that exchanges change
// (rotations, loads, sessions), and counts nothing. A table.Trail records the decisions.
package explain

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/l7/guard"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/rewrite"
	"github.com/sluicelb/sluice/l7/state"
	"github.com/sluicelb/sluice/l7/table"
)

// Engine holds the inputs of an explanation.
type Engine struct {
	Table   *table.Table   // current table
	Segment *stats.Segment // counters
	Checker *guard.Checker // of passwords
}

// Explain returns the outcome of a hypothetical request. It is safe for concurrent use and
// blocks no loop. Errors concern the question, or a farm that the engine does not serve.
func (e *Engine) Explain(q *explain.Question) (*explain.Explanation, error) {
	f := e.Table.ByID[q.Farm]
	if f == nil {
		return nil, errors.New("the engine does not serve the farm")
	}
	asked, err := readQuestion(f, q)
	if err != nil {
		return nil, err
	}
	x := &explainer{Trail: f.NewTrail(&explain.Explanation{
		Farm: f.Name, Listener: f.Origin, TLS: f.TLS != nil, Generation: e.Table.Generation, From: asked.from.String(),
	}), engine: e, farm: f}
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

// explainer is an explanation in progress.
type explainer struct {
	table.Trail // writes to the explanation
	engine      *Engine
	farm        *table.Farm
	query       table.Query
	choice      table.Choice
	chosen      string // reason for the chosen backend
}

// clients reports the number of clients if the farm limits it.
func (x *explainer) clients() {
	f := x.farm
	if f.ClientLimit == nil {
		return
	}
	taken := f.ClientLimit.Taken()
	switch {
	case taken < f.MaxClients:
		x.Found(table.StepClients, "%d of %d", taken, f.MaxClients)
	case f.Refuses:
		x.Found(table.StepClients, "%d of %d: connections of others are told 503", taken, f.MaxClients)
	default:
		x.Found(table.StepClients, "%d of %d: connections of others wait", taken, f.MaxClients)
	}
}

// notSecure explains plain HTTP on a farm with TLS.
func (x *explainer) notSecure() {
	secured := x.farm.TLS
	x.Refuse(table.StepTLS, secured.PlainStatus, "the farm speaks TLS, this is plain HTTP")
	if secured.PlainLocation != "" {
		x.Result.Outcome, x.Result.Location = explain.Redirect, explain.Clip(secured.PlainLocation)
	}
}

// run processes the request.
func (x *explainer) run(a asked) {
	f := x.farm
	x.clients()
	r := new(http1.Request)
	r.Reset()
	n, err := r.Parse(a.head)
	switch {
	case err != nil:
		x.broken(table.StepRequest, err)
		return
	case n != len(a.head):
		x.Refuse(table.StepRequest, 400, "the head does not end where it should")
		return
	}
	x.Request = &explain.Request{Method: explain.Clip(string(r.Method.Of(r.Buf))), Host: explain.Clip(string(r.Host)), Path: explain.Clip(string(r.Path)),
		Trusted: len(f.Trusted) > 0 && table.Trusts(f.Trusted, a.from)}
	x.Pass(table.StepRequest)
	q := &x.query
	*q = table.Query{
		Farm: f, Req: r, Conn: loop.Dry().Imagine(netip.AddrPortFrom(a.from, 0), a.secure, a.name),
		Now: state.Clock(time.Now()), Scratch: new(rewrite.Scratch), AuthCache: guard.NewCache(x.engine.Checker), Trail: &x.Trail,
	}
	q.Scratch.Observe(&x.Trail)
	p := q.Plan()
	for _, rd := range r.Readings {
		x.Request.Readings = append(x.Request.Readings, explain.Clip(string(rd.Target)))
	}
	if string(r.Sent) != string(r.Path) && x.Result.Step != string(table.StepPath) {
		x.Request.Sent = explain.Clip(string(r.Sent))
	}
	switch p.Outcome {
	case table.OutcomeChallenge:
		x.Found(table.StepChallenge, "it asks for a token of an order for a certificate")
		x.Result = explain.Result{Outcome: explain.Answer, Status: 200, Reason: "the engine answers challenges of certification authorities", Step: string(table.StepChallenge)}
	case table.OutcomeRedirect:
		x.Result.Outcome, x.Result.Status, x.Result.Location = explain.Redirect, p.Service.Redirect.Code, explain.Clip(string(q.Text))
		x.Result.Reason = "the service redirects"
	case table.OutcomeForward:
		if farm := p.Service.DNSFarm; farm != "" {
			x.Result = explain.Result{Outcome: explain.Answer, Status: 200, Service: p.Service.Name, Reason: "the gslb farm " + farm + " answers what is asked (RFC 8484)"}
			return
		}
		x.forward(p.Service, a.answer)
	}
}

// broken reports an invalid request, possibly after rules changed it.
func (x *explainer) broken(at table.Step, err error) {
	_, status, reason := rejected.Classify(err)
	x.Refuse(at, status, reason)
}

// forward selects the backend and explains the treatment of its response.
func (x *explainer) forward(found *table.Service, answer []byte) {
	q, sv := &x.query, found.Rehearsal()
	x.EnterService(sv, q.Req.Path)
	head, out, err := x.rewrite(sv)
	if err != nil {
		x.broken(table.StepRules, err)
		return
	}
	x.LeaveService(sv)
	held := x.recall(found, sv)
	i, ok := x.choose(sv)
	x.persistence(found, held, i, ok)
	x.insertedCookie(sv, i, ok)
	x.balance(found, i, ok)
	if !ok {
		x.unserved(sv)
		return
	}
	b := &sv.Backends[i]
	x.Head = x.MaskedHead(out.Address(new([]byte), head, b))
	x.Result = explain.Result{Outcome: explain.Forward, Service: sv.Name, Backend: &b.Number, Address: b.Origin, Decision: x.choice.Why.String(), Reason: x.chosen}
	if answer != nil {
		x.respond(sv, answer)
	}
}

// respond explains the treatment of a response head.
func (x *explainer) respond(sv *table.Service, head []byte) {
	r, err := parseAnswer(head, sv.Leniency)
	if err == nil {
		_, err = r.Body(x.query.Req.Verb == http1.VerbHEAD)
	}
	if err != nil {
		x.Refuse(table.StepResponse, 502, "the response is rejected: "+reasonOf(err))
		return
	}
	if err := x.Answered(sv, r); err != nil {
		x.Refuse(table.StepRules, 502, "rules make it an answer that is not passed on: "+err.Error())
	}
}

// reasonOf returns the reason of an http1 error, as logged.
func reasonOf(err error) string {
	if why, ok := errors.AsType[*http1.Error](err); ok {
		return why.Reason
	}
	return err.Error()
}

// rewrite returns the head for the backend.
func (x *explainer) rewrite(sv *table.Service) (head []byte, out *table.Outgoing, err error) {
	q := &x.query
	told := table.Told{Proto: table.ProtoHTTP}
	if q.Conn.Secured() {
		told.Proto = table.ProtoHTTPS
	}
	if t := x.farm.TLS; t != nil && t.TellsClients {
		told.Certificate = table.CertificateLines(q.Conn.TLS())
	}
	if x.farm.Recording.ID != farm.RequestIDOff {
		told.ID = q.AppendID(nil, accesslog.NewIDs())
	}
	q.Invites()
	out = new(table.Outgoing)
	if err := out.Revise(q, sv, &x.choice, &told); err != nil {
		return nil, nil, err
	}
	return out.Append(nil, q), out, nil
}

// choose picks a backend, unless queued exchanges go first. A client whose own backend has
// neither room nor a place in its queue is treated as one without a backend of its own.
func (x *explainer) choose(sv *table.Service) (int, bool) {
	if sv.QueueLength > 0 && sv.Queue.Len() > 0 && !x.passes(sv) {
		return -1, false
	}
	i, ok := x.choice.Pick(sv)
	if !ok && x.choice.Waits(sv) && x.own(sv).Queue.Len() >= sv.QueueLength {
		x.choice.Roams = true
		i, ok = x.choice.Pick(sv)
	}
	return i, ok
}

// passes reports whether the client need not wait behind those in the queue of the service,
// because its own backend has room and nobody waits for that.
func (x *explainer) passes(sv *table.Service) bool {
	x.choice.Hold(sv)
	if !x.choice.Waits(sv) {
		return false
	}
	waiting := x.own(sv).Queue.Len()
	x.choice.Roams = waiting >= sv.QueueLength
	x.choice.Turned = waiting == 0 && !sv.Picker.Full(x.choice.Full-1)
	return x.choice.Turned
}

// own returns the client's own backend, for which it waits.
func (x *explainer) own(sv *table.Service) *table.Backend { return &sv.Backends[x.choice.Full-1] }

// oneTries describes attempts to reach down backends.
const oneTries = "while none is usable one request at a time tries one that is down"

// unserved explains the outcome without a usable backend.
func (x *explainer) unserved(sv *table.Service) {
	waiting := sv.Queue.Len()
	switch {
	case x.choice.Waits(sv):
		own := x.own(sv)
		x.Result.Outcome, x.Result.Step = explain.Wait, string(table.StepBackends)
		why := "has no room"
		if !sv.Picker.Full(x.choice.Full - 1) {
			why = "has room, but others wait for it"
		}
		x.Result.Reason = fmt.Sprintf("backend %d of the client %s: %s, and then get another", own.Number, why, waitIn(sv, own.Queue))
	case sv.Picker.Attemptable():
		x.Refuse(table.StepBackends, 503, "no backend of the service can be used now; "+oneTries)
	case sv.QueueLength == 0 || !x.choice.MayWait(sv):
		x.Refuse(table.StepBackends, 503, "no backend of the service can be used now")
	case waiting >= sv.QueueLength:
		x.Refuse(table.StepBackends, 503, fmt.Sprintf("no backend has room, and the queue is full: %d wait", waiting))
	default:
		x.Result.Outcome, x.Result.Step = explain.Wait, string(table.StepBackends)
		x.Result.Reason = "no backend has room: " + waitIn(sv, sv.Queue)
	}
}

// waitIn describes a wait in a queue of the service.
func waitIn(sv *table.Service, q *state.Queue) string {
	return fmt.Sprintf("it would wait %d seconds at most, with %d ahead of it in a queue for %d",
		sv.QueueTimeout/int64(time.Second), q.Len(), sv.QueueLength)
}
