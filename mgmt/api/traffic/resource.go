// Package traffic implements the API resources of live traffic: persistence sessions,
// connections of l4xnat farms, and exchanges as they end.
package traffic

import (
	"slices"

	"github.com/sluicelb/sluice/mgmt/accesslog"
	"github.com/sluicelb/sluice/mgmt/api/rest"
)

// Deps are the dependencies of the operations; all may be nil.
type Deps struct {
	// SessionTable lists and changes the sessions of single services; nil disables its
	// operations.
	SessionTable SessionTable
	// Tracked and Forwarded return the connections of l4xnat farms in the kernel and in the
	// engine.
	Tracked, Forwarded ConnectionTable
	// Watch streams exchanges of a farm as they end; nil: unavailable.
	Watch func(farm uint32, filter accesslog.Filter) (*accesslog.Watcher, error)
	// Tally counts the queries of a gslb farm; nil: unavailable.
	Tally func(farm uint32) (*accesslog.Tally, error)
}

// Resource implements the operations. Use New to make one.
type Resource struct {
	deps     Deps
	watchers rest.Seats
}

// New returns the resource over deps.
func New(deps Deps) *Resource {
	return &Resource{deps: deps, watchers: rest.Seats{Most: accesslog.MaxWatchers}}
}

// Operations returns the operations of the resource.
func (s *Resource) Operations() []*rest.Operation {
	return slices.Concat(s.sessionOperations(), s.connectionOperations(), s.traceOperations(), s.questionOperations())
}
