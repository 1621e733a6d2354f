package apply

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/system"
)

// Settings of the machine do not go to the engines. They are stored first and applied to the
// machine afterwards, and again at every start. A failure is a warning of the change and a
// problem until it is resolved; the change stays.

// Machine applies settings of the machine.
type Machine interface {
	// Check returns a *field.Error for settings that cannot work, e.g. an address this
	// machine does not have. It runs before anything changes and judges only differences
	// between old and new.
	Check(ctx context.Context, old, new *farm.System) error
	// Settle applies the settings, regardless of the previous state, and returns the failures
	// by section. It returns soon after ctx ends. Calls do not overlap.
	Settle(ctx context.Context, s *farm.System) (problems map[string]string)
}

// WithMachine adds Machines, which are called one after another.
func WithMachine(m ...Machine) Option {
	return func(a *Applier) { a.machines = append(a.machines, m...) }
}

// settleTime is the time limit for applying one change to the machine.
const settleTime = 20 * time.Second

// checkMachine refuses settings that the machine cannot have.
func (a *Applier) checkMachine(ctx context.Context, old, cfg *farm.Config) error {
	if sameSystem(old, cfg) {
		return nil
	}
	for _, m := range a.machines {
		if err := m.Check(ctx, &old.System, &cfg.System); err != nil {
			return err
		}
	}
	return nil
}

// sameSystem reports whether the settings of the machine are equal; aliases do not concern it.
func sameSystem(a, b *farm.Config) bool {
	x, y := a.System, b.System
	x.Aliases, y.Aliases = farm.Aliases{}, farm.Aliases{}
	return reflect.DeepEqual(&x, &y)
}

// release ends the turn and then applies the change to the machine. A reconnecting engine does
// not have to wait for system services.
func (a *Applier) release(ctx context.Context, r *Result, err *error) {
	a.unlock()
	if *err == nil && r.unsettled {
		r.Warnings = append(r.Warnings, a.Settle(ctx)...)
	}
}

// Settle applies the settings in force to the machine, at start and after a change, and returns
// the failures. It continues if ctx is cancelled.
func (a *Applier) Settle(ctx context.Context) []field.Error {
	a.settling <- struct{}{}
	defer func() { <-a.settling }()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	now, problems := a.now.Load().cfg, map[string]string{}
	for _, m := range a.machines {
		system := now.System.Clone()
		for section, problem := range m.Settle(ctx, &system) {
			if was := problems[section]; was != "" {
				problem = was + "; " + problem
			}
			problems[section] = problem
		}
	}
	a.unsettled.Store(&problems)
	return a.Unsettled()
}

// Unsettled returns the settings of the machine that could not be applied, by section. It never
// blocks.
func (a *Applier) Unsettled() (out []field.Error) {
	problems := *a.unsettled.Load()
	for _, section := range slices.Sorted(maps.Keys(problems)) {
		out = append(out, field.Error{Path: system.Path(section), Message: problems[section]})
	}
	return out
}
