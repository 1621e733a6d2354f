package proxy

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
)

// share is the part of a service in a run: services next to each other in the
// list that have a weight. What the first of a run to match takes is divided
// among it and those behind it that match, too. A client that one of them knows
// by a session or a cookie stays there; others are drawn by weight, each
// request for itself. When all weights are 0 the first takes it.
type share struct {
	weight  int
	at, end int // the run from this service on; end is 0 when it is the last
}

// divide finds the runs.
func (f *farmTable) divide(list []farm.Service) {
	end := len(list)
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Split == nil {
			end = i
			continue
		}
		s := &f.services[i].share
		s.weight, s.at = int(*list[i].Split), i
		if end > i+1 {
			s.end = end
		}
	}
}

// draw chooses among the services that share the request; first is the one that
// matched.
func (q *query) draw(first *service) *service {
	f := q.farm
	drawn, total := first, 0
	var told []string
	for i := first.share.at; i < first.share.end; i++ {
		sv := &f.services[i]
		if sv != first && !f.routes.Also(i, first.share.at, q.req.Host, q.req.Path, q) {
			continue
		}
		if sv.knows(q) {
			if q.trail != nil {
				q.trail.found(stepSplit, "service %s: it knows the client by its session or cookie", sv.name)
			}
			return sv
		}
		if n := sv.share.weight; n > 0 {
			if total += n; rand.IntN(total) < n { // so that each is drawn n times in total
				drawn = sv
			}
		}
		if q.trail != nil {
			told = append(told, fmt.Sprintf("%s with weight %d", sv.name, sv.share.weight))
		}
	}
	if q.trail != nil {
		q.trail.found(stepSplit, "service %s, drawn by chance among %s", drawn.name, strings.Join(told, ", "))
	}
	return drawn
}

// knows reports whether the client of the request belongs to a backend of the
// service that may serve it.
func (sv *service) knows(q *query) bool {
	if sv.cookie != nil {
		if i := sv.cookie.find(&q.req.Head); i >= 0 && sv.backends[i].mode != modeCut {
			return true
		}
	}
	if sv.sessions == nil {
		return false
	}
	s, ok := sv.sessions.Peek(sv.sessionKey(q), session.Now(), sv.persist.ttl)
	if !ok {
		return false
	}
	i := sv.find(s.Backend)
	return i >= 0 && sv.backends[i].mode != modeCut
}
