package table

import (
	"bytes"
	"net/netip"
	"unsafe"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/guard"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/rewrite"
)

// Outcome is what happens to a request.
type Outcome uint8

// The outcomes.
const (
	OutcomeForward   Outcome = iota // the service's backends serve it
	OutcomeRefuse                   // it is answered with an error
	OutcomeRedirect                 // the service redirects it
	OutcomeChallenge                // it is a certification authority's, see Challenges
)

// Plan is what happens to a request, and why.
type Plan struct {
	Outcome  Outcome
	Service  *Service        // nil when none was found
	Refused  *rejected.Cause // why it is refused
	Lines    []byte          // field lines of that answer; good until the next plan
	Wait     int64           // after how many nanoseconds it would pass; 0 when time changes nothing
	Location http1.Value     // of a redirect
	// Unchecked says that a password is to be checked before the request is
	// forwarded; Digest stands for it.
	Unchecked bool
	Digest    guard.Digest
}

// Query is a request a plan is made for, and what that needs. The head must be
// whole. One belongs to a loop and is used for all of its requests.
type Query struct {
	Farm      *Farm            // it is for
	Req       *http1.Request   // as http1 read it
	Conn      *loop.Conn       // of the client
	Now       int64            // on the clock all loops share, see state.Clock
	Scratch   *rewrite.Scratch // of the loop
	AuthCache *guard.Cache     // knows passwords that were checked
	Address   []byte           // scratch: of the client, as text
	Text      []byte           // scratch: the user, then the Location
	Trail     *Trail           // nil but where the request is explained

	made    Plan          // the last
	forward http1.Forward // what is added to the head of the request
	extra   []byte        // scratch: field lines
}

// Plan finds what happens to the request. What it finds on the way it tells the
// trail: a new step does so by refuse and pass. The fields the farm's rules take
// out are marked as removed in the head.
//
// The result is good until the next call: a plan is too large to be copied for each
// request.
func (q *Query) Plan() *Plan {
	f, r, p := q.Farm, q.Req, &q.made
	p.Outcome, p.Service, p.Refused, p.Lines, p.Wait, p.Unchecked = OutcomeForward, nil, nil, nil, 0, false
	if f.Challenges != nil && f.Challenges.asks(r) {
		p.Outcome = OutcomeChallenge
		return p
	}
	q.trust()
	switch {
	case f.misdirected(q.Conn, r):
		p.Refuse(q, stepHost, refusedMisdirected)
		return p
	case !q.allow(p):
		return p
	}
	p.Service = q.route()
	if p.Service == nil {
		p.Refuse(q, stepServices, refusedNoService)
		return p
	}
	if q.admit(p); p.Refused == nil && p.Service.Redirect != nil {
		q.redirect(p)
	}
	return p
}

// refusedMisdirected tells a client to come back on another connection
// (RFC 9110, section 15.5.20).
var refusedMisdirected = rejected.Because(rejected.BadHost, 421, "host of another certificate than the connection's")

// misdirected reports whether a request of a strict farm came on a connection
// that was made for a name with another certificate.
func (f *Farm) misdirected(c *loop.Conn, r *http1.Request) bool {
	if f.TLS == nil || f.TLS.names == nil || len(r.Host) == 0 {
		return false
	}
	t := c.TLS()
	if t == nil {
		return false
	}
	host := bytes.Trim(WithoutPort(r.Host), "[]")
	name := unsafe.String(unsafe.SliceData(host), len(host)) // a view: nothing keeps it
	return name != t.ServerName && !f.TLS.names.Same(t.ServerName, name)
}

// trust takes the word of a peer the farm trusts.
func (q *Query) trust() {
	f := q.Farm
	if len(f.Trusted) == 0 || !Trusts(f.Trusted, q.Conn.Peer().Addr()) {
		return
	}
	q.Req.Trust()
	if f.TLS != nil && f.TLS.asksClients {
		q.Req.Distrust(http1.KnownXSSL)
	}
}

// allow asks the farm, and reports whether it takes the request.
func (q *Query) allow(p *Plan) bool {
	f, r := q.Farm, q.Req
	if !r.Verb.In(f.verbs) {
		p.Refuse(q, stepMethod, refusedMethod)
		return false
	}
	q.pass(stepMethod)
	if f.Limits.any {
		if no := f.Limits.check(r); no != nil {
			p.Refuse(q, stepLimits, no)
			return false
		}
		q.pass(stepLimits)
	}
	return true
}

// route finds the service; nil when none matches.
func (q *Query) route() *Service {
	f, r := q.Farm, q.Req
	if f.Remove != nil {
		f.Remove.Remove(&r.Head, q.Scratch)
	}
	i := f.routes.Match(r.Host, r.Path, q)
	if q.Trail != nil {
		q.Trail.routed(q, i)
	}
	if i < 0 {
		return nil
	}
	s := &f.Services[i]
	if s.share.end > 0 {
		s = q.draw(s)
	}
	return s
}

// admit asks the service: its limit, and which clients it lets in.
func (q *Query) admit(p *Plan) {
	if q.Trail != nil {
		q.Trail.Result.Service = p.Service.Name
	}
	if l := p.Service.limit; l != nil {
		if p.Wait = l.take(q); p.Wait > 0 {
			p.Refuse(q, stepRate, refusedRate)
			return
		}
		q.pass(stepRate)
	}
	if a := p.Service.Auth; a != nil {
		if a.admit(q, p); p.Refused == nil {
			q.pass(StepAuth)
		}
	}
}

// redirect finds where the service redirects the request to.
func (q *Query) redirect(p *Plan) {
	q.Text = p.Service.Redirect.appendTo(q.Text[:0], q.Req.Host, q.Req.Path, q.Scratch)
	var ok bool
	if p.Location, ok = http1.CheckValue(q.Text); !ok {
		p.Refuse(q, stepRedirect, refusedRedirect)
		return
	}
	p.Outcome = OutcomeRedirect
}

// Refuse makes the plan not to take the request, for what was found at a step.
func (p *Plan) Refuse(q *Query, at Step, no *rejected.Cause) {
	if q.Trail != nil {
		q.Trail.Refuse(at, no.Status, no.Reason)
	}
	p.Outcome, p.Refused = OutcomeRefuse, no
}

// pass tells the trail that a step was passed.
func (q *Query) pass(at Step) {
	if q.Trail != nil {
		q.Trail.Pass(at)
	}
}

// Holds implements route.Conditions.
func (q *Query) Holds(rule int) bool {
	require, deny := q.Farm.Services[rule].conditions.unmet(&q.Req.Head, q.Scratch)
	return require < 0 && deny < 0
}

// Client is the address the request came from, see RealClient.
func (q *Query) Client() netip.Addr { return RealClient(q.Farm, q.Conn.Peer(), q.Req).Addr() }

// peer is the client's address as text.
func (q *Query) peer() []byte {
	q.Address = q.Conn.Peer().Addr().AppendTo(q.Address[:0])
	return q.Address
}
