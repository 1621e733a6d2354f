package apply

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// The errors a caller may want to tell apart, beside *validate.Error and *Refused.
var (
	// ErrNotFound: what the change is about does not exist (404).
	ErrNotFound = errors.New("not found")
	// ErrConflict: the configuration is no longer the one the caller expected (409, 412).
	ErrConflict = errors.New("the configuration was changed by someone else")
	// ErrUnavailable: the engine or netd could not be asked (503).
	ErrUnavailable = errors.New("the engine is not available")
)

// Refused is the answer of an engine or of netd that said no (409).
type Refused struct {
	Reason string
	Farms  map[uint32]string // per-farm reasons by farm ID, when that was the cause
}

func (r *Refused) Error() string { return r.Reason }

// Outcome is what became of one publication.
type Outcome struct {
	Generation uint64
	FarmErrors map[uint32]string
}

// Publisher brings a configuration to the engines. It must honour ctx.
type Publisher interface {
	Publish(ctx context.Context, cfg *farm.Config) (Outcome, error)
}

// Author is who changes something and through which door.
type Author struct{ Name, Source string }

// Result is what a change did.
type Result struct {
	Config     *farm.Config // read-only
	Revision   store.Revision
	Unchanged  bool
	Diff       string
	FarmErrors map[uint32]string
}

// Option changes how an Applier works.
type Option func(*Applier)

// WithRules sets the rules; the default is validate.Rules with the system's prefixes.
func WithRules(r validate.Rules) Option { return nil }

// WithResolver sets what resolves backend names; the default is the system's resolver.
func WithResolver(f func(ctx context.Context, host string) ([]netip.Addr, error)) Option { return nil }

// WithTimeout bounds each publication; the default is 10 s.
func WithTimeout(d time.Duration) Option { return nil }

// Applier is the one writer.
type Applier struct{}

// New returns an Applier; nothing is published until Republish or a change.
func New(st *store.Store, pub Publisher, options ...Option) *Applier { return nil }

// Current returns the configuration in force, read-only and shared.
func (a *Applier) Current() (*farm.Config, store.Revision) { return nil, store.Revision{} }

// Change applies edit to a copy of the current configuration.
func (a *Applier) Change(ctx context.Context, by Author, comment string, expect uint64, edit func(*farm.Config) error) (Result, error) {
	return Result{}, nil
}

// Replace makes cfg the configuration, carrying the IDs of what stays.
func (a *Applier) Replace(ctx context.Context, by Author, comment string, expect uint64, cfg *farm.Config) (Result, error) {
	return Result{}, nil
}

// Plan checks what Replace would do and returns the difference.
func (a *Applier) Plan(ctx context.Context, cfg *farm.Config) (Result, error) { return Result{}, nil }

// Rollback makes the content of an older revision the newest one.
func (a *Applier) Rollback(ctx context.Context, by Author, comment string, expect, number uint64) (Result, error) {
	return Result{}, nil
}

// Restart closes and reopens a farm; a stopped one is started.
func (a *Applier) Restart(ctx context.Context, by Author, name string) (Result, error) {
	return Result{}, nil
}

// Republish publishes the current configuration again, for an engine that came back.
func (a *Applier) Republish(ctx context.Context) (Outcome, error) { return Outcome{}, nil }

// Problems returns the per-farm problems of the last publication, by farm ID.
func (a *Applier) Problems() map[uint32]string { return nil }

// Settled reports whether the engines are known to run the current configuration.
func (a *Applier) Settled() bool { return false }
