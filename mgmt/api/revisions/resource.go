// Package revisions is the part of the API about the configuration as a whole:
// its document, its history, and what changes.
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

// Deps is what the operations need.
type Deps struct {
	State   *state.Board
	Applier Applier
	History History
	// Reload applies the file the appliance was started with again; nil when
	// there is none. rest.ErrConfigFile when it cannot be read.
	Reload func(ctx context.Context, by apply.Author) (apply.Result, error)
	// LocalAddrs lists the addresses of this machine, which a VIP must be one of.
	LocalAddrs func() []netip.Addr
	// Progress is what is known of the pending change; nil: nothing watches.
	Progress func() *trial.Progress
	// Serve answers a request as if it had come alone; its path is without the base.
	Serve http.HandlerFunc
	Now   func() time.Time
}

// Applier makes whole documents the configuration; *apply.Applier does.
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

// Resource answers the operations; make it with New.
type Resource struct {
	deps     Deps
	watchers rest.Seats
}

// New returns the resource over deps.
func New(deps Deps) *Resource {
	return &Resource{deps: deps, watchers: rest.Seats{Most: maxChangeWatchers}}
}

// Operations lists what can be done.
func (s *Resource) Operations() []*rest.Operation {
	return slices.Concat(s.configOperations(), s.tagOperations(), s.pendingOperations(), s.changeOperations())
}
