// Package headroom implements the API resources of spare capacity (mgmt/headroom) and of
// rehearsals of failures (mgmt/rehearsal).
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

// Learned returns the estimates of backends; *headroom.Book implements it.
type Learned interface {
	Of(f *farm.Farm, b *farm.Backend, now time.Time) headroom.Known
}

// Deps are the dependencies of the operations. Without Learned there are none; Traffic may
// be nil.
type Deps struct {
	Learned  Learned
	Health   farmstate.Health
	Counters interface{ SumBackend(id uint32) stats.Backend }
	// Traffic returns the kernel's counters of kernel farms.
	Traffic func(ctx context.Context) (stats.Traffic, error)
	Log     *slog.Logger
	Now     func() time.Time
}

// Resource implements the operations. Use New to make one.
type Resource struct {
	deps  Deps
	stage stage
}

// New returns the resource over deps.
func New(deps Deps) *Resource { return &Resource{deps, newStage()} }

// Operations returns the operations of the resource.
func (s *Resource) Operations() []*rest.Operation {
	if s.deps.Learned == nil {
		return nil
	}
	return []*rest.Operation{
		rest.Op(rest.Get, "/headroom", rbac.Open, "List the headroom of all farms", s.all),
		rest.Op(rest.Get, "/farms/{farm}/headroom", rbac.Open, "List the headroom of a farm", s.one),
		rest.Op(rest.Post, "/rehearsals", rbac.Open, "Simulate the failure of backends", s.rehearse).Asks().Body(question{}),
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

// moment holds the data of one point in time.
type moment struct {
	*Resource
	now    time.Time
	kernel stats.Traffic
	silent bool // netd did not respond
}

// moment queries netd once, if one of the farms is a kernel farm.
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

// known returns the estimate of a backend, or its current connections if its latency cannot
// be measured.
func (m *moment) known(f *farm.Farm, b *farm.Backend) headroom.Known {
	if headroom.Measurable(f) {
		return m.deps.Learned.Of(f, b, m.now)
	}
	if f.InKernel() {
		return headroom.Known{Counted: !m.silent, Load: float64(m.kernel.Backends[b.ID].Established)}
	}
	return headroom.Known{Counted: true, Load: float64(m.deps.Counters.SumBackend(b.ID).Established)}
}
