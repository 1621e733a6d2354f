package api

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/farmstate"
	"github.com/sluicelb/sluice/mgmt/resolve"
)

// Resolved tells what is known of host names; *resolve.Follower does.
type Resolved interface {
	Look(q resolve.Question) (resolve.State, bool)
}

// Resolution is how a backend got its address from a host name.
type Resolution struct {
	Resolve   string     `json:"resolve" enum:"first,all,srv" doc:"What the name stands for"`
	Name      string     `json:"name"`
	Of        *int       `json:"of,omitempty" doc:"Number of the backend whose name gave this one: it is changed there"`
	Addresses []string   `json:"addresses" doc:"That are in use"`
	Told      *time.Time `json:"told,omitempty" doc:"When the name server told them last; absent when nobody did since the start"`
	Age       *int64     `json:"age,omitempty" doc:"Seconds since then"`
	TTL       *int64     `json:"ttl,omitempty" doc:"Seconds for which the name server says that they hold"`
	Problem   string     `json:"problem,omitempty" doc:"Why the name is not resolved at the moment; the last addresses are kept"`
}

// resolution is that of a backend with a host name, nil for others.
func (s *Server) resolution(g farm.Group, i int) *Resolution {
	list := g.Backends()
	b := &list[i]
	if !b.Named() {
		return nil
	}
	out := &Resolution{Resolve: farm.ResolveFirstWord, Name: b.Host, Addresses: []string{}}
	asked := b
	switch {
	case b.Of != 0:
		if number, is := partOf(g, b); is {
			asked, out.Of = &list[g.Position(number)], &number
		}
		out.Name = asked.Host
		out.Addresses = append(out.Addresses, b.Addr.String())
	case b.Spreads():
		for _, part := range g.Parts(b.ID) {
			if !part.Left {
				out.Addresses = append(out.Addresses, resolve.Target{Addr: part.Addr, Port: part.Port}.String())
			}
		}
	case b.Addr.IsValid():
		out.Addresses = append(out.Addresses, b.Addr.String())
	}
	if asked.Spreads() {
		out.Resolve = string(asked.Resolve)
	}
	if s.deps.Resolved == nil {
		return out
	}
	state, known := s.deps.Resolved.Look(apply.QuestionOf(asked))
	if !known {
		return out
	}
	if out.Problem = state.Problem; !state.Answered.IsZero() {
		age, ttl := max(0, int64(s.deps.Now().Sub(state.Answered).Seconds())), int64(state.TTL.Seconds())
		out.Told, out.Age, out.TTL = &state.Answered, &age, &ttl
	}
	return out
}

// nameProblem says why a backend with a host name gets no traffic.
func nameProblem(b *farm.Backend, r *Resolution) string {
	switch {
	case r == nil || b.Maintenance != farm.MaintenanceOff && !b.Left:
		return ""
	case b.Left:
		return fmt.Sprintf("%s has this address no more: its connections may end", r.Name)
	case len(r.Addresses) > 0:
		return ""
	case r.Problem != "":
		return fmt.Sprintf("%s has no address: %s", r.Name, r.Problem)
	}
	return r.Name + " has no address yet"
}

// partOf is the number of the backend whose name gave this one, if one did.
func partOf(g farm.Group, b *farm.Backend) (number int, is bool) {
	list := g.Backends()
	for k := range list {
		if b.Of != 0 && list[k].ID == b.Of {
			return g.Number(k), true
		}
	}
	return 0, false
}

// changeable refuses the change of a backend that was made of a name.
func (b backendAt) changeable(g farm.Group, of *farm.Backend) error {
	number, is := partOf(g, of)
	if !is {
		return nil
	}
	return badRequest("the %s is one of the addresses of a name: change backend %d, whose name it is", b, number)
}

// resolved adds to an explanation what the engine does not know: what names the
// backends got their addresses from, and which of them never answer.
func (s *Server) resolved(f *farm.Farm, e *explain.Explanation) {
	if e == nil || e.Balance == nil {
		return
	}
	for _, g := range f.Groups() {
		if g.OfService() && g.Name() != e.Result.Service {
			continue
		}
		e.Balance.Backends = slices.DeleteFunc(e.Balance.Backends, func(b explain.Backend) bool {
			at := g.Position(b.ID)
			return at >= 0 && g.Backends()[at].Spreads() // those at its addresses are there
		})
		for k := range e.Balance.Backends {
			out := &e.Balance.Backends[k]
			at := g.Position(out.ID)
			if at < 0 {
				continue
			}
			b := &g.Backends()[at]
			if silent := s.deps.Silent(b.ID); silent != "" {
				out.Reason += "; it " + silent
			}
			r := s.resolution(g, at)
			if r == nil {
				continue
			}
			out.Name = &explain.Name{Name: r.Name, Age: r.Age, Problem: r.Problem}
			if !b.Addr.IsValid() {
				out.Address, out.Status, out.Maintenance = r.Name, string(farmstate.In(g, at, s.deps.Health)), ""
				out.Reason = nameProblem(b, r)
			}
		}
	}
}
