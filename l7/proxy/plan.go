package proxy

import (
	"net/netip"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/guard"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/refused"
	"github.com/sluicelb/sluice/l7/rewrite"
)

// outcome is what becomes of a request.
type outcome uint8

const (
	outcomeForward   outcome = iota // the service's backends serve it
	outcomeRefuse                   // it is answered with an error
	outcomeRedirect                 // the service redirects it
	outcomeChallenge                // it is a certification authority's, see challenges
)

// plan is what becomes of a request, and why.
type plan struct {
	outcome  outcome
	service  *service       // nil when none was found
	refused  *refused.Cause // why it is refused
	lines    []byte         // field lines of that answer; good until the next plan
	wait     int64          // after how many nanoseconds it would pass; 0 when time changes nothing
	location http1.Value    // of a redirect
	// unchecked says that a password is to be checked before the request is
	// forwarded; digest stands for it.
	unchecked bool
	digest    guard.Digest
}

// query is a request a plan is made for, and what that needs. The head must be
// whole. One belongs to a loop and is used for all of its requests.
type query struct {
	farm    *farmTable
	req     *http1.Request
	conn    *loop.Conn // of the client
	now     int64      // on the clock all loops share
	scratch *rewrite.Scratch
	gate    *guard.Gate
	address []byte // of the client, as text
	text    []byte // scratch: the user, then the Location
	trail   *trail // nil but where the request is explained
}

// plan finds what becomes of the request. What it finds on the way it tells the
// trail: a new step does so by refuse and pass. The fields the farm's rules take
// out are marked as removed in the head.
func (q *query) plan() (p plan) {
	f, r := q.farm, q.req
	if f.challenges != nil && f.challenges.asks(r) {
		return plan{outcome: outcomeChallenge}
	}
	q.trust()
	if f.misdirected(q.conn, r) {
		return q.refuse(stepHost, refusedMisdirected)
	}
	if no := q.allow(); no.refused != nil {
		return no
	}
	p.service = q.route()
	if p.service == nil {
		return q.refuse(stepServices, refusedNoService)
	}
	if q.admit(&p); p.refused != nil {
		return p
	}
	if p.service.redirect != nil {
		q.redirect(&p)
	}
	return p
}

// trust takes the word of a peer the farm trusts.
func (q *query) trust() {
	f := q.farm
	if len(f.trusted) == 0 || !trusts(f.trusted, q.conn.Peer().Addr()) {
		return
	}
	q.req.Trust()
	if f.tls != nil && f.tls.asksClients {
		q.req.Distrust(http1.KnownXSSL)
	}
}

// allow asks the farm.
func (q *query) allow() (p plan) {
	f, r := q.farm, q.req
	if !r.Verb.In(f.verbs) {
		return q.refuse(stepMethod, refusedMethod)
	}
	q.pass(stepMethod)
	if f.limits.any {
		if no := f.limits.check(r); no != nil {
			return q.refuse(stepLimits, no)
		}
		q.pass(stepLimits)
	}
	return p
}

// route finds the service; nil when none matches.
func (q *query) route() *service {
	f, r := q.farm, q.req
	if f.remove != nil {
		f.remove.Remove(&r.Head, q.scratch)
	}
	i := f.routes.Match(r.Host, r.Path, q)
	if q.trail != nil {
		q.trail.routed(q, i)
	}
	if i < 0 {
		return nil
	}
	s := &f.services[i]
	if s.share.end > 0 {
		s = q.draw(s)
	}
	return s
}

// admit asks the service: its limit, and whom it lets in.
func (q *query) admit(p *plan) {
	if q.trail != nil {
		q.trail.Result.Service = p.service.name
	}
	if l := p.service.limit; l != nil {
		if p.wait = l.take(q); p.wait > 0 {
			p.refuse(q, stepRate, refusedRate)
			return
		}
		q.pass(stepRate)
	}
	if a := p.service.auth; a != nil {
		if a.admit(q, p); p.refused == nil {
			q.pass(stepAuth)
		}
	}
}

// redirect finds where the service redirects the request to.
func (q *query) redirect(p *plan) {
	q.text = p.service.redirect.appendTo(q.text[:0], q.req.Host, q.req.Path, q.scratch)
	var ok bool
	if p.location, ok = http1.CheckValue(q.text); !ok {
		p.refuse(q, stepRedirect, refusedRedirect)
		return
	}
	p.outcome = outcomeRedirect
}

// refuse is the plan not to take the request.
func (q *query) refuse(at step, no *refused.Cause) (p plan) {
	p.refuse(q, at, no)
	return p
}

func (p *plan) refuse(q *query, at step, no *refused.Cause) {
	if q.trail != nil {
		q.trail.refuse(at, no.Status, no.Reason)
	}
	p.outcome, p.refused = outcomeRefuse, no
}

// pass tells who explains the plan that a step was passed.
func (q *query) pass(at step) {
	if q.trail != nil {
		q.trail.pass(at)
	}
}

// Holds implements route.Conditions.
func (q *query) Holds(rule int) bool {
	require, deny := q.farm.services[rule].conditions.unmet(&q.req.Head, q.scratch)
	return require < 0 && deny < 0
}

// client is who sent the request, see realClient.
func (q *query) client() netip.Addr { return realClient(q.farm, q.conn.Peer(), q.req).Addr() }

// peer is the client's address as text.
func (q *query) peer() []byte {
	q.address = q.conn.Peer().Addr().AppendTo(q.address[:0])
	return q.address
}
