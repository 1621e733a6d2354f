package api_test

import (
	"context"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
)

// twice is an Applier that makes each edit another time before, on a copy, because a change
// starts again if another one came first while name servers were asked.
type twice struct {
	*apply.Applier
	meanwhile *func()
}

func (t twice) Change(ctx context.Context, by apply.Author, comment string, expect uint64,
	edit func(*farm.Config) error) (apply.Result, error) {
	t.try(ctx, edit)
	return t.Applier.Change(ctx, by, comment, expect, edit)
}

func (t twice) ChangeFarm(ctx context.Context, by apply.Author, comment string, expect uint64, name string,
	edit func(*farm.Config) error) (apply.Result, error) {
	t.try(ctx, edit)
	return t.Applier.ChangeFarm(ctx, by, comment, expect, name, edit)
}

func (t twice) Transact(ctx context.Context, by apply.Author, comment string, expect uint64,
	do func(*apply.Draft) error) (apply.Result, error) {
	_, _ = t.Applier.Transact(apply.DryRun(ctx), by, comment, expect, do)
	t.wait()
	return t.Applier.Transact(ctx, by, comment, expect, do)
}

// try makes an edit whose result and error are ignored.
func (t twice) try(ctx context.Context, edit func(*farm.Config) error) {
	cfg, _ := t.CurrentIn(ctx)
	_ = edit(cfg.Clone())
	if apply.DraftOf(ctx) == nil { // a transaction has the turn
		t.wait()
	}
}

// wait lets others change the appliance, as if the call had waited for its turn.
func (t twice) wait() {
	if do := *t.meanwhile; do != nil {
		*t.meanwhile = nil
		do()
	}
}

func (t twice) Replace(ctx context.Context, by apply.Author, comment string, expect uint64,
	cfg *farm.Config) (apply.Result, error) {
	t.wait()
	return t.Applier.Replace(ctx, by, comment, expect, cfg)
}

func (t twice) Rollback(ctx context.Context, by apply.Author, comment string,
	expect, number uint64) (apply.Result, error) {
	t.wait()
	return t.Applier.Rollback(ctx, by, comment, expect, number)
}

func (t twice) Restart(ctx context.Context, by apply.Author, name string) (apply.Result, error) {
	t.wait()
	return t.Applier.Restart(ctx, by, name)
}

func (t twice) Confirm(ctx context.Context, by apply.Author, revision uint64, reason string) error {
	t.wait()
	return t.Applier.Confirm(ctx, by, revision, reason)
}

func (t twice) TakeBack(ctx context.Context, by apply.Author, revision uint64) (apply.Result, error) {
	t.wait()
	return t.Applier.TakeBack(ctx, by, revision)
}
