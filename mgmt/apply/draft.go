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
// those before did, and is checked as if it were alone. Only the last one is
// published. It has the methods of an Applier that change and show something, and
// is used by one goroutine.
type Draft struct {
	applier *Applier
	rev     store.Revision
	cfg     *farm.Config // read-only: each change makes another one
	did     []string
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
	return a.change(ctx, by, text, expect, func(cfg *farm.Config) error {
		d = &Draft{applier: a, rev: a.now.Load().rev, cfg: cfg.Clone()}
		if err := do(d); err != nil {
			return err
		}
		*cfg = *d.cfg.Clone()
		return nil
	})
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
	r, err := d.applier.complete(ctx, d.cfg, next)
	if err != nil {
		return Result{}, err
	}
	d.giveIDs(next)
	r.Revision, r.FarmErrors = d.rev, d.Problems()
	if r.Unchanged = reflect.DeepEqual(d.cfg, next); !r.Unchanged {
		d.cfg, d.did = next, append(d.did, comment)
	}
	return r, nil
}

// giveIDs tells what is new apart until the transaction ends: only then do
// objects get the IDs they keep.
func (d *Draft) giveIDs(cfg *farm.Config) {
	var last [3]uint32
	count := func(kind int, id *uint32) { last[kind] = max(last[kind], *id) }
	eachID(d.cfg, count)
	eachID(cfg, count)
	eachID(cfg, func(kind int, id *uint32) {
		if *id == 0 {
			last[kind]++
			*id = last[kind]
		}
	})
}

// Replace is Applier.Replace on the draft.
func (d *Draft) Replace(ctx context.Context, by Author, comment string, expect uint64, cfg *farm.Config) (Result, error) {
	return d.Change(ctx, by, comment, expect, func(now *farm.Config) error {
		next := cfg.Clone()
		document.Carry(now, next)
		*now = *next
		return nil
	})
}

// Plan is Applier.Plan on the draft.
func (d *Draft) Plan(ctx context.Context, cfg *farm.Config) (Result, error) {
	next := cfg.Clone()
	document.Carry(d.cfg, next)
	r, err := d.applier.prepare(ctx, d.cfg, next)
	r.Revision = d.rev
	return r, err
}

// Rollback is Applier.Rollback on the draft.
func (d *Draft) Rollback(ctx context.Context, by Author, comment string, expect, number uint64) (Result, error) {
	cfg, _, err := d.applier.store.Get(number)
	if err != nil {
		return Result{}, fmt.Errorf("roll back: %w", err)
	}
	if comment == "" {
		comment = fmt.Sprintf("rollback to revision %d", number)
	}
	return d.Replace(ctx, by, comment, expect, cfg)
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

// Problems, RefusedStarts and InSync are the Applier's: nothing of a draft runs.
func (d *Draft) Problems() map[uint32]string      { return d.applier.Problems() }
func (d *Draft) RefusedStarts() map[uint32]string { return d.applier.RefusedStarts() }

// InSync is the Applier's.
func (d *Draft) InSync() bool { return d.applier.InSync() }
