package rest

import (
	"net/http"
	"path"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// A check whose command starts a program of this machine does what the words of the command
// say, here. So its command is set by callers with a right of its own, whatever kind of
// change it is part of; others may keep what there is. Some programs are refused to
// everybody: they are no plugins.

// permitPrograms looks at the commands that no check had before the change.
func (c *Call) permitPrograms(before, after *farm.Config) error {
	for i := range after.Checks {
		check := &after.Checks[i]
		program := c.startsAnew(before, check)
		if program == "" {
			continue
		}
		if err := c.mayStart("the health check " + Quote(check.Name) + " starts the program " + Quote(path.Base(program))); err != nil {
			return err
		}
		if err := probe.Unfit(check.Command); err != nil && !c.restoresAsRoot() {
			return &validate.Error{Path: validate.CheckPath(check.Name), Field: "command",
				Message: "command must not start " + Quote(path.Base(program)) + ": " + err.Error()}
		}
	}
	return nil
}

// startsAnew returns the program that a check starts; "" if it starts none, or if a check
// had the same command before: one that is copied or gets another name starts nothing new.
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

// mayStart refuses what starts a program to callers without the right to set that, and
// to sessions that are not raised: the program runs when the session is gone.
func (c *Call) mayStart(what string) error {
	if c.By.May(rbac.ProgramSet) {
		return c.needsRaised(what)
	}
	return Refuse(http.StatusForbidden, "%s: setting that needs the permission %q", what, rbac.ProgramSet)
}

// SetProgram refuses callers who may not set which program is started.
func (c *Call) SetProgram(what string) error { return c.mayStart(what) }

// restoresAsRoot reports whether root brings back what was there before: that must work
// with whatever was allowed then. Lint finds it.
func (c *Call) restoresAsRoot() bool {
	return c.By.Who.Root() && (c.op.Needs == rbac.BackupApply || c.op.Needs == rbac.HistoryRollback)
}

func (h *Host) sameCommand(a, b string) bool {
	if h.SameCommand == nil {
		return a == b
	}
	return h.SameCommand(a, b)
}
