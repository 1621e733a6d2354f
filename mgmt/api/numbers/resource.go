// Package numbers is the part of the API about numbers: counters of farms and
// backends, what the machine does, both over time, and graphs of that.
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

// Deps is what the operations need. Sessions, Traffic, Usage and Numbers may be nil.
type Deps struct {
	State    *state.Board
	Counters Counters
	Health   farmstate.Health
	// Sessions lists persistence sessions of a farm, of one service when it is
	// named, and says how many there are: the list may be cut. nil when the
	// engine cannot be asked for them; statistics then show none.
	Sessions func(ctx context.Context, f *farm.Farm, service string) (list []state.Session, total int, err error)
	// Traffic tells what the kernel counted of the farms it carries.
	Traffic func(ctx context.Context) (stats.Traffic, error)
	// Usage is what the machine does at this moment; without it there is nothing about
	// that in the API. Numbers keeps what it and farms did; nil: nothing does.
	Usage   func() usage.Sample
	Links   func() []Link // the network interfaces of the machine
	Numbers Numbers
	// Latency tells how long exchanges of a farm took just now; nil: nobody knows.
	Latency func(farm uint32) (recorder.Latency, bool)
	Log     *slog.Logger
	Now     func() time.Time
}

// Resource answers the operations; make it with New.
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

// Operations lists what can be done.
func (s *Resource) Operations() []*rest.Operation {
	return slices.Concat(s.statisticsOperations(), s.machineOperations(), s.seriesOperations(), s.graphOperations())
}
