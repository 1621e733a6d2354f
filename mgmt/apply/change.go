package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// MaxComment is the maximum length of a change's comment, in bytes.
const MaxComment = 1024

// Change applies edit to a copy of the current configuration and makes the result the current
// one. Errors of edit are returned unchanged. New objects have ID 0. An ID that is used twice
// or does not exist in the current configuration counts as 0. The argument expect is the
// revision that the caller saw, or 0 for any; a mismatch returns ErrConflict.
//
// edit must depend on its argument alone: it runs again if another change came first while name
// servers were asked. ctx bounds the wait for other changes and for names. Once the engines have the change, it is
// completed even if ctx ends. With DryRun Change stops before that, and the result shows the
// effects. With OnTrial the change is reverted unless it is confirmed. A change of objects that
// a pending change touched is refused (*PendingError).
func (a *Applier) Change(ctx context.Context, by Author, comment string, expect uint64, edit func(*farm.Config) error) (Result, error) {
	if err := checkComment(comment); err != nil {
		return Result{}, err
	}
	if d := DraftOf(ctx); d != nil {
		return d.Change(ctx, by, comment, expect, edit)
	}
	return a.change(ctx, by, func() string { return comment }, expect, (*farm.Config).Clone, edit)
}

// ChangeFarm is Change for an edit that only changes the named farm. Other farms are not
// copied, which is most of the cost of a change of one among many farms.
func (a *Applier) ChangeFarm(ctx context.Context, by Author, comment string, expect uint64, name string, edit func(*farm.Config) error) (Result, error) {
	if DraftOf(ctx) != nil {
		return a.Change(ctx, by, comment, expect, edit)
	}
	if err := checkComment(comment); err != nil {
		return Result{}, err
	}
	copied := func(cfg *farm.Config) *farm.Config {
		settled, next := a.settled.of(cfg), 0
		return cfg.CloneWith(func(f *farm.Farm) bool { // called for each farm in order
			next++
			return f.Name == name || !settled[next-1]
		})
	}
	return a.change(ctx, by, func() string { return comment }, expect, copied, edit)
}

// change implements Change. copied makes the copy that edit modifies; comment is called after
// edit. edit runs again if another change came first while name servers were asked.
func (a *Applier) change(ctx context.Context, by Author, comment func() string, expect uint64,
	copied func(*farm.Config) *farm.Config, edit func(*farm.Config) error) (r Result, err error) {
	if err := a.lock(ctx); err != nil {
		return Result{}, err
	}
	defer a.release(ctx, &r, &err)
	h, held := ctx.Value(holdKey{}).(*hold)
	if !held {
		h = newHold()
	}
	err = a.repeat(ctx, h, func(ctx context.Context) error {
		r, err = a.try(ctx, by, comment, expect, copied, edit)
		return err
	})
	return r, err
}

// try is one attempt of a change. It has the turn.
func (a *Applier) try(ctx context.Context, by Author, comment func() string, expect uint64,
	copied func(*farm.Config) *farm.Config, edit func(*farm.Config) error) (r Result, err error) {
	old := a.now.Load()
	if !expected(ctx, old, expect) {
		return Result{}, fmt.Errorf("%w: revision %d was expected, the current one is %d; look at it and try again", ErrConflict, expect, old.rev.Number)
	}
	if err = a.admit(ctx); err != nil {
		return Result{}, err
	}
	cfg := copied(old.cfg)
	if err = edit(cfg); err == nil {
		err = permitted(ctx, old.cfg, cfg)
	}
	if !isDryRun(ctx) {
		tried := startsOf(old.cfg, cfg)
		defer func() {
			if !errors.Is(err, errOvertaken) {
				a.remember(tried, err)
			}
		}()
	}
	if err != nil {
		return Result{}, err
	}
	r, err = a.prepare(ctx, old.cfg, cfg)
	if err == nil && !r.Unchanged {
		r.Warnings = append(r.Warnings, a.overruled(ctx)...)
	}
	back := false
	if err == nil && (!r.Unchanged || onTrial(ctx)) { // an unchanged pending change keeps its deadline
		back, err = a.whilePending(ctx, old.cfg, cfg)
	}
	if err == nil && isDryRun(ctx) {
		_, err = a.trialOf(ctx, by, comment(), old, cfg)
		if err == nil && !r.Unchanged {
			var absent []field.Error
			absent, err = a.probe(ctx, old.cfg, cfg)
			r.Warnings = append(r.Warnings, absent...)
		}
		err = cmp.Or(err, ErrDryRun)
	}
	if err == nil && r.Unchanged && len(a.Unsettled()) > 0 {
		r.unsettled = true // sending it again retries it
	}
	if err != nil || r.Unchanged {
		r.Revision = old.rev
		return r, err
	}
	var trial *Pending
	diff := r.Diff // IDs given later are in no document
	r, err = a.carryOut(ctx, old, r, keeping{
		undo: func() {},
		ready: func(cfg *farm.Config) (err error) {
			trial, err = a.trialOf(ctx, by, comment(), old, cfg)
			return err
		},
		keep: func(cfg *farm.Config) (store.Revision, error) {
			rev, err := a.commit(ctx, cfg, store.Meta{Author: by.Name, Source: by.Source, Comment: comment(), Time: a.clock(),
				Diff: diff, Documents: a.documents(trial, back), Settings: a.keptSerials(old.cfg, cfg, false)})
			if err == nil {
				a.begin(trial, back, by, rev)
			}
			return rev, err
		},
	})
	if err == nil {
		r.Pending = trial
	}
	return r, err
}

// keeping has the functions that persist or revert a publication.
type keeping struct {
	names bool // the objects that farms name change as well, so that any farm may fail
	undo  func()
	ready func(*farm.Config) error // called last before the publication; nil: always ready
	keep  func(*farm.Config) (store.Revision, error)
}

// prepare checks and completes cfg except for the IDs, and compares it with old.
func (a *Applier) prepare(ctx context.Context, old, cfg *farm.Config) (Result, error) {
	r, err := a.complete(ctx, old, cfg, false)
	if err != nil {
		return Result{}, err
	}
	if r.Diff = a.texts.Diff(old, cfg); r.Diff == "" {
		r.Config, r.Unchanged, r.FarmErrors = old, true, a.Problems()
		return r, nil
	}
	untold, err := a.guardTrust(ctx, old, cfg)
	r.Warnings = append(r.Warnings, untold...)
	return r, err
}

// complete checks and completes cfg except for the IDs. unfinished means that cfg belongs to a
// transaction with more writes to come.
func (a *Applier) complete(ctx context.Context, old, cfg *farm.Config, unfinished bool) (Result, error) {
	rules, check := a.rules, a.checked.Config
	if unfinished {
		rules.Unfinished, check = true, a.checked.Unfinished
	}
	for _, i := range unshared(old, cfg) { // shared ones have none
		cfg.Farms[i].ForgetPasswords()
	}
	withoutParts(old, cfg)
	dropForeignIDs(old, cfg)
	if err := a.keepZoneKeys(old, cfg); err != nil {
		return Result{}, err
	}
	a.giveNumbers(old, cfg)
	share(old, cfg)
	if err := validate.Unveil(old, cfg); err != nil {
		return Result{}, err
	}
	warnings, err := check(cfg)
	if err != nil {
		return Result{}, err
	}
	if err := a.sealSecrets(&old.System, &cfg.System); err != nil {
		return Result{}, err
	}
	if err := a.sealCommands(old, cfg); err != nil {
		return Result{}, err
	}
	if err := errors.Join(a.sealZoneKeys(old, cfg), a.sealTransferKeys(old, cfg)); err != nil {
		return Result{}, err
	}
	if err := a.checkMachine(ctx, old, cfg); err != nil {
		return Result{}, err
	}
	if err := a.checkReferences(old, cfg); err != nil {
		return Result{}, err
	}
	was, is := apart(old, cfg)
	found, unresolved, err := a.resolveNew(ctx, was, is)
	if err != nil {
		return Result{}, err
	}
	if len(found) > 0 { // the rules apply to the addresses, too
		if err := a.checked.Resolved(cfg, rules.Unfinished); err != nil {
			return Result{}, err
		}
		warnings = rules.Warnings(cfg)
	}
	foreign, err := a.checkForeign(old, cfg)
	if err != nil {
		return Result{}, err
	}
	all := slices.Concat(unresolved, warnings, foreign)
	return Result{Config: cfg, Before: old, Warnings: all, Takeovers: takeovers(old, cfg, all), found: found}, nil
}

// carryOut publishes a prepared configuration and keeps it, or leaves the old one in force.
func (a *Applier) carryOut(ctx context.Context, old *state, r Result, k keeping) (Result, error) {
	cfg := r.Config
	if err := a.store.Ready(); err != nil { // before the publication: a refusal changes nothing
		return Result{}, err
	}
	if err := a.store.GiveIDs(cfg); err != nil {
		return Result{}, &Refused{Reason: err.Error()}
	}
	if a.addParts(old.cfg, cfg, r.found); len(r.found) > 0 {
		if err := a.checked.Resolved(cfg, false); err != nil {
			return Result{}, err
		}
	}
	if err := a.store.GiveIDs(cfg); err != nil {
		return Result{}, &Refused{Reason: err.Error()}
	}
	if k.ready != nil {
		if err := k.ready(cfg); err != nil {
			return Result{}, err
		}
	}
	return a.putInForce(ctx, old, r, k)
}

// putInForce publishes and keeps a configuration whose objects all have IDs.
func (a *Applier) putInForce(ctx context.Context, old *state, r Result, k keeping) (Result, error) {
	cfg := r.Config
	out, restore, err := a.bring(ctx, old.cfg, cfg, k)
	if err != nil {
		return Result{}, err
	}
	rev, err := k.keep(cfg)
	if err != nil {
		return Result{}, restore(err)
	}
	rev.Diff = ""
	a.versions.note(old.cfg, cfg, rev.Number) // before a.now: its readers find the version
	a.now.Store(&state{cfg, rev})
	if out != nil {
		a.acknowledged(*out)
		r.Warnings = append(r.Warnings, warnAbsent(old.cfg, cfg, *out)...)
	}
	a.told(old.cfg, cfg, rev)
	r.Revision, r.FarmErrors, r.Absent = rev, a.Problems(), *a.absent.Load()
	r.unsettled = !sameSystem(old.cfg, cfg)
	return r, nil
}

// bring publishes a change if it concerns the engines, else out is nil. restore reverts it.
func (a *Applier) bring(ctx context.Context, old, cfg *farm.Config, k keeping) (out *Outcome, restore func(cause error) error, err error) {
	if !k.names && reflect.DeepEqual(old.Farms, cfg.Farms) {
		return nil, func(cause error) error { return cause }, nil
	}
	if err := a.check(ctx, old, cfg); err != nil {
		return nil, nil, err
	}
	restore = func(cause error) error {
		k.undo()
		return a.restore(ctx, old, cause)
	}
	published, err := a.publish(ctx, cfg)
	if err == nil {
		err = a.judge(old, cfg, published)
	}
	if err == nil && k.names {
		err = a.judgeRenewal(cfg, farmIDs(cfg), published)
	}
	if err != nil {
		return nil, nil, restore(err)
	}
	return &published, restore, nil
}

// Replace makes cfg, which has no IDs yet, the configuration. Objects that exist in both keep
// their ID, connections and sessions. cfg is not modified.
func (a *Applier) Replace(ctx context.Context, by Author, comment string, expect uint64, cfg *farm.Config) (Result, error) {
	return a.Change(withDocument(ctx), by, comment, expect, func(now *farm.Config) error {
		next := cfg.Clone()
		document.Carry(now, next)
		*now = *next
		return nil
	})
}

// Merge is Replace with a part of the configuration; the rest stays unchanged.
func (a *Applier) Merge(ctx context.Context, by Author, comment string, expect uint64, part *farm.Config) (Result, error) {
	return a.Change(ctx, by, comment, expect, func(now *farm.Config) error {
		next := document.Merge(now, part)
		document.Carry(now, next)
		*now = *next
		return nil
	})
}

// Plan returns the result of a Replace without doing it: the same checks, the diff and the
// warnings.
func (a *Applier) Plan(ctx context.Context, cfg *farm.Config) (Result, error) {
	if d := DraftOf(ctx); d != nil {
		return d.Plan(ctx, cfg)
	}
	old := a.now.Load()
	next := cfg.Clone()
	document.Carry(old.cfg, next)
	if err := permitted(ctx, old.cfg, next); err != nil {
		return Result{Revision: old.rev}, err
	}
	r, err := a.prepare(withDocument(ctx), old.cfg, next)
	r.Revision = old.rev
	return r, err
}

// Rollback writes a new revision with the content of an older one. Objects that still exist
// keep their ID, also under another name. An empty comment is replaced by the number of the
// revision.
func (a *Applier) Rollback(ctx context.Context, by Author, comment string, expect, number uint64) (Result, error) {
	cfg, _, err := a.store.Get(number)
	if err != nil {
		return Result{}, fmt.Errorf("roll back: %w", err)
	}
	if comment == "" {
		comment = fmt.Sprintf("rollback to revision %d", number)
	}
	return a.Replace(ctx, by, comment, expect, cfg)
}

func checkComment(s string) error {
	if len(s) <= MaxComment && utf8.ValidString(s) {
		return nil
	}
	return &field.Error{Field: "comment", Message: fmt.Sprintf("comment must be a text of at most %d bytes, got %d", MaxComment, len(s))}
}

// dropForeignIDs clears IDs in changed farms of cfg that changed farms of old lack, and repeated
// ones. A copied farm must not share the counters and sessions of
// the original.
func dropForeignIDs(old, cfg *farm.Config) {
	var known [3]farm.IDSet
	for _, k := range unshared(cfg, old) {
		eachID(&old.Farms[k], func(kind int, id *uint32) { known[kind].Add(*id) })
	}
	for _, i := range unshared(old, cfg) {
		eachID(&cfg.Farms[i], func(kind int, id *uint32) {
			if !known[kind].Take(*id) {
				*id = 0
			}
		})
	}
}

// eachIDIn calls eachID for all farms.
func eachIDIn(cfg *farm.Config, do func(kind int, id *uint32)) {
	for i := range cfg.Farms {
		eachID(&cfg.Farms[i], do)
	}
}

// eachID calls do for the IDs of a farm (kind 0), of its services or groups (1) and of its
// backends (2).
func eachID(f *farm.Farm, do func(kind int, id *uint32)) {
	do(0, &f.ID)
	for _, g := range f.Groups() {
		do(1, g.IDAt())
		for k := range g.Backends() {
			do(2, &g.Backends()[k].ID)
		}
	}
}

// ErrDryRun ends a dry run: all checks passed that are possible without the change, and nothing
// was changed.
var ErrDryRun = errors.New("only tried: nothing was changed")

type dryRun struct{}

// DryRun returns a context whose changes stop before they take effect, with ErrDryRun. Faults
// are reported as usual.
func DryRun(ctx context.Context) context.Context { return context.WithValue(ctx, dryRun{}, true) }

func isDryRun(ctx context.Context) bool { return ctx.Value(dryRun{}) != nil }
