// Package netd is the privileged role: it opens listeners and sets up kernel farms for mgmt,
// and creates marked sockets for the engine.
package netd

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"os/signal"

	"github.com/sluicelb/sluice/cmd/role/process"
	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/stacks"
	"github.com/sluicelb/sluice/l4/kernel"
	"github.com/sluicelb/sluice/l4/kernel/icmprelay"
	"github.com/sluicelb/sluice/l4/kernel/iptables"
	"github.com/sluicelb/sluice/l4/kernel/nftables"
	"github.com/sluicelb/sluice/sysnet/claim"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/host"
	chains "github.com/sluicelb/sluice/sysnet/iptables"
	"github.com/sluicelb/sluice/sysnet/neigh"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// Run serves mgmt and the engine until ctx ends.
func Run(ctx context.Context, p *process.Process) error {
	last := lastClients(ctx) // first, because the signal ends an unprepared process
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
	published, err := process.Mapped(p.Set, "kinds", false, marks.OpenPublished)
	if err != nil {
		return err
	}
	if slot, err := claim.Parse(os.Getenv(supervisor.SlotVariable)); err == nil {
		claim.Use(slot)
	}
	machine := host.New(journal, slog.Default())
	defer machine.Close()
	relay := icmprelay.New(slog.Default())
	reconciler, err := kernelReconciler(ctx, p, machine, relay)
	if err != nil {
		return err
	}
	parts := reconciler.Parts()
	maps.Copy(parts, machine.Parts(reconciler))
	parts[ctl.OpMark], parts[ctl.OpPing] = ctl.MarkSocket, ctl.PingSocket
	parts[ctl.OpStacks] = ctl.About(func(context.Context, struct{}) (string, error) { return stacks.Text(), nil })
	if err := p.Ready(); err != nil {
		return err
	}
	go ctl.ServeMarks(ctx, engine, published, slog.Default())
	go reconciler.Run(ctx)
	go relay.Run(ctx)
	go machine.Run(ctx)
	hooks := ctl.Hooks{Heard: machine.Heard, Taken: new(nftables.Rivals).Taken}
	return ctl.Serve(ctx, last, l, []uint32{process.UIDFrom(supervisor.ManagerVariable)}, slog.Default(), parts, hooks)
}

// lastClients returns a channel that is closed when the supervisor announces that there will
// be no more clients, because all roles are about to end.
func lastClients(ctx context.Context) <-chan struct{} {
	told, last := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(told, supervisor.LastClients)
	go func() {
		select {
		case <-told:
			close(last)
		case <-ctx.Done():
		}
	}()
	return last
}

// kernelReconciler returns the reconciler of the packet filter with the farms, on a prepared
// machine.
func kernelReconciler(ctx context.Context, p *process.Process, machine *host.Host, relay *icmprelay.Relay) (*kernel.Reconciler, error) {
	healthTable, err := process.Mapped(p.Set, "health", false, health.OpenTable)
	if err != nil {
		return nil, err
	}
	o := kernel.Options{Filter: packetFilter(ctx), Health: healthTable, Ground: machine, Relay: relay, Log: slog.Default()}
	if w, err := neigh.Watch(slog.Default()); err != nil {
		slog.Warn("neighbours cannot be followed: farms with nattype dsr and stateless_dnat are not carried", "reason", err)
	} else {
		o.Neighbours = w
	}
	return kernel.New(o), nil
}

// packetFilter returns the packet filter of this system for kernel farms: nf_tables, or
// iptables if the kernel lacks it.
func packetFilter(ctx context.Context) kernel.Filter {
	if os.Getenv(supervisor.SlotVariable) == supervisor.NoSlot {
		return kernel.Unable{Reason: claim.ErrTaken}
	}
	run, err := nft.Find()
	if err == nil {
		if err = run.Check(ctx); !errors.Is(err, nft.ErrUnsupported) {
			return nftables.New(run, slog.Default()) // it reports other errors for each farm
		}
	}
	old, missing := chains.Find(chains.Legacy, "")
	if missing != nil {
		return kernel.Unable{Reason: errors.Join(err, missing)}
	}
	slog.Info("farms are carried by iptables", "reason", err)
	return iptables.New(old, slog.Default())
}
