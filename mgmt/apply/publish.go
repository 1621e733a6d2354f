package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// publish asks the engines once. A caller who went away does not cancel it: the
// engines may have taken the configuration already.
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

// check refuses a change beforehand if that is possible: what was never in force
// has ended no connection.
func (a *Applier) check(ctx context.Context, old, cfg *farm.Config) error {
	c, able := a.pub.(Checker)
	if !able {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.timeout)
	defer cancel()
	err := c.Check(ctx, a.usable.Of(cfg), func(out Outcome) error { return a.judge(old, cfg, out) })
	if ctx.Err() != nil {
		return nil // the publication will tell
	}
	return err
}

// acknowledged remembers that the current configuration is in force.
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

// restore publishes the old configuration again after a change failed for
// cause, which it returns: also after a rejection, because netd may have opened
// what the engine then did not want.
func (a *Applier) restore(ctx context.Context, old *farm.Config, cause error) error {
	out, err := a.publish(ctx, old)
	if err != nil {
		a.inSync.Store(false)
		return cause
	}
	a.acknowledged(out)
	return cause
}

// judge refuses a publication in which a farm that was changed does not run:
// whoever starts or creates a farm wants to know that its port is taken. A
// farm nobody touched, or one whose problem is older than this change, does
// not stop the change, nor does one whose address this machine does not have now.
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

// sameListener reports whether what lets clients reach a farm did not change.
func sameListener(a, b *farm.Farm) bool {
	return a.VIP == b.VIP && a.PortsText() == b.PortsText() && a.Stopped == b.Stopped && a.SettingsProfile() == b.SettingsProfile() && a.Reach() == b.Reach()
}

// Republish publishes the current configuration again: at start, after an
// engine or netd came back, and while InSync is false. Host names keep their
// last known addresses, so that traffic never waits for a name server.
func (a *Applier) Republish(ctx context.Context) (Outcome, error) {
	if err := a.lock(ctx); err != nil {
		return Outcome{}, err
	}
	defer a.unlock()
	return a.republish(ctx, a.now.Load().cfg)
}

// CheckCurrent checks the configuration in force, so that the next change has to check only
// what it changes: a zone of a million records takes a second. It does not wait for changes,
// nor do they wait for it.
func (a *Applier) CheckCurrent() { _, _ = a.checked.Config(a.now.Load().cfg) }

func (a *Applier) republish(ctx context.Context, cfg *farm.Config) (Outcome, error) {
	out, err := a.publish(ctx, cfg)
	if err != nil {
		a.inSync.Store(false)
		return out, err
	}
	a.acknowledged(out)
	return out, nil
}

// Restart closes and opens the listener of a farm again; a stopped farm is
// started, which is a revision. It ends the connections of layer 4 at once,
// whatever grace a stop would give them: with a grace they would never end,
// because the farm runs again. Exchanges of http farms that are under way finish.
// ErrNotFound when there is no such farm.
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
	f.StopAtOnce()
	if isDryRun(ctx) {
		return Result{Config: without, Revision: now.rev}, ErrDryRun // what it carries ends
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

// warnAbsent says which farms a change has wait for their address.
func warnAbsent(old, cfg *farm.Config, out Outcome) (warnings []validate.Error) {
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
