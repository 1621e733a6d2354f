package trial

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/farmstate"
	"github.com/sluicelb/sluice/mgmt/store"
)

// Applier holds the pending change; *apply.Applier implements it.
type Applier interface {
	Current() (*farm.Config, store.Revision)
	Pending() *apply.Pending
	PendingChanged() <-chan struct{}
	Confirm(ctx context.Context, by apply.Author, revision uint64, reason string) error
	GoBack(ctx context.Context, revision uint64, source, reason string) error
}

// Options holds the parameters of a Watcher; all must be set.
type Options struct {
	Applier  Applier
	Counters Counters
	Health   farmstate.Health
	Now      func() time.Time
	Log      *slog.Logger
}

// Watcher confirms or reverts the pending change.
type Watcher struct {
	options Options

	revision uint64 // the change of the following fields
	until    time.Time
	moments  []moment // of the last minute, oldest first
	few      bool     // too few backends were up at the last check
	failed   string   // why it could not be reverted yet
	progress atomic.Pointer[Progress]
}

// Progress is the state of the watched change.
type Progress struct {
	Revision uint64
	// Measured is the value of each condition since the change, e.g. "errors 0.2% (3 of
	// 1500 answers)".
	Measured []string
	// Until is when the window ends.
	Until time.Time
	// Problem is the reason why a change that must be reverted is still in effect.
	Problem string
}

// New makes a Watcher.
func New(o Options) *Watcher { return &Watcher{options: o} }

const (
	// lookEvery is the interval of checks, and of attempts to revert.
	lookEvery = 2 * time.Second
	// recent is the second time that is judged, besides the time since the change.
	recent = time.Minute
	// asleep is the longest time without looking at the clock, which may be set.
	asleep = time.Minute
	// carryOut limits the time of one attempt to revert.
	carryOut = 30 * time.Second
)

// GuardSource is the source of a guard's revision in the history.
const GuardSource = "guard"

// Progress returns the state of the pending change, nil if none is watched.
func (w *Watcher) Progress() *Progress { return w.progress.Load() }

// Run checks until ctx ends. While nothing is pending it sleeps.
func (w *Watcher) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.options.Applier.PendingChanged():
		case <-timer.C:
		}
		timer.Stop()
		if next := w.Look(ctx); next > 0 {
			timer.Reset(next)
		}
	}
}

// Look checks once and returns when to check again; 0: when something is pending again.
func (w *Watcher) Look(ctx context.Context) time.Duration {
	p, now := w.options.Applier.Pending(), w.options.Now()
	if p == nil {
		w.revision, w.moments = 0, nil
		w.progress.Store(nil)
		return 0
	}
	if p.Revision != w.revision {
		w.begin(p, now)
	}
	left := w.until.Sub(now)
	if len(p.Guard) == 0 {
		if left > 0 {
			return min(left, asleep)
		}
		return w.goBack(ctx, p, apply.TimerSource, apply.NotConfirmed)
	}
	return w.guarded(ctx, p, now, left)
}

// begin starts to watch a change. If its window ended while the watcher did not run, the
// change is watched for a while longer.
func (w *Watcher) begin(p *apply.Pending, now time.Time) {
	w.revision, w.until, w.moments, w.few, w.failed = p.Revision, p.Until, nil, false, ""
	if len(p.Guard) > 0 && !now.Before(p.Until) {
		w.until = now.Add(min(recent, p.Wait))
	}
	w.progress.Store(&Progress{Revision: p.Revision, Until: w.until})
}

// guarded judges the conditions. It ends the change if one is not met or the window is
// over.
func (w *Watcher) guarded(ctx context.Context, p *apply.Pending, now time.Time, left time.Duration) time.Duration {
	g, spec, err := read(p)
	if err != nil { // from another release: nothing shows that all is well
		return w.goBack(ctx, p, GuardSource, "its guard cannot be read: "+err.Error())
	}
	cfg, _ := w.options.Applier.Current()
	broken, measured := w.judge(cfg, g, spec, now, left <= 0)
	w.progress.Store(&Progress{Revision: p.Revision, Measured: measured, Until: w.until, Problem: w.failed})
	switch {
	case broken != "":
		return w.goBack(ctx, p, GuardSource, broken)
	case left > 0:
		return min(left, lookEvery)
	}
	reason := strings.Join(measured, ", ")
	if err := w.options.Applier.Confirm(ctx, apply.Author{Name: p.By.Name, Source: GuardSource}, p.Revision, reason); err != nil && !errors.Is(err, apply.ErrNotPending) {
		return w.retry("the guard cannot confirm the change yet", p, err)
	}
	return 0
}

// judge returns the first condition that is not met, with its value, and the values of all
// conditions since the change.
func (w *Watcher) judge(cfg *farm.Config, g guard, spec Spec, now time.Time, over bool) (broken string, measured []string) {
	here := moment{now, map[string]totals{}}
	var farms []*farm.Farm
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if _, watched := g.Farms[f.Name]; watched {
			here.farms[f.Name], farms = totalsOf(w.options.Counters, f), append(farms, f)
		}
	}
	w.remember(here)
	whole, last := here.since(g.Farms), totals{}
	if oldest := w.moments[0]; now.Sub(oldest.at) >= recent { // otherwise it is the same
		last = here.since(oldest.farms)
	}
	note := func(v verdict, when string) {
		if v.broken && broken == "" {
			broken = fmt.Sprintf("%s %s%s is not %s", v.condition.Metric, v.measured, when, v.condition)
		}
	}
	for _, c := range spec.Conditions {
		v := w.verdict(c, whole, farms, over)
		text := fmt.Sprintf("%s %s", c.Metric, v.measured)
		if !v.judged {
			text += ", too few to judge"
		}
		measured = append(measured, text)
		note(v, "")
		note(judge(c, last), " in the last minute")
	}
	return broken, measured
}

func (w *Watcher) verdict(c Condition, t totals, farms []*farm.Farm, over bool) verdict {
	switch c.Metric {
	case Requests:
		return verdict{condition: c, judged: true, broken: over && !c.holds(float64(t.Answers)), measured: fmt.Sprint(t.Answers)}
	case BackendsUp:
		name, up := fewest(farms, w.options.Health)
		before := w.few
		w.few = !c.holds(float64(up))
		return verdict{condition: c, judged: true, broken: w.few && (before || over), measured: fmt.Sprintf("%d of farm %s", up, name)}
	}
	return judge(c, t)
}

// remember keeps the moments of the last minute, and one before that.
func (w *Watcher) remember(m moment) {
	w.moments = append(w.moments, m)
	for len(w.moments) > 1 && m.at.Sub(w.moments[1].at) >= recent {
		w.moments = w.moments[1:]
	}
}

func (w *Watcher) goBack(ctx context.Context, p *apply.Pending, source, reason string) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, carryOut)
	defer cancel()
	err := w.options.Applier.GoBack(ctx, p.Revision, source, reason)
	if err == nil || errors.Is(err, apply.ErrNotPending) {
		return 0
	}
	return w.retry("the change cannot go back yet", p, err)
}

// retry logs, once, why the change is still pending.
func (w *Watcher) retry(what string, p *apply.Pending, err error) time.Duration {
	if text := err.Error(); text != w.failed {
		w.failed = text
		w.options.Log.Error(what, "revision", p.Revision, "error", err)
	}
	now := *w.progress.Load()
	now.Problem = w.failed
	w.progress.Store(&now)
	return lookEvery
}
