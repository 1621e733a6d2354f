// Package traffic is the part of the API about what farms carry: sessions of
// persistence, connections of l4xnat farms, exchanges as they end.
package traffic

import (
	"slices"

	"github.com/sluicelb/sluice/mgmt/accesslog"
	"github.com/sluicelb/sluice/mgmt/api/rest"
)

// Deps is what the operations need; all may be nil.
type Deps struct {
	// SessionTable lists and changes the sessions of single services; without it
	// there is nothing about that in the API.
	SessionTable SessionTable
	// Tracked and Forwarded are the connections of l4xnat farms: those the
	// kernel carries, and those the engine does.
	Tracked, Forwarded ConnectionTable
	// Watch shows exchanges of a farm as they end; nil when that is not possible.
	Watch func(farm uint32, filter accesslog.Filter) (*accesslog.Watcher, error)
	// Tally counts the questions of a gslb farm; nil when that is not possible.
	Tally func(farm uint32) (*accesslog.Tally, error)
}

// Resource answers the operations; make it with New.
type Resource struct {
	deps     Deps
	watchers rest.Seats
}

// New returns the resource over deps.
func New(deps Deps) *Resource {
	return &Resource{deps: deps, watchers: rest.Seats{Most: accesslog.MaxWatchers}}
}

// Operations lists what can be done.
func (s *Resource) Operations() []*rest.Operation {
	return slices.Concat(s.sessionOperations(), s.connectionOperations(), s.traceOperations(), s.questionOperations())
}
