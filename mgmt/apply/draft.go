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

// Draft is the configuration within a transaction. Each change sees the result of the previous
// ones and is checked individually. Rules between farms are checked once at the end, and only
// the final configuration is published. Changes reach the draft directly or through an Applier
// (InDraft). A Draft is not safe for concurrent use.
type Draft struct {
	applier *Applier
	rev     store.Revision
	cfg     *farm.Config // read-only: each change replaces it
	did     []string
	known   uint32    // the highest ID of a farm that existed before
	last    [3]uint32 // the highest IDs so far, by kind
	hold    *hold     // of the transaction
}

// ErrNoConfiguration reports an operation within a transaction that does not change the
// configuration.
var ErrNoConfiguration = errors.New("is no change of the configuration, so no transaction can have it")

// Transact applies the changes that do makes to the draft as one change: one revision and one
// publication, or none. Errors of do are returned unchanged. A blank comment is replaced by a
// list of the changes. do has the turn to write and must not call the Applier. It runs again if
// another change came first while name servers were asked, and must then forget what it did.
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
	h := newHold()
	r, err := a.change(withHold(ctx, h), by, text, expect, (*farm.Config).Clone, func(cfg *farm.Config) error {
		d = &Draft{applier: a, rev: a.now.Load().rev, cfg: cfg.Clone(), hold: h}
		eachIDIn(cfg, func(kind int, id *uint32) { d.last[kind] = max(d.last[kind], *id) })
		d.known = d.last[0]
		if err := do(d); err != nil {
			return err
		}
		*cfg = *d.cfg.Clone()
		return nil
	})
	return r, err
}

// Current returns the draft, read-only, and the revision it is based on.
func (d *Draft) Current() (*farm.Config, store.Revision) { return d.cfg, d.rev }

// Change is Applier.Change on the draft. It ignores author and expected revision, which belong
// to the transaction.
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

// giveIDs gives temporary IDs to new objects, so that they can be distinguished. The final IDs
// are given at the end of the transaction.
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

// Restart starts a stopped farm; for a running one it returns ErrNoConfiguration.
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

// Made reports whether a farm was created in the draft.
func (d *Draft) Made(farmID uint32) bool { return farmID > d.known }

type draftKey struct{}

// InDraft returns a context whose changes apply to d: an Applier then neither waits for the
// turn nor publishes. Operations that do not change the configuration return
// ErrNoConfiguration.
func InDraft(ctx context.Context, d *Draft) context.Context {
	return context.WithValue(ctx, draftKey{}, d)
}

// DraftOf returns the draft of a context, or nil.
func DraftOf(ctx context.Context) *Draft {
	d, _ := ctx.Value(draftKey{}).(*Draft)
	return d
}

// CurrentIn returns the draft of ctx if there is one, else Current.
func (a *Applier) CurrentIn(ctx context.Context) (*farm.Config, store.Revision) {
	if d := DraftOf(ctx); d != nil {
		return d.Current()
	}
	return a.Current()
}
