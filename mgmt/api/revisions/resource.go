// Package revisions implements the API resources of the whole configuration: its document,
// its history, and the stream of changes.
package revisions

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/trial"
)

// Deps are the dependencies of the operations.
type Deps struct {
	State   *state.Board
	Applier Applier
	History History
	// Reload applies the start-up file again; nil if there is none. It returns
	// rest.ErrConfigFile if the file cannot be read.
	Reload func(ctx context.Context, by apply.Author) (apply.Result, error)
	// LocalAddrs lists the addresses of this machine. A VIP must be one of them.
	LocalAddrs func() []netip.Addr
	// Progress returns the measurements for the pending change; nil: there is no guard.
	Progress func() *trial.Progress
	// Serve responds to a request as if it had been sent alone. Its path lacks the base
	// path.
	Serve http.HandlerFunc
	Now   func() time.Time
}

// Applier applies whole documents; *apply.Applier implements it.
type Applier interface {
	Current() (*farm.Config, store.Revision)
	Replace(ctx context.Context, by apply.Author, comment string, expect uint64, cfg *farm.Config) (apply.Result, error)
	Merge(ctx context.Context, by apply.Author, comment string, expect uint64, part *farm.Config) (apply.Result, error)
	Plan(ctx context.Context, cfg *farm.Config) (apply.Result, error)
	Rollback(ctx context.Context, by apply.Author, comment string, expect, number uint64) (apply.Result, error)
	Transact(ctx context.Context, by apply.Author, comment string, expect uint64, do func(*apply.Draft) error) (apply.Result, error)
	Pending() *apply.Pending
	LastEnded() *apply.Ended
	Confirm(ctx context.Context, by apply.Author, revision uint64, reason string) error
	TakeBack(ctx context.Context, by apply.Author, revision uint64) (apply.Result, error)
}

// Resource implements the operations. Use New to make one.
type Resource struct {
	deps     Deps
	watchers rest.Seats
	statuses statuses
}

// New returns the resource over deps.
func New(deps Deps) *Resource {
	look := func() func(*farm.Farm) (farm.Status, string) { return deps.State.Now(nil).Look }
	return &Resource{deps: deps, watchers: rest.Seats{Most: maxChangeWatchers}, statuses: statuses{look: look, now: time.Now}}
}

// Operations returns the operations of the resource.
func (s *Resource) Operations() []*rest.Operation {
	return slices.Concat(s.configOperations(), s.tagOperations(), s.pendingOperations(), s.changeOperations())
}
