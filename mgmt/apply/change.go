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
)

// MaxComment is the longest comment of a change, in bytes.
const MaxComment = 1024

// Change applies edit to a copy of the current configuration and makes the
// result the current one. edit may return any error, which Change returns as
// it is; new objects have ID 0, and an ID that no object of the current
// configuration has, or that is used twice, counts as 0. expect is the
// revision the caller saw, 0 for any (ErrConflict). ctx bounds the wait for
// other changes and for names; once the engines were told, the change is
// finished whatever becomes of ctx. With DryRun it ends before that, and the
// result says what would have been. OnTrial it goes back by itself unless it is
// confirmed. A change of what another one touched that is pending is refused (*PendingError).
func (a *Applier) Change(ctx context.Context, by Author, comment string, expect uint64, edit func(*farm.Config) error) (Result, error) {
	if err := checkComment(comment); err != nil {
		return Result{}, err
	}
	if d := DraftOf(ctx); d != nil {
		return d.Change(ctx, by, comment, expect, edit)
	}
	return a.change(ctx, by, func() string { return comment }, expect, (*farm.Config).Clone, edit)
}

// ChangeFarm is Change for an edit that changes nothing of other farms than the one of
// that name: these need no copy, which is most of what a change of one among many costs.
func (a *Applier) ChangeFarm(ctx context.Context, by Author, comment string, expect uint64, name string, edit func(*farm.Config) error) (Result, error) {
	if DraftOf(ctx) != nil {
		return a.Change(ctx, by, comment, expect, edit)
	}
	if err := checkComment(comment); err != nil {
		return Result{}, err
	}
	copied := func(cfg *farm.Config) *farm.Config {
		settled, next := a.settled.of(cfg), 0
		return cfg.CloneWith(func(f *farm.Farm) bool { // is asked of each, in their order
			next++
			return f.Name == name || !settled[next-1]
		})
	}
	return a.change(ctx, by, func() string { return comment }, expect, copied, edit)
}

// change is Change; comment is asked for after the edit of what copied makes of the
// configuration.
func (a *Applier) change(ctx context.Context, by Author, comment func() string, expect uint64, copied func(*farm.Config) *farm.Config, edit func(*farm.Config) error) (r Result, err error) {
	if err := a.lock(ctx); err != nil {
		return Result{}, err
	}
	defer a.release(ctx, &r, &err)
	old := a.now.Load()
	if expect != 0 && expect != old.rev.Number {
		return Result{}, fmt.Errorf("%w: revision %d was expected, the current one is %d; look at it and try again", ErrConflict, expect, old.rev.Number)
	}
	cfg := copied(old.cfg)
	if err = edit(cfg); err == nil {
		err = permitted(ctx, old.cfg, cfg)
	}
	if !isDryRun(ctx) {
		tried := startsOf(old.cfg, cfg)
		defer func() { a.remember(tried, err) }()
	}
	if err != nil {
		return Result{}, err
	}
	r, err = a.prepare(ctx, old.cfg, cfg)
	if err == nil && !r.Unchanged {
		r.Warnings = append(r.Warnings, a.overruled(ctx)...)
	}
	back := false
	if err == nil && (!r.Unchanged || onTrial(ctx)) { // the time of what is pending stays
		back, err = a.whilePending(ctx, old.cfg, cfg)
	}
	if err == nil && isDryRun(ctx) {
		_, err = a.trialOf(ctx, by, comment(), old, cfg)
		if err == nil && !r.Unchanged {
			var absent []validate.Error
			absent, err = a.probe(ctx, old.cfg, cfg)
			r.Warnings = append(r.Warnings, absent...)
		}
		err = cmp.Or(err, ErrDryRun)
	}
	if err == nil && r.Unchanged && len(a.Unsettled()) > 0 {
		r.unsettled = true // who sends it again tries it again
	}
	if err != nil || r.Unchanged {
		r.Revision = old.rev
		return r, err
	}
	var trial *Pending
	diff := r.Diff // numbers that are given later are in no document
	r, err = a.carryOut(ctx, old, r, keeping{
		undo: func() {},
		ready: func(cfg *farm.Config) (err error) {
			trial, err = a.trialOf(ctx, by, comment(), old, cfg)
			return err
		},
		keep: func(cfg *farm.Config) (store.Revision, error) {
			rev, err := a.store.Commit(cfg, store.Meta{Author: by.Name, Source: by.Source, Comment: comment(), Time: a.clock(), Diff: diff, Documents: a.documents(trial, back)})
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

// keeping makes what was published last, or takes back what was prepared for it.
type keeping struct {
	names bool // what farms name changes as well, so that all of them may fail
	undo  func()
	ready func(*farm.Config) error // asked last before anything is published; nil: it is
	keep  func(*farm.Config) (store.Revision, error)
}

// prepare checks and completes cfg, everything but the IDs, and compares it.
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

// complete checks and completes cfg, everything but the IDs. An unfinished one is that of a
// transaction of which more writes follow.
func (a *Applier) complete(ctx context.Context, old, cfg *farm.Config, unfinished bool) (Result, error) {
	rules, check := a.rules, a.checked.Config
	if unfinished {
		rules.Unfinished, check = true, a.checked.Unfinished
	}
	for _, i := range unshared(old, cfg) { // shared ones have forgotten theirs
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
	if len(found) > 0 { // the addresses must keep the rules too
		if err := rules.Config(cfg); err != nil {
			return Result{}, err
		}
		warnings = rules.Warnings(cfg)
	}
	foreign, err := a.checkForeign(old, cfg)
	if err != nil {
		return Result{}, err
	}
	all := slices.Concat(unresolved, warnings, foreign)
	return Result{Config: cfg, Warnings: all, Takeovers: takeovers(old, cfg, all), found: found}, nil
}

// carryOut publishes a prepared configuration and keeps it, or leaves the old one in
// force. The machine is told last.
func (a *Applier) carryOut(ctx context.Context, old *state, r Result, k keeping) (Result, error) {
	cfg := r.Config
	if err := a.store.Ready(); err != nil { // before anybody sees it: what is refused changes nothing
		return Result{}, err
	}
	if err := a.store.GiveIDs(cfg); err != nil {
		return Result{}, &Refused{Reason: err.Error()}
	}
	if a.addParts(old.cfg, cfg, r.found); len(r.found) > 0 {
		if err := a.rules.Config(cfg); err != nil {
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

// putInForce is what is left when everything of cfg has its number.
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
	a.keepSerials(old.cfg, cfg)
	a.versions.note(old.cfg, cfg, rev.Number) // before: a reader of the new state finds it
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

// bring publishes what the engines are to know of a change. restore takes it back;
// out is nil when they are to know nothing.
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

// Replace makes cfg, which has no IDs yet, the configuration: what is in both
// keeps its ID, its connections and its sessions. cfg itself is not changed.
func (a *Applier) Replace(ctx context.Context, by Author, comment string, expect uint64, cfg *farm.Config) (Result, error) {
	return a.Change(withDocument(ctx), by, comment, expect, func(now *farm.Config) error {
		next := cfg.Clone()
		document.Carry(now, next)
		*now = *next
		return nil
	})
}

// Merge is Replace with a part of the configuration, whose rest stays as it is then.
func (a *Applier) Merge(ctx context.Context, by Author, comment string, expect uint64, part *farm.Config) (Result, error) {
	return a.Change(ctx, by, comment, expect, func(now *farm.Config) error {
		next := document.Merge(now, part)
		document.Carry(now, next)
		*now = *next
		return nil
	})
}

// Plan tells what Replace would do, without doing it: the same checks, the
// difference and the warnings.
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

// Rollback writes a new revision with the content of an older one. What is
// still there keeps its ID, also under another name. An empty comment says
// which revision it was.
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
	return &validate.Error{Field: "comment", Message: fmt.Sprintf("comment must be a text of at most %d bytes, got %d", MaxComment, len(s))}
}

// dropForeignIDs sets to 0 every ID of a changed farm of cfg that no changed farm of old
// has, and the second and later use of one: a copied farm must not share the counters and
// sessions of the original.
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

// eachIDIn is eachID of all farms.
func eachIDIn(cfg *farm.Config, do func(kind int, id *uint32)) {
	for i := range cfg.Farms {
		eachID(&cfg.Farms[i], do)
	}
}

// eachID calls do for the IDs of a farm (kind 0), of its services or
// groups (1) and backends (2).
func eachID(f *farm.Farm, do func(kind int, id *uint32)) {
	do(0, &f.ID)
	for _, g := range f.Groups() {
		do(1, g.IDAt())
		for k := range g.Backends() {
			do(2, &g.Backends()[k].ID)
		}
	}
}

// ErrDryRun ends a change that was only to be tried: everything was checked that can
// be without doing it, and nothing was done.
var ErrDryRun = errors.New("only tried: nothing was changed")

type dryRun struct{}

// DryRun makes changes with this context end before anything happens, with ErrDryRun;
// what is wrong with them is said as ever.
func DryRun(ctx context.Context) context.Context { return context.WithValue(ctx, dryRun{}, true) }

func isDryRun(ctx context.Context) bool { return ctx.Value(dryRun{}) != nil }
