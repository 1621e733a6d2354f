package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/store"
)

// Pending is a change in force that is reverted unless it is confirmed. At most one exists. It
// is stored in the same transaction as its revision. Changes of other objects are still
// possible.
type Pending struct {
	// Revision is the change, Base the revision before it, to which the changed objects are
	// reverted.
	Revision uint64    `json:"revision"`
	Base     uint64    `json:"base"`
	By       Author    `json:"by"`
	Comment  string    `json:"comment,omitempty"`
	Since    time.Time `json:"since"`
	// Until is the time when it is reverted, or, with a guard, confirmed.
	Until time.Time     `json:"until"`
	Wait  time.Duration `json:"wait"`
	// Farms are the names of the changed farms.
	Farms []string `json:"farms"`
	// Needs are the permissions that the change needed. Its author needs them again to confirm it.
	Needs []string `json:"needs,omitempty"`
	// Guard is the result of Trial.Guard; nil means that a user must confirm.
	Guard json.RawMessage `json:"guard,omitempty"`
}

// PendingError reports that a pending change blocks this one (409). The farms it touched must
// not change, except by a revert, starts, stops and maintenance. Otherwise the revert would
// also discard changes of others or mix the two.
type PendingError struct {
	Pending
	// Left is the time left until the pending change ends.
	Left time.Duration
	// Reason is why this change would prevent the revert; nil means that it edits the pending
	// change.
	Reason error
}

// Error names the author, the time left and the remedy.
func (e *PendingError) Error() string { return e.text(" of " + e.By.Name) }

// Anonymous is Error without the author, for callers who may not see it.
func (e *PendingError) Anonymous() string { return e.text("") }

func (e *PendingError) text(author string) string {
	ends := "goes back"
	if e.Guard != nil {
		ends = "is confirmed by its guard"
	}
	text := fmt.Sprintf("revision %d%s is pending and %s in %v: confirm it (`sluice confirm`) or take it back (`sluice rollback`) first, or wait",
		e.Revision, author, ends, e.Left.Round(time.Second))
	if e.Reason != nil {
		text += fmt.Sprintf("; with this change it could not go back: %s", e.Reason)
	}
	return text
}

// ErrNotPending: the change is not pending (409).
var ErrNotPending = errors.New("is not pending")

// Outcomes of a pending change.
const (
	Confirmed = "confirmed"
	TakenBack = "taken back" // by a user
	WentBack  = "went back"  // automatically
)

// Ended is the end of a pending change.
type Ended struct {
	Pending
	Outcome string
	// Reason is why it was reverted, or the measurements of its guard.
	Reason string
	Author Author // who confirmed or reverted it; if automatic, its author
	At     time.Time
	// Now is the revision in force afterwards.
	Now uint64
}

// Pending returns the pending change, or nil. It never blocks.
func (a *Applier) Pending() *Pending { return a.pending.Load() }

// LastEnded returns the end of the last pending change since the start, or nil.
func (a *Applier) LastEnded() *Ended { return a.ended.Load() }

// PendingChanged receives a token after a change became pending or ended.
func (a *Applier) PendingChanged() <-chan struct{} { return a.signal }

// pendingDocument is the document that stores the pending change.
const pendingDocument = store.HistoryPrefix + "pending"

// documents returns the documents to write with a revision: the new pending change, or its
// deletion if the revision reverts it.
func (a *Applier) documents(next *Pending, back bool) map[string]any {
	switch {
	case next != nil:
		next.Since = a.clock()
		next.Until = next.Since.Add(next.Wait)
		return map[string]any{pendingDocument: next}
	case back:
		return map[string]any{pendingDocument: nil}
	}
	return nil
}

// begin records that a revision was written. next becomes pending; back means that the revision
// reverts the pending change.
func (a *Applier) begin(next *Pending, back bool, by Author, rev store.Revision) {
	if was := a.pending.Load(); was != nil && back {
		a.end(Ended{Pending: *was, Outcome: TakenBack, Author: by, Now: rev.Number})
	}
	if next != nil {
		a.pending.Store(next)
		a.tell()
	}
}

func (a *Applier) end(e Ended) {
	e.At, a.back = a.clock(), nil
	a.pending.Store(nil)
	a.ended.Store(&e)
	a.tell()
	level := slog.LevelInfo
	if e.Outcome == WentBack {
		level = slog.LevelWarn
	}
	a.log.Log(context.Background(), level, "pending change "+e.Outcome, "revision", e.Revision, "of", e.By.Name, "by", e.Author.Name, "reason", e.Reason, "now", e.Now)
	a.onEnded(e)
}

func (a *Applier) tell() {
	select {
	case a.signal <- struct{}{}:
	default:
	}
}

// whilePending refuses a change of objects that the pending change touched, and one that would
// prevent its revert. back means that the change itself is that revert.
func (a *Applier) whilePending(ctx context.Context, old, cfg *farm.Config) (back bool, err error) {
	p := a.pending.Load()
	if p == nil {
		return false, nil
	}
	w, err := a.wayBackOf(p)
	if err != nil {
		return false, a.inTheWay(err)
	}
	merged := w.merged(old)
	if document.Diff(merged, cfg) == "" || document.Diff(w.base, cfg) == "" {
		return true, nil
	}
	if onTrial(ctx) || w.blocks(old, cfg) {
		return false, a.pendingError()
	}
	next, err := a.before(p, cfg)
	if err != nil {
		return false, a.inTheWay(err)
	}
	if err := a.rules.Config(next); err != nil && a.rules.Config(merged) == nil {
		return false, a.inTheWay(err)
	}
	return false, nil
}

// pendingError returns a PendingError while a change is pending, else nil.
func (a *Applier) pendingError() error { return a.inTheWay(nil) }

func (a *Applier) inTheWay(reason error) error {
	if p := a.pending.Load(); p != nil {
		return &PendingError{*p, max(0, p.Until.Sub(a.clock())), reason}
	}
	return nil
}

// Confirm keeps the pending change. It returns ErrNotPending if revision is not the pending
// one. reason has the measurements of a guard and is blank if a user confirms.
func (a *Applier) Confirm(ctx context.Context, by Author, revision uint64, reason string) error {
	if err := a.lock(ctx); err != nil {
		return err
	}
	defer a.unlock()
	p, err := a.pendingAt(revision)
	if err == nil {
		err = a.admit(ctx)
	}
	if err != nil {
		return err
	}
	if isDryRun(ctx) {
		return ErrDryRun
	}
	if err := a.store.DeleteDocument(pendingDocument); err != nil {
		return err
	}
	a.end(Ended{Pending: *p, Outcome: Confirmed, Reason: reason, Author: by, Now: a.now.Load().rev.Number})
	return nil
}

func (a *Applier) pendingAt(revision uint64) (*Pending, error) {
	if p := a.pending.Load(); p != nil && p.Revision == revision {
		return p, nil
	}
	return nil, fmt.Errorf("revision %d %w", revision, ErrNotPending)
}

// GoBack reverts the pending change with a new revision. The rules do not apply: that
// configuration was in force, and a fault in it must not preserve an unconfirmed change. source
// is the component that decided, reason its reason.
func (a *Applier) GoBack(ctx context.Context, revision uint64, source, reason string) error {
	return a.goBack(ctx, revision, func(p *Pending) Ended {
		return Ended{Pending: *p, Outcome: WentBack, Reason: reason, Author: Author{Name: p.By.Name, Source: source}}
	})
}

// TakeBack reverts the pending change on request of a user.
func (a *Applier) TakeBack(ctx context.Context, by Author, revision uint64) (Result, error) {
	err := a.goBack(ctx, revision, func(p *Pending) Ended {
		return Ended{Pending: *p, Outcome: TakenBack, Reason: TakenBack, Author: by}
	})
	cfg, rev := a.Current()
	return Result{Config: cfg, Revision: rev, FarmErrors: a.Problems()}, err
}

func (a *Applier) goBack(ctx context.Context, revision uint64, how func(*Pending) Ended) (err error) {
	if err := a.lock(ctx); err != nil {
		return err
	}
	var r Result
	defer a.release(ctx, &r, &err)
	p, err := a.pendingAt(revision)
	if err == nil {
		err = a.admit(ctx)
	}
	if err != nil {
		return err
	}
	if isDryRun(ctx) {
		return ErrDryRun
	}
	old := a.now.Load()
	next, err := a.before(p, old.cfg)
	if err != nil {
		return err
	}
	if err := a.store.Ready(); err != nil {
		return err
	}
	restore := func(err error) error { return err }
	if !reflect.DeepEqual(old.cfg.Farms, next.Farms) {
		restore = func(err error) error { return a.restore(ctx, old.cfg, err) }
		out, err := a.publish(ctx, next)
		if err != nil {
			return restore(err)
		}
		a.acknowledged(out)
	}
	rev, err := a.goneBack(how(p), next)
	if err != nil {
		return restore(err)
	}
	a.told(old.cfg, next, rev)
	r.unsettled = !sameSystem(old.cfg, next)
	return nil
}

// before returns cfg without the pending change, with the IDs of cfg.
func (a *Applier) before(p *Pending, cfg *farm.Config) (*farm.Config, error) {
	w, err := a.wayBackOf(p)
	if err != nil {
		return nil, err
	}
	next := w.merged(cfg)
	document.Carry(cfg, next)
	a.giveNumbers(cfg, next)
	if err := a.store.GiveIDs(next); err != nil {
		return nil, err
	}
	a.addParts(cfg, next, nil)
	return next, a.store.GiveIDs(next)
}

// goneBack writes the revision that reverts a pending change.
func (a *Applier) goneBack(e Ended, next *farm.Config) (store.Revision, error) {
	comment := cut(fmt.Sprintf("%s: back to revision %d", e.Reason, e.Base))
	old := a.now.Load().cfg
	rev, err := a.store.Commit(next, store.Meta{Author: e.Author.Name, Source: e.Author.Source, Comment: comment,
		Time: a.clock(), Documents: map[string]any{pendingDocument: nil}, Settings: a.keptSerials(old, next, false)})
	if err != nil {
		return rev, err
	}
	rev.Diff = ""
	a.versions.note(old, next, rev.Number)
	a.now.Store(&state{next, rev})
	e.Now = rev.Number
	a.end(e)
	return rev, nil
}

// NotConfirmed is the reason of a revert after the timeout, TimerSource its source.
const (
	NotConfirmed = "not confirmed"
	TimerSource  = "confirm"
)

// loadPending reads the pending change. If its time ended while the process was down, it is
// reverted before anything is published.
func (a *Applier) loadPending() {
	var p Pending
	found, err := a.store.ReadDocument(pendingDocument, &p)
	now := a.now.Load()
	switch {
	case err != nil:
		a.log.Error("the pending change cannot be read: it will not go back by itself", "error", err)
		return
	case !found:
		return
	case !a.hasRevisions(&p, now.rev.Number): // a store that was assembled by hand
		a.log.Warn("a pending change is forgotten: it or the one before is not in the history", "revision", p.Revision, "newest", now.rev.Number)
		if err := a.store.DeleteDocument(pendingDocument); err != nil {
			a.log.Error("the pending change cannot be deleted", "error", err)
		}
		return
	}
	// The clock may have been set meanwhile: a trial must not last longer than requested.
	p.Until = a.clock().Add(min(p.Until.Sub(a.clock()), p.Wait))
	a.pending.Store(&p)
	a.tell()
	if p.Guard != nil || a.clock().Before(p.Until) {
		return
	}
	next, err := a.before(&p, now.cfg)
	if err == nil {
		_, err = a.goneBack(Ended{Pending: p, Outcome: WentBack, Reason: NotConfirmed, Author: Author{Name: p.By.Name, Source: TimerSource}}, next)
	}
	if err != nil { // mgmt/trial retries
		a.log.Error("a change that was not confirmed could not go back yet", "revision", p.Revision, "error", err)
	}
}

// hasRevisions reports whether a pending change can be reverted.
func (a *Applier) hasRevisions(p *Pending, newest uint64) bool {
	_, err := a.wayBackOf(p)
	return p.Base < p.Revision && p.Revision <= newest && !errors.Is(err, store.ErrNotFound)
}

// cut limits a generated comment to MaxComment bytes.
func cut(text string) string {
	if len(text) <= MaxComment {
		return text
	}
	const more = "…"
	end := MaxComment - len(more)
	for end > 0 && text[end]&0xc0 == 0x80 {
		end--
	}
	return text[:end] + more
}
