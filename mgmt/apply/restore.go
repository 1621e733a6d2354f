package apply

import (
	"context"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/store"
)

// Restoration replaces the configuration together with what it names and with what
// lies beside it.
type Restoration struct {
	// Config has no IDs; it is not changed.
	Config *farm.Config
	// Swap puts certificates and the like in the place publications take them from,
	// Undo the old ones, also a second time.
	Swap, Undo func()
	// Keep makes all of it last, with cfg as the next revision. When it fails,
	// everything must be as it was.
	Keep func(cfg *farm.Config, meta store.Meta) (store.Revision, error)
}

// Restore carries out a Restoration as one change: checked, published, acknowledged and
// kept, or everything is as it was. It is a revision even if the document stays the
// same. With DryRun it ends before anything is
// published. Errors are those of Change.
func (a *Applier) Restore(ctx context.Context, by Author, comment string, r Restoration) (result Result, err error) {
	if err := checkComment(comment); err != nil {
		return Result{}, err
	}
	if err := a.lock(ctx); err != nil {
		return Result{}, err
	}
	defer a.release(ctx, &result, &err)
	old := a.now.Load()
	cfg := r.Config.Clone()
	document.Carry(old.cfg, cfg)
	if err := permitted(ctx, old.cfg, cfg); err != nil {
		return Result{Revision: old.rev}, err
	}
	r.Swap()
	kept := false
	defer func() {
		if !kept {
			r.Undo()
		}
	}()
	result, err = a.prepare(withDocument(ctx), old.cfg, cfg)
	if p := a.pendingError(); err == nil && p != nil {
		err = p
	}
	if err == nil && isDryRun(ctx) {
		err = ErrDryRun
	}
	if err != nil {
		result.Revision = old.rev
		return result, err
	}
	k := keeping{names: true, undo: r.Undo, keep: func(cfg *farm.Config) (store.Revision, error) {
		return r.Keep(cfg, store.Meta{Author: by.Name, Source: by.Source, Comment: comment})
	}}
	var done Result
	if result.Unchanged {
		if err = a.store.Ready(); err == nil {
			done, err = a.putInForce(ctx, old, result, k)
		}
	} else {
		done, err = a.carryOut(ctx, old, result, k)
	}
	kept = err == nil
	return done, err
}

func farmIDs(cfg *farm.Config) []uint32 {
	var ids []uint32
	for i := range cfg.Farms {
		ids = append(ids, cfg.Farms[i].ID)
	}
	return ids
}
