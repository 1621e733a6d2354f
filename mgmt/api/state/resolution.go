package state

import (
	"fmt"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/resolve"
)

// Resolved reports the state of host names; *resolve.Follower implements it.
type Resolved interface {
	Look(q resolve.Question) (resolve.State, bool)
}

// Resolution describes how a backend got its address from a host name.
type Resolution struct {
	Resolve   string     `json:"resolve" enum:"first,all,srv" doc:"Resolution of the name"`
	Name      string     `json:"name"`
	Of        *int       `json:"of,omitempty" doc:"Number of the backend whose host name resolved to this one; change it there"`
	Addresses []string   `json:"addresses" doc:"Number in use"`
	Told      *time.Time `json:"told,omitempty" doc:"Time of the last successful resolution; absent if none since startup"`
	Age       *int64     `json:"age,omitempty" doc:"Seconds elapsed since then"`
	TTL       *int64     `json:"ttl,omitempty" doc:"TTL from the name server, in seconds"`
	Problem   string     `json:"problem,omitempty" doc:"Reason why the name cannot be resolved at the moment; the last addresses are kept"`
}

// Resolution returns that of a backend with a host name, nil for others.
func (s *Board) Resolution(g farm.Group, i int) *Resolution {
	list := g.Backends()
	b := &list[i]
	if !b.Named() {
		return nil
	}
	out := &Resolution{Resolve: farm.ResolveFirstWord, Name: b.Host, Addresses: []string{}}
	asked := b
	switch {
	case b.Of != 0:
		if number, is := rest.PartOf(g, b); is {
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

// NameProblem explains why a backend with a host name gets no traffic.
func NameProblem(b *farm.Backend, r *Resolution) string {
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
