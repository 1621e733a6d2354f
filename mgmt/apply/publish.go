package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// publish publishes cfg once. Cancelling ctx does not stop it, as the engines may already have
// the configuration.
func (a *Applier) publish(ctx context.Context, cfg *farm.Config) (Outcome, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.timeout)
	defer cancel()
	out, err := a.pub.Publish(ctx, a.usable.Of(cfg))
	var refused *Refused
	switch {
	case err == nil, errors.As(err, &refused), errors.Is(err, ErrUnavailable):
		return out, err
	case ctx.Err() != nil:
		return out, fmt.Errorf("%w: no answer within %v: %w", ErrUnavailable, a.timeout, err)
	}
	return out, fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// check refuses a change before the publication if possible, so that it ends no connections.
func (a *Applier) check(ctx context.Context, old, cfg *farm.Config) error {
	c, able := a.pub.(Checker)
	if !able {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.timeout)
	defer cancel()
	err := c.Check(ctx, a.usable.Of(cfg), func(out Outcome) error { return a.judge(old, cfg, out) })
	if ctx.Err() != nil {
		return nil // the publication reports it
	}
	return err
}

// acknowledged records that the current configuration is in force.
func (a *Applier) acknowledged(out Outcome) {
	problems := out.FarmErrors
	if problems == nil {
		problems = map[uint32]string{}
	}
	if !maps.Equal(problems, *a.problems.Load()) { // otherwise the Standing is the same
		a.problems.Store(&problems)
	}
	a.absent.Store(&out.Absent)
	a.inSync.Store(true)
}

// restore publishes the old configuration after a change failed for cause, and returns cause.
// It also does so after a refusal, because netd may have opened sockets that the engine
// refused.
func (a *Applier) restore(ctx context.Context, old *farm.Config, cause error) error {
	out, err := a.publish(ctx, old)
	if err != nil {
		a.inSync.Store(false)
		return cause
	}
	a.acknowledged(out)
	return cause
}

// judge refuses a publication in which a changed farm does not run: a user who starts or
// creates a farm must know that its port is in use. Unchanged farms, older problems and missing
// addresses do not block the change.
func (a *Applier) judge(old, cfg *farm.Config, out Outcome) error {
	if len(out.FarmErrors) == 0 {
		return nil
	}
	known := *a.problems.Load()
	before := make(map[uint32]*farm.Farm, len(old.Farms))
	for i := range old.Farms {
		before[old.Farms[i].ID] = &old.Farms[i]
	}
	bad := map[uint32]string{}
	reason := ""
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		problem, has := out.FarmErrors[f.ID]
		was := before[f.ID]
		if !has || out.Absent[f.ID] || (was != nil && reflect.DeepEqual(was, f)) {
			continue
		}
		if _, old := known[f.ID]; old && was != nil && sameListener(was, f) {
			continue
		}
		bad[f.ID] = problem
		if reason == "" {
			reason = fmt.Sprintf("farm %q: %s", f.Name, problem)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return &Refused{Reason: reason, Farms: bad}
}

// sameListener reports whether the addresses and ports of a farm are unchanged.
func sameListener(a, b *farm.Farm) bool {
	return a.VIP == b.VIP && a.PortsText() == b.PortsText() && a.Stopped == b.Stopped && a.SettingsProfile() == b.SettingsProfile() && a.Reach() == b.Reach()
}

// Republish publishes the current configuration again: at start, after a restart of an engine
// or netd, and while InSync is false. Host names keep their last addresses, so that traffic
// does not depend on a name server.
func (a *Applier) Republish(ctx context.Context) (Outcome, error) {
	if err := a.lock(ctx); err != nil {
		return Outcome{}, err
	}
	defer a.unlock()
	return a.republish(ctx, a.now.Load().cfg)
}

// CheckCurrent checks the configuration in force, so that the next change checks only its own
// differences: a zone with a million records takes a second. It runs concurrently with changes.
func (a *Applier) CheckCurrent() { a.checked.InForce(a.now.Load().cfg) }

func (a *Applier) republish(ctx context.Context, cfg *farm.Config) (Outcome, error) {
	out, err := a.publish(ctx, cfg)
	if err != nil {
		a.inSync.Store(false)
		return out, err
	}
	a.acknowledged(out)
	return out, nil
}

// Restart closes and reopens the listener of a farm; a stopped farm is started, which writes a
// revision. Connections of layer 4 end at once despite a stop grace: with it they would never
// end because the farm runs again. Running exchanges of http farms finish. It returns
// ErrNotFound if the farm does not exist.
func (a *Applier) Restart(ctx context.Context, by Author, name string) (Result, error) {
	if d := DraftOf(ctx); d != nil {
		return d.Restart(ctx, by, name)
	}
	if f := a.now.Load().cfg.Farm(name); f != nil && f.Stopped {
		return a.Change(ctx, by, "start "+name, 0, func(cfg *farm.Config) error {
			f := cfg.Farm(name)
			if f == nil {
				return fmt.Errorf("farm %q: %w", name, ErrNotFound)
			}
			f.Stopped = false
			return nil
		})
	}
	if err := a.lock(ctx); err != nil {
		return Result{}, err
	}
	defer a.unlock()
	now := a.now.Load()
	without := now.cfg.Clone()
	f := without.Farm(name)
	if f == nil {
		return Result{}, fmt.Errorf("farm %q: %w", name, ErrNotFound)
	}
	if err := a.admit(ctx); err != nil {
		return Result{}, err
	}
	f.StopAtOnce()
	if isDryRun(ctx) {
		return Result{Config: without, Revision: now.rev}, ErrDryRun // a real restart ends its connections
	}
	if _, err := a.publish(ctx, without); err != nil {
		return Result{}, a.restore(ctx, now.cfg, err)
	}
	out, err := a.republish(ctx, now.cfg)
	if err != nil {
		return Result{}, err
	}
	if problem, bad := out.FarmErrors[f.ID]; bad && !out.Absent[f.ID] {
		return Result{}, &Refused{Reason: fmt.Sprintf("farm %q: %s", name, problem), Farms: map[uint32]string{f.ID: problem}}
	}
	return Result{Config: now.cfg, Revision: now.rev, Unchanged: true, FarmErrors: out.FarmErrors, Absent: out.Absent}, nil
}

// warnAbsent returns warnings about the changed farms that wait for their address.
func warnAbsent(old, cfg *farm.Config, out Outcome) (warnings []field.Error) {
	if len(out.Absent) == 0 {
		return nil
	}
	before := make(map[uint32]*farm.Farm, len(old.Farms))
	for i := range old.Farms {
		before[old.Farms[i].ID] = &old.Farms[i]
	}
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if was := before[f.ID]; out.Absent[f.ID] && (was == nil || !sameListener(was, f)) {
			warnings = append(warnings, waits(f, out.FarmErrors[f.ID]))
		}
	}
	return warnings
}
