package api_test

import (
	"context"
	"sync"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/validate"
)

type fakeApplier struct {
	mu sync.Mutex
	st *store.Store
	e  *engine
	pr map[uint32]string
}

func (a *fakeApplier) Current() (*farm.Config, store.Revision) { return a.st.Current() }
func (a *fakeApplier) Change(ctx context.Context, by apply.Author, comment string, expect uint64, edit func(*farm.Config) error) (apply.Result, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	cur, rev := a.st.Current()
	if expect != 0 && rev.Number != expect {
		return apply.Result{}, apply.ErrConflict
	}
	cfg := cur.Clone()
	if err := edit(cfg); err != nil {
		return apply.Result{}, err
	}
	if err := validate.Config(cfg); err != nil {
		return apply.Result{}, err
	}
	if err := a.st.GiveIDs(cfg); err != nil {
		return apply.Result{}, err
	}
	d := document.Diff(cur, cfg)
	if d == "" {
		return apply.Result{Config: cur, Revision: rev, Unchanged: true}, nil
	}
	out, err := a.e.Publish(ctx, cfg)
	if err != nil {
		return apply.Result{}, err
	}
	r, err := a.st.Commit(cfg, store.Meta{Author: by.Name, Source: by.Source, Comment: comment})
	if err != nil {
		return apply.Result{}, err
	}
	a.pr = out.FarmErrors
	c2, _ := a.st.Current()
	return apply.Result{Config: c2, Revision: r, Diff: d, FarmErrors: out.FarmErrors}, nil
}
func (a *fakeApplier) Replace(ctx context.Context, by apply.Author, comment string, expect uint64, cfg *farm.Config) (apply.Result, error) {
	return a.Change(ctx, by, comment, expect, func(c *farm.Config) error {
		document.Carry(c, cfg)
		*c = *cfg
		return nil
	})
}
func (a *fakeApplier) Plan(ctx context.Context, cfg *farm.Config) (apply.Result, error) {
	cur, rev := a.st.Current()
	d := document.Diff(cur, cfg)
	return apply.Result{Config: cfg, Revision: rev, Diff: d, Unchanged: d == ""}, nil
}
func (a *fakeApplier) Rollback(ctx context.Context, by apply.Author, comment string, expect, number uint64) (apply.Result, error) {
	cfg, _, err := a.st.Get(number)
	if err != nil {
		return apply.Result{}, err
	}
	return a.Replace(ctx, by, "rollback", expect, cfg.Clone())
}
func (a *fakeApplier) Restart(ctx context.Context, by apply.Author, name string) (apply.Result, error) {
	return a.Change(ctx, by, "", 0, func(c *farm.Config) error { c.Farm(name).Stopped = false; return nil })
}
func (a *fakeApplier) Problems() map[uint32]string { return a.pr }
func (a *fakeApplier) Settled() bool               { return true }
