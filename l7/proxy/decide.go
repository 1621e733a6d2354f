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
}

// decide says which service takes an exchange and how. It is a pure function
// of the table and the head.
func decide(q *query) decision {
	f, r := q.farm, q.req
	if !r.Verb.In(f.verbs) {
		return decision{outcome: outcomeRefuse, refused: refusedMethod}
	}
	if f.limits.any {
		if no := f.limits.check(r); no != nil {
			return decision{outcome: outcomeRefuse, refused: no}
		}
	}
	if f.remove != nil {
		f.remove.Remove(&r.Head, q.scratch)
	}
	i := f.routes.Match(r.Host, r.Path, q)
	if i < 0 {
		return decision{}
	}
	s := &f.services[i]
	if s.redirect != nil {
		return decision{service: s, outcome: outcomeRedirect}
	}
	return decision{service: s, outcome: outcomeForward}
}

// Holds implements route.Conditions.
func (q *query) Holds(rule int) bool {
	require, deny := q.farm.services[rule].conditions.unmet(&q.req.Head, q.scratch)
	return require < 0 && deny < 0
}
