// Package numbers implements the API resources of statistics: counters of farms and
// backends, the load of the machine, their history, and graphs.
package numbers

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/farmstate"
	"github.com/sluicelb/sluice/mgmt/recorder"
	"github.com/sluicelb/sluice/sysnet/usage"
)

// Deps are the dependencies of the operations. Sessions, Traffic, Usage and Numbers may be
// nil.
type Deps struct {
	State    *state.Board
	Counters Counters
	Health   farmstate.Health
	// Sessions lists the persistence sessions of a farm, or of one service. The list may be
	// truncated; total is the full number. It is nil if the engine cannot be queried;
	// statistics then show no sessions.
	Sessions func(ctx context.Context, f *farm.Farm, service string) (list []state.Session, total int, err error)
	// Traffic returns the kernel's counters of kernel farms.
	Traffic func(ctx context.Context) (stats.Traffic, error)
	// Usage returns the current load of the machine; nil disables its operations. Numbers
	// stores statistics of the machine and the farms; nil: none are stored.
	Usage   func() usage.Sample
	Links   func() []Link // the machine's network interfaces
	Numbers Numbers
	// Latency returns the recent duration of a farm's exchanges; nil: unknown.
	Latency func(farm uint32) (recorder.Latency, bool)
	Log     *slog.Logger
	Now     func() time.Time
}

// Resource implements the operations. Use New to make one.
type Resource struct {
	deps       Deps
	processors processors
}

// New returns the resource over deps.
func New(deps Deps) *Resource {
	s := &Resource{deps: deps}
	if deps.Usage != nil {
		s.processors.before = deps.Usage()
	}
	return s
}

// Extend implements api.Extension: the impact of a change is estimated from the current load.
func (s *Resource) Extend(host *rest.Host) {
	host.Load = func(c *rest.Call) rest.Load { return NewLoad(s.deps, c) }
}

// Operations returns the operations of the resource.
func (s *Resource) Operations() []*rest.Operation {
	return slices.Concat(s.statisticsOperations(), s.machineOperations(), s.seriesOperations(), s.graphOperations())
}
