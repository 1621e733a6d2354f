// Package headroom is the part of the API about what backends can still take
// (mgmt/headroom), and who would take over from some of them (mgmt/rehearsal).
package headroom

import (
	"context"
	"log/slog"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/farmstate"
	"github.com/sluicelb/sluice/mgmt/headroom"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// Learned tells what is known of backends; *headroom.Book does.
type Learned interface {
	Of(f *farm.Farm, b *farm.Backend, now time.Time) headroom.Known
}

// Deps is what the operations need. Without Learned there are none; Traffic may be nil.
type Deps struct {
	Learned  Learned
	Health   farmstate.Health
	Counters interface{ SumBackend(id uint32) stats.Backend }
	// Traffic tells what the kernel counted of the farms it carries.
	Traffic func(ctx context.Context) (stats.Traffic, error)
	Log     *slog.Logger
	Now     func() time.Time
}

// Resource answers the operations; make it with New.
type Resource struct {
	deps  Deps
	stage stage
}

// New returns the resource over deps.
func New(deps Deps) *Resource { return &Resource{deps, newStage()} }

// Operations lists what can be done.
func (s *Resource) Operations() []*rest.Operation {
	if s.deps.Learned == nil {
		return nil
	}
	return []*rest.Operation{
		rest.Op(rest.Get, "/headroom", rbac.Open, "List how much more backends can take", s.all),
		rest.Op(rest.Get, "/farms/{farm}/headroom", rbac.Open, "List how much more the backends of a farm can take", s.one),
		rest.Op(rest.Post, "/rehearsals", rbac.Open, "Rehearse who takes over from backends, and whether it fits", s.rehearse).Asks().Body(question{}),
	}
}

func (s *Resource) all(c *rest.Call) (rest.List[BackendHeadroom], error) { return s.list(c, c.Farms()) }

func (s *Resource) one(c *rest.Call) (rest.List[BackendHeadroom], error) {
	f, err := c.Farm()
	if err != nil {
		return rest.List[BackendHeadroom]{}, err
	}
	return s.list(c, []farm.Farm{*f})
}

func (s *Resource) list(c *rest.Call, farms []farm.Farm) (rest.List[BackendHeadroom], error) {
	m := s.moment(c, farms)
	out := []BackendHeadroom{}
	for i := range farms {
		for _, g := range farms[i].Groups() {
			if !g.Redirects() && g.Farm.Carries() != farm.TrafficQueries {
				out = append(out, m.items(state.Aliases(c), g)...)
			}
		}
	}
	return rest.NewList(c.Summary(), out), nil
}

// moment is what is known at one time.
type moment struct {
	*Resource
	now    time.Time
	kernel stats.Traffic
	silent bool // netd does not answer
}

// moment asks netd once, if the kernel carries one of the farms.
func (s *Resource) moment(c *rest.Call, farms []farm.Farm) *moment {
	m := &moment{Resource: s, now: s.deps.Now()}
	for i := range farms {
		if !farms[i].InKernel() || s.deps.Traffic == nil {
			continue
		}
		var err error
		if m.kernel, err = s.deps.Traffic(c.Context); err != nil {
			m.silent = true
			s.deps.Log.Debug("connections in the kernel are not known", "cause", err)
		}
		break
	}
	return m
}

// known is what is known of a backend. Of one whose latency cannot be measured that is
// how much it has.
func (m *moment) known(f *farm.Farm, b *farm.Backend) headroom.Known {
	if headroom.Measurable(f) {
		return m.deps.Learned.Of(f, b, m.now)
	}
	if f.InKernel() {
		return headroom.Known{Counted: !m.silent, Load: float64(m.kernel.Backends[b.ID].Established)}
	}
	return headroom.Known{Counted: true, Load: float64(m.deps.Counters.SumBackend(b.ID).Established)}
}
