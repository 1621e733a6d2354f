package rest

import (
	"net/http"
	"time"

	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/trial"
)

// Query parameters of a change on trial.
const (
	confirmQuery = "confirm"
	guardQuery   = "guard"
	windowQuery  = "guard_window"
)

// noTrial rejects a trial parameter on an operation that cannot be on trial; it returns nil
// for other parameters.
func (o *Operation) noTrial(name string) error {
	switch {
	case name != confirmQuery && name != guardQuery && name != windowQuery:
		return nil
	case !o.Changes():
		return BadRequest("%s: it changes nothing that could go back; leave %s out", name, name)
	}
	return BadRequest("%s: it is no change of the configuration, and cannot go back by itself; leave %s out", name, name)
}

// NoConfiguration rejects trials and transactions for a call that could change the
// configuration, but this time does something else, described by what.
func (c *Call) NoConfiguration(what string) error {
	switch {
	case apply.DraftOf(c.Context) != nil:
		return BadRequest("%s %s", what, apply.ErrNoConfiguration)
	case c.Query(confirmQuery) != "":
		return BadRequest("confirm: %s is no change of the configuration, and cannot go back by itself; leave confirm out", what)
	case c.Query(guardQuery) != "":
		return BadRequest("guard: %s is no change of the configuration, and cannot go back by itself; leave guard out", what)
	}
	return nil
}

// onTrial puts a call on trial if its query requests that.
func (c *Call) onTrial() error {
	confirm, guard, window := c.Query(confirmQuery), c.Query(guardQuery), c.Query(windowQuery)
	switch {
	case confirm != "" && guard != "":
		return BadRequest("confirm and guard: one of them is allowed; a guard confirms by itself")
	case window != "" && guard == "":
		return BadRequest("guard_window: there is no guard")
	case confirm != "":
		d, err := time.ParseDuration(confirm)
		if err != nil || d < apply.LeastTrial || d > apply.MostTrial {
			return BadRequest("confirm: %q is not allowed, allowed is a time from %v to %v, as 5m", confirm, apply.LeastTrial, apply.MostTrial)
		}
		c.try(apply.Trial{Wait: c.bounded(d)})
	case guard != "":
		return c.onGuard(guard, window)
	}
	return nil
}

// longestOfSome bounds trials by callers who do not see all farms, because a pending change
// blocks the trials of all others.
const longestOfSome = 10 * time.Minute

func (c *Call) bounded(d time.Duration) time.Duration {
	if c.SeesAll() {
		return d
	}
	return min(d, longestOfSome)
}

func (c *Call) onGuard(guard, window string) error {
	spec, err := trial.Parse(guard)
	if err != nil {
		return BadRequest("%s", err)
	}
	if window != "" {
		d, err := time.ParseDuration(window)
		if err != nil {
			return BadRequest("guard_window: %q is no time, write it as 10m", window)
		}
		if spec.Window, err = trial.Window(d); err != nil {
			return BadRequest("%s", err)
		}
	}
	spec.Window = c.bounded(spec.Window)
	if !c.SeesAll() { // a fault of hidden farms must neither be shown nor revert the change
		spec.Sees = c.mayFarm
	}
	if c.host.Guard == nil {
		return BadRequest("guard: nothing is measured here; use confirm")
	}
	c.try(c.host.Guard(spec))
	return nil
}

// try puts the changes of a call on trial.
func (c *Call) try(t apply.Trial) {
	t.Needs = func() []string { return c.effects.needs }
	c.Context = apply.OnTrial(c.Context, t)
}

// MayConfirm returns an error unless the caller still has the permissions that a pending change
// needed: to confirm it amounts to making it.
func (c *Call) MayConfirm(p *apply.Pending) error {
	for _, need := range p.Needs {
		if !c.By.May(rbac.Permission(need)) {
			return Refuse(http.StatusForbidden, "you may not confirm this change any more: it needs the permission %q", need)
		}
	}
	return nil
}

// inTransaction rejects operations that are not allowed in transactions.
func (c *Call) inTransaction() error {
	if apply.DraftOf(c.Context) == nil || c.op.edits && !c.op.alone {
		return nil
	}
	if !c.op.Changes() {
		return BadRequest("it only asks: a transaction takes changes of the configuration")
	}
	return BadRequest("it is no change of the configuration that a transaction could take back: send it alone")
}
