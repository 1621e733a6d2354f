package proxy

import (
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rewrite"
)

// outcome is what is done with an exchange.
type outcome uint8

const (
	outcomeNone     outcome = iota // no service matches
	outcomeForward                 // the service's backends serve it
	outcomeRedirect                // the service redirects it
	outcomeRefuse                  // the farm does not take it
)

// decision is what decide found.
type decision struct {
	service *service
	refused *refused // why; set with outcomeRefuse
	outcome outcome
}

// query is what a decision is made of. The head must be whole; the fields the
// farm's rules take out are marked as removed in it.
type query struct {
	farm    *farmTable
	req     *http1.Request
	scratch *rewrite.Scratch
	trail   *trail // nil but where the decision is explained
}

// decide says which service takes an exchange and how. It is a pure function
// of the table and the head. What it finds on the way it tells the query's
// trail: a new step does so by refuse and pass.
func decide(q *query) decision {
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
	if f.remove != nil {
		f.remove.Remove(&r.Head, q.scratch)
	}
	i := f.routes.Match(r.Host, r.Path, q)
	if q.trail != nil {
		q.trail.routed(q, i)
	}
	if i < 0 {
		return decision{}
	}
	return forService(&f.services[i])
}

// forService is the decision for a service.
func forService(s *service) decision {
	if s.redirect != nil {
		return decision{service: s, outcome: outcomeRedirect}
	}
	return decision{service: s, outcome: outcomeForward}
}

// refuse is the decision not to take the exchange.
func (q *query) refuse(at step, no *refused) decision {
	if q.trail != nil {
		q.trail.refuse(at, no.status, no.reason)
	}
	return decision{outcome: outcomeRefuse, refused: no}
}

// pass tells who explains the decision that a step was passed.
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
