package rest

import (
	"net/http"
	"path"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/check"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// A check whose command starts a local program runs whatever the command says on this
// machine. Setting such a command therefore needs a separate permission in every kind of
// change; existing commands may be kept. Some programs are rejected for everybody, because
// they are not plugins.

// permitPrograms checks the commands that no check had before the change.
func (c *Call) permitPrograms(before, after *farm.Config) error {
	for i := range after.Checks {
		now := &after.Checks[i]
		program := c.startsAnew(before, now)
		if program == "" {
			continue
		}
		if err := c.mayStart("the health now " + Quote(now.Name) + " starts the program " + Quote(path.Base(program))); err != nil {
			return err
		}
		if err := probe.Unfit(now.Command); err != nil && !c.restoresAsRoot() {
			return &field.Error{Path: check.Path(now.Name), Field: "command",
				Message: "command must not start " + Quote(path.Base(program)) + ": " + err.Error()}
		}
	}
	return nil
}

// startsAnew returns the program that a check starts. It returns "" if the check starts
// none, or if a check already had this command: copying or renaming a check starts nothing
// new.
func (c *Call) startsAnew(before *farm.Config, check *farm.Check) string {
	if old := farm.CheckAt(before.Checks, check.Name); old >= 0 && before.Checks[old].Command == check.Command {
		return ""
	}
	program := probe.Started(check.Command)
	if program == "" {
		return ""
	}
	for i := range before.Checks {
		if c.host.sameCommand(before.Checks[i].Command, check.Command) {
			return ""
		}
	}
	return program
}

// mayStart rejects callers without the permission to set programs, and sessions that are
// not raised, because the program outlives the session.
func (c *Call) mayStart(what string) error {
	if c.By.May(rbac.ProgramSet) {
		return c.needsRaised(what)
	}
	return Refuse(http.StatusForbidden, "%s: setting that needs the permission %q", what, rbac.ProgramSet)
}

// SetProgram rejects callers who may not choose the program to start.
func (c *Call) SetProgram(what string) error { return c.mayStart(what) }

// restoresAsRoot reports whether root restores an earlier state. That must work even if its
// programs are no longer allowed; lint reports them.
func (c *Call) restoresAsRoot() bool {
	return c.By.Who.Root() && (c.op.Needs == rbac.BackupApply || c.op.Needs == rbac.HistoryRollback)
}

func (h *Host) sameCommand(a, b string) bool {
	if h.SameCommand == nil {
		return a == b
	}
	return h.SameCommand(a, b)
}
