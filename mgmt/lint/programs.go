package lint

import (
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
)

// programs reports checks that start a local program. It runs for every backend and
// interval, and a program that is no plugin can do anything.
func (l *look) programs(cfg *farm.Config, f *farm.Farm) {
	for _, g := range f.Groups() {
		at := farm.CheckAt(cfg.Checks, g.CheckedBy())
		if at < 0 {
			continue
		}
		name, program, unfit := cfg.Checks[at].Name, "", error(nil)
		if program, unfit = l.evidence.Program(cfg.Checks[at].Command); program == "" {
			continue
		}
		found := Finding{Code: CheckProgram, Severity: Info, Farm: f.Name, Service: g.Name(), Field: "farmguardian",
			Message:  fmt.Sprintf("the health check %s of %s starts the program %s on this machine", name, g, program),
			Evidence: "the command of the check",
			Advice:   "nothing, if it is the plugin you chose; built-in checks need no program"}
		if unfit != nil {
			found.Code, found.Severity = CheckUnfit, Warning
			found.Message = fmt.Sprintf("the health check %s of %s starts %s, which new checks may not start: %s", name, g, program, unfit)
			found.Advice = "use a built-in check, or a plugin that asks the server itself: put one of yours into a plugin folder, as root"
		}
		l.add(found)
	}
}
