package apply

import (
	"context"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/store"
)

// Restoration replaces the configuration together with the objects it names and other state in
// the store.
type Restoration struct {
	// Config has no IDs and stays unmodified.
	Config *farm.Config
	// Begin may be nil; dry runs skip it. It is called first, while other changes wait. Its error
	// ends the restoration.
	Begin func() error
	// Swap makes publications use the new certificates and the like, Undo the old ones. Undo
	// may be called twice.
	Swap, Undo func()
	// Keep persists everything, with cfg as the next revision and meta for the store. If it fails,
	// it must leave everything unchanged.
	Keep func(cfg *farm.Config, meta store.Meta) (store.Revision, error)
}

// Restore carries out a Restoration as one change: it is checked, published, acknowledged and
// kept, or nothing changes. It writes a revision even if the document stays the same. With
// DryRun it stops before the publication. It returns the same errors as Change.
func (a *Applier) Restore(ctx context.Context, by Author, comment string, r Restoration) (result Result, err error) {
	if err := checkComment(comment); err != nil {
		return Result{}, err
	}
	h := a.askAhead(ctx, r.Config) // Swap must not be in force while others have the turn
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
	if r.Begin != nil && !isDryRun(ctx) {
		if err := r.Begin(); err != nil {
			return Result{Revision: old.rev}, err
		}
	}
	r.Swap()
	kept := false
	defer func() {
		if !kept {
			r.Undo()
		}
	}()
	result, err = a.prepare(withHold(withDocument(ctx), h), old.cfg, cfg)
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
		return r.Keep(cfg, store.Meta{Author: by.Name, Source: by.Source, Comment: comment,
			Settings: a.keptSerials(old.cfg, cfg, true)})
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
