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
)

// decision is what decide found.
type decision struct {
	service *service
	outcome outcome
}

// decide says which service takes an exchange and how. It is a pure function
// of the table and the head; the fields the farm's rules take out are marked as
// removed in the head.
func decide(f *farmTable, r *http1.Request, scratch *rewrite.Scratch) decision {
	if f.remove != nil {
		f.remove.Remove(&r.Head, scratch)
	}
	i := f.routes.Match(r.Host, r.Path)
	if i < 0 {
		return decision{}
	}
	s := &f.services[i]
	if s.redirect != nil {
		return decision{s, outcomeRedirect}
	}
	return decision{s, outcomeForward}
}
