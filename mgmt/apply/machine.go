package apply

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// The settings of the machine go another way than farms: no engine has them. They
// are kept first and brought to the machine then, and again at every start. What
// was not possible there is a warning of the change and a problem until it is
// settled; the change stays.

// Machine is who does what settings of the machine say.
type Machine interface {
	// Check tells before anything is changed what cannot be meant, as an address
	// this machine does not have, by a *validate.Error. Only what differs between the
	// two is to be judged.
	Check(ctx context.Context, old, new *farm.System) error
	// Settle makes the machine what the settings say, whatever it was before, and
	// returns what was not possible by section. It returns soon after ctx ends, and is
	// not called while it runs.
	Settle(ctx context.Context, s *farm.System) (problems map[string]string)
}

// WithMachine adds who does what settings of the machine say, one after the other.
func WithMachine(m ...Machine) Option {
	return func(a *Applier) { a.machines = append(a.machines, m...) }
}

// settleTime bounds what one change does to the machine.
const settleTime = 20 * time.Second

// checkMachine refuses what cannot be meant.
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

// sameSystem reports whether the machine is to be the same; it does not know aliases.
func sameSystem(a, b *farm.Config) bool {
	x, y := a.System, b.System
	x.Aliases, y.Aliases = farm.Aliases{}, farm.Aliases{}
	return reflect.DeepEqual(&x, &y)
}

// release gives the turn back and tells the machine what the change led to: an
// engine that comes back meanwhile waits for no service.
func (a *Applier) release(ctx context.Context, r *Result, err *error) {
	a.unlock()
	if *err == nil && r.unsettled {
		r.Warnings = append(r.Warnings, a.Settle(ctx)...)
	}
}

// Settle brings the settings in force to the machine, at start and after a change,
// and returns what was not possible. A caller who went away does not end it.
func (a *Applier) Settle(ctx context.Context) []validate.Error {
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

// Unsettled is what of the settings of the machine is not what they say, section by
// section. It never waits.
func (a *Applier) Unsettled() (out []validate.Error) {
	problems := *a.unsettled.Load()
	for _, section := range slices.Sorted(maps.Keys(problems)) {
		out = append(out, validate.Error{Path: validate.SectionPath(section), Message: problems[section]})
	}
	return out
}
