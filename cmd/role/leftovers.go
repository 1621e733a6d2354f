package role

import (
	"context"
	"log/slog"

	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/l4/kernel"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/host"
)

// Leftovers lists what an appliance that does not run any more left in the
// kernel, which goes on carrying farms; with clean it is removed, and the list
// is what is gone. data is the appliance's data directory: what sysctls were
// before stands there. It needs the rights netd has.
func Leftovers(ctx context.Context, data string, clean bool) ([]ctl.KernelObject, error) {
	journal, release, err := supervisor.Stopped(data)
	if err != nil {
		return nil, err
	}
	defer release()
	quiet := slog.New(slog.DiscardHandler)
	machine := host.New(journal, quiet)
	defer machine.Close()
	keeper := kernel.New(kernel.Options{Filter: packetFilter(ctx), Log: quiet})
	if clean {
		return machine.Clean(ctx, keeper)
	}
	return machine.Objects(ctx, keeper)
}
