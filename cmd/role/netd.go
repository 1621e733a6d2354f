package role

import (
	"context"
	"errors"
	"log/slog"
	"maps"

	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/l4/kernel"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/host"
	"github.com/sluicelb/sluice/sysnet/iptables"
	"github.com/sluicelb/sluice/sysnet/neigh"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// netd answers mgmt, has the kernel carry farms, and makes sockets with a mark
// for the engine.
func (p *process) netd(ctx context.Context) error {
	l, err := p.UnixListener("netd")
	if err != nil {
		return err
	}
	engine, err := p.UnixConn("marks")
	if err != nil {
		return err
	}
	journal, err := p.File("journal")
	if err != nil {
		return err
	}
	published, err := mapped(p, "kinds", false, marks.OpenPublished)
	if err != nil {
		return err
	}
	machine := host.New(journal, slog.Default())
	defer machine.Close()
	keeper, err := p.kernelKeeper(ctx, machine)
	if err != nil {
		return err
	}
	parts := keeper.Parts()
	maps.Copy(parts, machine.Parts(keeper))
	if err := p.ready(); err != nil {
		return err
	}
	go ctl.ServeMarks(ctx, engine, published, slog.Default())
	go keeper.Run(ctx)
	go keeper.CarryErrors(ctx)
	go machine.Run(ctx)
	return ctl.Serve(ctx, l, []uint32{uidFrom(supervisor.ManagerVariable)}, slog.Default(), parts, machine.Heard)
}

// kernelKeeper makes what keeps the packet filter equal to the farms, on a
// machine that is made fit for them.
func (p *process) kernelKeeper(ctx context.Context, machine *host.Host) (*kernel.Keeper, error) {
	board, err := mapped(p, "board", false, health.OpenBoard)
	if err != nil {
		return nil, err
	}
	o := kernel.Options{Filter: packetFilter(ctx), Board: board, Ground: machine, Log: slog.Default()}
	if w, err := neigh.Watch(slog.Default()); err != nil {
		slog.Warn("neighbours cannot be followed: farms with nattype dsr and stateless_dnat are not carried", "reason", err)
	} else {
		o.Neighbours = w
	}
	return kernel.New(o), nil
}

// packetFilter is the way this system carries farms in the kernel: by nf_tables,
// and where the kernel has none by iptables.
func packetFilter(ctx context.Context) kernel.Filter {
	run, err := nft.Find()
	if err == nil {
		if err = run.Check(ctx); !errors.Is(err, nft.ErrUnsupported) {
			return kernel.NewNftables(run, slog.Default()) // what else is wrong, it says of every farm
		}
	}
	old, missing := iptables.Find(iptables.Legacy, "")
	if missing != nil {
		return kernel.Unable{Reason: errors.Join(err, missing)}
	}
	slog.Info("farms are carried by iptables", "reason", err)
	return kernel.NewIptables(old, slog.Default())
}
