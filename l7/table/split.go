package table

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
)

// share is a service's part in a run of adjacent services with weights. A request that one
// of them matches is divided among it and the later ones in the run that match, too. A
// client with a session or cookie of one of them stays there. Others are drawn by weight,
// for each request. If all weights are 0, the first one gets the request.
type share struct {
	weight  int
	at, end int // the run from this service on; end is 0 for the last
}

// divide determines the runs.
func (f *Farm) divide(list []farm.Service) {
	end := len(list)
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Split == nil {
			end = i
			continue
		}
		s := &f.Services[i].share
		s.weight, s.at = int(*list[i].Split), i
		if end > i+1 {
			s.end = end
		}
	}
}

// draw selects among the services that share the request; first is the service that matched.
func (q *Query) draw(first *Service) *Service {
	f := q.Farm
	drawn, total := first, 0
	var told []string
	for i := first.share.at; i < first.share.end; i++ {
		sv := &f.Services[i]
		if sv != first && !f.routes.Also(i, first.share.at, q.Req.Host, q.Req.Path, q) {
			continue
		}
		if sv.knows(q) {
			if q.Trail != nil {
				q.Trail.Found(stepSplit, "service %s: it knows the client by its session or cookie", sv.Name)
			}
			return sv
		}
		if n := sv.share.weight; n > 0 {
			if total += n; rand.IntN(total) < n { // so that each is drawn with probability n / total
				drawn = sv
			}
		}
		if q.Trail != nil {
			told = append(told, fmt.Sprintf("%s with weight %d", sv.Name, sv.share.weight))
		}
	}
	if q.Trail != nil {
		q.Trail.Found(stepSplit, "service %s, drawn by chance among %s", drawn.Name, strings.Join(told, ", "))
	}
	return drawn
}

// knows reports whether the client belongs to a backend of the service that may serve it.
func (sv *Service) knows(q *Query) bool {
	if sv.Cookie != nil {
		if i := sv.Cookie.find(&q.Req.Head); i >= 0 && sv.Backends[i].Mode != farm.MaintenanceCut {
			return true
		}
	}
	if sv.Sessions == nil {
		return false
	}
	s, ok := sv.Sessions.Peek(sv.sessionKey(q), session.Now(), sv.Persist.TTL)
	if !ok {
		return false
	}
	i := sv.Find(s.Backend)
	return i >= 0 && sv.Backends[i].Mode != farm.MaintenanceCut
}
