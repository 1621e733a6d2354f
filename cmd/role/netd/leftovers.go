package netd

import (
	"context"
	"log/slog"
	"strings"

	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/l4/kernel"
	"github.com/sluicelb/sluice/sysnet/claim"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/host"
)

// Leftovers lists the objects of a stopped appliance in the kernel, where farms keep running.
// With clean it removes them and returns the removed ones. The directory data is the
// appliance's data directory, which has the previous values of sysctls. With the default
// directory (not named by the user) it removes objects only while no other appliance runs on
// this machine.
// Leftovers needs netd's privileges.
func Leftovers(ctx context.Context, data string, named, clean bool) ([]ctl.KernelObject, error) {
	if running := claim.Holders(); clean && !named && len(running) > 0 {
		return nil, &runningError{running}
	}
	stopped, err := supervisor.Stopped(data)
	if err != nil {
		return nil, err
	}
	defer stopped.Close()
	held, err := stopped.Slot()
	if err != nil {
		return nil, err
	}
	defer held.Close()
	claim.Use(held.Slot)
	quiet := slog.New(slog.DiscardHandler)
	machine := host.New(stopped.Journal, quiet)
	defer machine.Close()
	reconciler := kernel.New(kernel.Options{Filter: packetFilter(ctx), Log: quiet})
	if clean {
		return machine.Clean(ctx, reconciler)
	}
	return machine.Objects(ctx, reconciler)
}

// runningError means that the owner of the rules is ambiguous.
type runningError struct{ running []claim.Holder }

// Error names the running appliances.
func (e *runningError) Error() string {
	names := make([]string, len(e.running))
	for i, h := range e.running {
		names[i] = h.String()
	}
	return "an appliance runs on this machine: " + strings.Join(names, "; ") + ". Stop it, or name the data directory of the one to clean up after with --data"
}
