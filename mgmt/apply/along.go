package apply

import (
	"context"
	"maps"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/store"
)

// Along writes other documents in one transaction with a revision, so that a crash leaves both
// or none. It calls commit exactly once, with the documents by name, and returns its error. cfg
// is the configuration to be written, with IDs. It runs with the turn to write, after the
// engines have acknowledged cfg, so it must not wait.
type Along func(cfg *farm.Config, commit func(documents map[string]any) error) error

type alongKey struct{}

// WithAlong returns a context whose changes are written by do.
func WithAlong(ctx context.Context, do Along) context.Context {
	return context.WithValue(ctx, alongKey{}, do)
}

// commit writes a revision, by the Along of ctx if there is one.
func (a *Applier) commit(ctx context.Context, cfg *farm.Config, meta store.Meta) (rev store.Revision, err error) {
	do, is := ctx.Value(alongKey{}).(Along)
	if !is {
		return a.store.Commit(cfg, meta)
	}
	own := meta.Documents
	err = do(cfg, func(documents map[string]any) (err error) {
		meta.Documents = map[string]any{}
		maps.Copy(meta.Documents, documents)
		maps.Copy(meta.Documents, own)
		rev, err = a.store.Commit(cfg, meta)
		return err
	})
	return rev, err
}
