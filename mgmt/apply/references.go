package apply

import (
	"context"
	"fmt"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// References tells whether what a configuration only names is there:
// certificates and authorities. *certs.Book is one.
type References interface {
	// Check returns *validate.Error for the first name in cfg that does not
	// exist or cannot be used. What old names too is not judged again: one
	// broken certificate must not stop every other change.
	Check(old, cfg *farm.Config) error
}

// WithReferences sets what knows the certificates a configuration names; the default
// believes every name.
func WithReferences(r References) Option { return func(a *Applier) { a.references = r } }

func (a *Applier) checkReferences(old, cfg *farm.Config) error {
	if a.references == nil {
		return nil
	}
	return a.references.Check(old, cfg)
}

// Renewal is a change of what the configuration names, as a certificate that
// is replaced. It was prepared and is not in force yet.
type Renewal struct {
	// Farms are the IDs of the running farms it reaches; without any, nothing
	// is published.
	Farms []uint32
	// Swap puts the new in the place publications take it from, Undo the old.
	Swap, Undo func()
	// Keep makes the new last. When it fails, everything must be as it was.
	Keep func() error
}

// Renew carries out a Renewal like a change: published, acknowledged, kept, or
// the old is published again. No revision is written, because the document
// stays the same. prepare is called while no other change is written, with the
// configuration in force, read-only; its error is returned as it is. What is
// in use cannot change between prepare and Keep. Errors are those of Change.
func (a *Applier) Renew(ctx context.Context, prepare func(*farm.Config) (Renewal, error)) error {
	if err := a.lock(ctx); err != nil {
		return err
	}
	defer a.unlock()
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
	return nil
}

// judgeRenewal refuses a renewal after which one of its farms does not run
// that did before.
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
