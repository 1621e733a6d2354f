// Package role starts the processes of a running appliance, one package each: engine carries
// traffic, mgmt decides, netd handles privileged kernel objects, progd starts programs of
// operators, and hostd applies settings.
//
// A role is this same binary, started by cmd/supervisor with "sluice: NAME" as its first
// argument and the descriptors it needs (cmd/inherit). Main sets its process name, drops its
// privileges (cmd/harden) before any input is read, and ends it when the supervisor has
// ended.
package role

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/sluicelb/sluice/cmd/harden"
	"github.com/sluicelb/sluice/cmd/inherit"
	"github.com/sluicelb/sluice/cmd/role/engine"
	"github.com/sluicelb/sluice/cmd/role/hostd"
	"github.com/sluicelb/sluice/cmd/role/mgmt"
	"github.com/sluicelb/sluice/cmd/role/netd"
	"github.com/sluicelb/sluice/cmd/role/process"
	"github.com/sluicelb/sluice/cmd/role/progd"
	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/cmd/trim"
	"github.com/sluicelb/sluice/core/logpipe"
)

// prefix starts the first argument of every role.
const prefix = "sluice: "

// Named reports whether the program was started as a role, and returns its name.
func Named(args []string) (name string, ok bool) {
	if len(args) != 1 {
		return "", false
	}
	return strings.CutPrefix(args[0], prefix)
}

// Main runs the role of that name until it is stopped and returns the exit status of the
// process. The API shows version.
func Main(name, version string) int {
	slog.SetDefault(supervisor.Logger(name))
	switch err := run(name, version); {
	case err == nil:
		return 0
	case errors.Is(err, process.ErrFinal):
		return supervisor.ExitFinal
	case errors.Is(err, process.ErrAgain):
		return supervisor.ExitAgain
	default:
		slog.Error("role ends", "error", err)
		return 1
	}
}

func run(name, version string) error {
	_ = os.WriteFile("/proc/self/comm", []byte("sluice-"+name), 0) // a name for ps; not essential
	if kind, is := strings.CutPrefix(name, supervisor.HostPrefix); is {
		return hostd.Run(kind)
	}
	if name == "engine" {
		trim.ProgramAfter(supervisor.TrimTime) // the first clients find a warm heap
	} else {
		trim.After(supervisor.TrimTime)
	}
	set, err := inherit.FromEnv()
	if err != nil {
		return err
	}
	if err := logTo(set, name); err != nil {
		return err
	}
	p, err := process.New(set, version)
	if err != nil {
		return err
	}
	switch name {
	case "engine":
		return engine.Run(p)
	case "mgmt":
		return p.UntilStopped(harden.Manager, func(ctx context.Context) error { return mgmt.Run(ctx, p) })
	case "netd":
		return p.UntilStopped(harden.Helper, func(ctx context.Context) error { return netd.Run(ctx, p) })
	case "progd":
		s := progd.Sandbox()
		return p.UntilStopped(s.Close, func(ctx context.Context) error { return progd.Run(ctx, p, s) })
	}
	return fmt.Errorf("there is no role %q: engine, mgmt, netd and progd are known", name)
}

// logTo directs the log of the role to the inherited descriptors.
func logTo(set inherit.Set, name string) error {
	if log, err := set.File("log"); err == nil {
		// Standard error holds messages of the runtime; the log is separate.
		os.Stderr = log
		slog.SetDefault(supervisor.Logger(name))
	}
	pipe, err := set.File(supervisor.LogPipe)
	if err != nil {
		return nil // mgmt has none: it reads them
	}
	w, err := logpipe.NewWriter(pipe)
	if err != nil {
		return err
	}
	slog.SetDefault(slog.New(logpipe.Tap(slog.Default().Handler(), w)))
	return nil
}
