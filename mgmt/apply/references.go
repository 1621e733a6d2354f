package apply

import (
	"context"
	"fmt"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// References checks the certificates and authorities that a configuration names; *certs.Book
// implements it.
type References interface {
	// Check returns a *validate.Error for the first missing or unusable name in cfg. Names that
	// old also has are skipped: one broken certificate must not block all other changes.
	Check(old, cfg *farm.Config) error
}

// WithReferences sets the check of names of certificates; by default names are not checked.
func WithReferences(r References) Option { return func(a *Applier) { a.references = r } }

func (a *Applier) checkReferences(old, cfg *farm.Config) error {
	if a.references == nil {
		return nil
	}
	return a.references.Check(old, cfg)
}

// Renewal is a prepared change of an object that the configuration names, e.g. a new
// certificate.
type Renewal struct {
	// Farms are the IDs of the running farms that use it; without any, the publication is
	// skipped.
	Farms []uint32
	// Swap makes publications use the new object, Undo the old one.
	Swap, Undo func()
	// Keep persists the new object. If it fails, it must leave everything unchanged.
	Keep func() error
}

// Renew carries out a Renewal like a change: it is published, acknowledged and kept, or the old
// state is published again. It writes no revision, as the document stays the same. prepare runs
// under the write lock with the configuration in force, read-only; its error is returned
// unchanged. The use of objects cannot change between prepare and Keep. It returns the same
// errors as Change.
func (a *Applier) Renew(ctx context.Context, prepare func(*farm.Config) (Renewal, error)) error {
	if err := a.lock(ctx); err != nil {
		return err
	}
	defer a.unlock()
	if err := a.admit(ctx); err != nil {
		return err
	}
	cfg := a.now.Load().cfg
	r, err := prepare(cfg)
	if err != nil {
		return err
	}
	if isDryRun(ctx) {
		return ErrDryRun
	}
	r.Swap()
	if len(r.Farms) == 0 {
		if err := r.Keep(); err != nil {
			r.Undo()
			return err
		}
		a.restartWaiting()
		return nil
	}
	out, err := a.publish(ctx, cfg)
	if err == nil {
		err = a.judgeRenewal(cfg, r.Farms, out)
	}
	if err == nil {
		err = r.Keep()
	}
	if err != nil {
		r.Undo()
		return a.restore(ctx, cfg, err)
	}
	a.acknowledged(out)
	a.restartWaiting()
	return nil
}

// judgeRenewal refuses a renewal if one of its farms ran before and does not run now.
func (a *Applier) judgeRenewal(cfg *farm.Config, farms []uint32, out Outcome) error {
	known := *a.problems.Load()
	bad := map[uint32]string{}
	reason := ""
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		problem, has := out.FarmErrors[f.ID]
		if _, before := known[f.ID]; !has || before || out.Absent[f.ID] || !slices.Contains(farms, f.ID) {
			continue
		}
		bad[f.ID] = problem
		if reason == "" {
			reason = fmt.Sprintf("farm %q: %s", f.Name, problem)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return &Refused{Reason: reason, Farms: bad}
}
