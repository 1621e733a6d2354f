package apply

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/store"
)

// Draft is the configuration within a transaction: each change of it sees what
// those before did, and is checked as if it were alone, but for what farms must be to each
// other: that is checked once, at the end. Only the last one is
// published. Changes reach it directly or through an Applier (InDraft). It is used by
// one goroutine.
type Draft struct {
	applier *Applier
	rev     store.Revision
	cfg     *farm.Config // read-only: each change makes another one
	did     []string
	known   uint32    // the highest ID of a farm that was there before
	last    [3]uint32 // the highest IDs so far, by kind
	later   []func(*farm.Config)
}

// ErrNoConfiguration: what was asked for within a transaction is no change of the
// configuration.
var ErrNoConfiguration = errors.New("is no change of the configuration, so no transaction can have it")

// Transact makes the changes do makes of the draft one change: all of them or none,
// one revision, one publication. Errors of do are returned as they are. A blank
// comment lists what was done. While do runs nobody else changes anything; it must
// not call the Applier.
func (a *Applier) Transact(ctx context.Context, by Author, comment string, expect uint64, do func(*Draft) error) (Result, error) {
	if err := checkComment(comment); err != nil {
		return Result{}, err
	}
	var d *Draft
	text := func() string {
		if comment != "" {
			return comment
		}
		return cut("transaction: " + strings.Join(d.did, "; "))
	}
	r, err := a.change(ctx, by, text, expect, (*farm.Config).Clone, func(cfg *farm.Config) error {
		d = &Draft{applier: a, rev: a.now.Load().rev, cfg: cfg.Clone()}
		eachIDIn(cfg, func(kind int, id *uint32) { d.last[kind] = max(d.last[kind], *id) })
		d.known = d.last[0]
		if err := do(d); err != nil {
			return err
		}
		*cfg = *d.cfg.Clone()
		return nil
	})
	if err == nil {
		for _, do := range d.later {
			do(r.Config)
		}
	}
	return r, err
}

// Current returns the draft as it is, read-only, and the revision it is based on.
func (d *Draft) Current() (*farm.Config, store.Revision) { return d.cfg, d.rev }

// Change is Applier.Change on the draft. Who and what is expected were said to the
// transaction.
func (d *Draft) Change(ctx context.Context, _ Author, comment string, _ uint64, edit func(*farm.Config) error) (Result, error) {
	next := d.cfg.Clone()
	if err := edit(next); err != nil {
		return Result{}, err
	}
	if err := permitted(ctx, d.applier.now.Load().cfg, next); err != nil {
		return Result{}, err
	}
	r, err := d.applier.complete(ctx, d.cfg, next, true)
	if err != nil {
		return Result{}, err
	}
	d.giveIDs(next)
	r.Revision, r.FarmErrors = d.rev, d.applier.Problems()
	if r.Unchanged = reflect.DeepEqual(d.cfg, next); !r.Unchanged {
		d.cfg, d.did = next, append(d.did, comment)
	}
	return r, nil
}

// giveIDs tells what is new apart until the transaction ends: only then do
// objects get the IDs they keep.
func (d *Draft) giveIDs(cfg *farm.Config) {
	eachIDIn(cfg, func(kind int, id *uint32) {
		if *id == 0 {
			d.last[kind]++
			*id = d.last[kind]
		}
	})
}

// Plan is Applier.Plan on the draft.
func (d *Draft) Plan(ctx context.Context, cfg *farm.Config) (Result, error) {
	next := cfg.Clone()
	document.Carry(d.cfg, next)
	if err := permitted(ctx, d.applier.now.Load().cfg, next); err != nil {
		return Result{Revision: d.rev}, err
	}
	r, err := d.applier.prepare(ctx, d.cfg, next)
	r.Revision = d.rev
	return r, err
}

// Restart starts a farm that is stopped; of one that runs it is no change.
func (d *Draft) Restart(ctx context.Context, by Author, name string) (Result, error) {
	f := d.cfg.Farm(name)
	switch {
	case f == nil:
		return Result{}, fmt.Errorf("farm %q: %w", name, ErrNotFound)
	case !f.Stopped:
		return Result{}, fmt.Errorf("the restart of a farm %w", ErrNoConfiguration)
	}
	return d.Change(ctx, by, "start "+name, 0, func(cfg *farm.Config) error {
		cfg.Farm(name).Stopped = false
		return nil
	})
}

// Made reports whether a farm was made in the draft.
func (d *Draft) Made(farmID uint32) bool { return farmID > d.known }

// Later has something done once the transaction is in force, with the configuration
// that is then.
func (d *Draft) Later(do func(*farm.Config)) { d.later = append(d.later, do) }

type draftKey struct{}

// InDraft makes changes with this context those of a draft: an Applier then neither
// waits for its turn nor publishes anything. What is no change of the configuration is
// refused with ErrNoConfiguration.
func InDraft(ctx context.Context, d *Draft) context.Context {
	return context.WithValue(ctx, draftKey{}, d)
}

// DraftOf is the draft of a context, nil without one.
func DraftOf(ctx context.Context) *Draft {
	d, _ := ctx.Value(draftKey{}).(*Draft)
	return d
}

// CurrentIn is Current, and the draft's where the context has one.
func (a *Applier) CurrentIn(ctx context.Context) (*farm.Config, store.Revision) {
	if d := DraftOf(ctx); d != nil {
		return d.Current()
	}
	return a.Current()
}
