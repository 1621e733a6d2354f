package table

import (
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/l7/state"
)

// View is what the service makes of its sessions.
func (sv *Service) View() session.View {
	v := session.View{Table: sv.Sessions, TTL: sv.Persist.TTL, Backends: make([]session.Member, len(sv.Backends))}
	for i := range sv.Backends {
		b := &sv.Backends[i]
		v.Backends[i] = session.Member{ID: b.ID, Cut: b.Mode == farm.MaintenanceCut, Static: b.statics}
	}
	return v
}

// DropCut removes the sessions of backends that were cut since the table
// before: unlike drain, cut keeps none but the static ones.
func (t *Table) DropCut(before *Table) {
	for _, f := range t.Farms {
		for i := range f.Services {
			s := &f.Services[i]
			for j := range s.Backends {
				b := &s.Backends[j]
				old := before.Backends[b.ID]
				if b.Mode == farm.MaintenanceCut && s.Sessions != nil && (old == nil || old.Mode != farm.MaintenanceCut) {
					s.Sessions.DropBackend(b.ID)
				}
			}
		}
	}
}

// Fix makes the static sessions those of the configuration.
func (t *Table) Fix(r *state.Registry) {
	for _, f := range t.Farms {
		for i := range f.Services {
			if s := &f.Services[i]; s.Sessions != nil {
				r.Sessions.Of(s.kept).Fix(s.View().Backends)
			}
		}
	}
}

// sweepBudget is how many sessions of a service one sweep looks at.
const sweepBudget = 512

// Sweep forgets some of the sessions that expired, a few of each service.
func (t *Table) Sweep() {
	now := session.Now()
	for _, f := range t.Farms {
		for i := range f.Services {
			if s := &f.Services[i]; s.Sessions != nil {
				s.Sessions.Sweep(now, s.Persist.TTL, sweepBudget)
			}
		}
	}
}
