package mgmt

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/cmd/harden"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/api/checks"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/farmstate"
	"github.com/sluicelb/sluice/mgmt/guardian"
	"github.com/sluicelb/sluice/mgmt/hook"
	"github.com/sluicelb/sluice/mgmt/metrics"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/all"
	"github.com/sluicelb/sluice/mgmt/probe/program"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// knowChecks registers the kinds of checks. It must precede the reading of any
// configuration, because checks know which of their flags are passwords. progd starts
// programs.
func knowChecks(by hook.Starter) {
	all.Use(program.All...)
	program.StartBy(by, harden.ProgramMayRun)
}

// newGuardian returns the guardian, which runs health checks until ctx ends.
func (m *manager) newGuardian(ctx context.Context, secrets apply.Secrets) *guardian.Guardian {
	netd := ctl.NewClient(netdSocket) // separate from that of changes, which may take long
	context.AfterFunc(ctx, netd.Hangup)
	return guardian.New(ctx, guardian.Options{
		Parse: func(command string) (probe.Probe, error) { return apply.ParseCommand(secrets, command) },
		Table: m.health, Log: slog.Default(), Cut: m.cutBackends, AtOnce: probesAtOnce(),
		Remembered: readVerdicts(verdictsFile),
		Resumed:    m.resumeHealth,
		Open:       m.openTo,
		Farm:       func(f *farm.Farm) (farm.Status, string) { return m.board().Now(nil).Look(f) },
		Network:    func(r guardian.Route) probe.Network { return &reach{source: r.Source, mark: r.Mark, netd: netd} },
	})
}

// resumeHealth passes the states of backends and farms before the restart to everything that
// reports changes. A checked backend or a farm that goes down during a restart must not do so
// silently. A backend whose name has no address was reported as down.
func (m *manager) resumeHealth(cfg *farm.Config) {
	earlier := farmstate.Earlier{}
	for i := range cfg.Farms {
		for _, g := range cfg.Farms[i].Groups() {
			for _, b := range g.Backends() {
				earlier[b.ID] = m.backendHealth(b.ID)
				if b.Unresolved() && !b.Spreads() {
					earlier[b.ID] = farm.StatusDown
				}
			}
		}
	}
	farms := m.earlierFarms()
	m.watch.health.Resume(earlier)
	m.watch.farms.Resume(farms)
	m.notify.Resume(earlier)
	m.states.Resume(earlier, farms)
}

// openTo returns the number of connections of farms by number. Kernel farms are included
// while netd responds.
func (m *manager) openTo(farms []*farm.Farm) map[uint32]uint64 {
	var kernel stats.Traffic
	known := true
	if slices.ContainsFunc(farms, (*farm.Farm).InKernel) {
		kernel, known = m.kernel.counts.soon()
	}
	out := make(map[uint32]uint64, len(farms))
	for _, f := range farms {
		if known || !f.InKernel() {
			out[f.ID] = m.counted(f, kernel).Established
		}
	}
	return out
}

// probesAtOnce bounds concurrent probes: half of the process's descriptors are reserved for
// other purposes.
func probesAtOnce() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return guardian.DefaultAtOnce
	}
	return int(min(guardian.DefaultAtOnce, max(1, limit.Cur/2)))
}

// checkBackends passes the current configuration to the guardian.
func (m *manager) checkBackends() {
	cfg, _ := m.applier.Current()
	m.guardian.Set(cfg)
}

// lookFarms updates backends that follow the status of a farm, once that is known.
func (m *manager) lookFarms() {
	if m.isInForce() {
		m.guardian.LookFarms()
	}
}

// cutTime bounds the time to end the connections of a backend.
const cutTime = 5 * time.Second

// cutBackends ends the connections of backends found down by a check, both tracked by the
// kernel and in the engine.
func (m *manager) cutBackends(ids []uint32) {
	ctx, cancel := context.WithTimeout(context.Background(), cutTime)
	defer cancel()
	cfg, _ := m.applier.Current()
	var tracked, relayed []uint32
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		for _, g := range f.Groups() {
			for _, b := range g.Backends() {
				switch {
				case !slices.Contains(ids, b.ID):
				case f.InKernel():
					tracked = append(tracked, b.ID)
				default:
					relayed = append(relayed, b.ID)
				}
			}
		}
	}
	report := func(n int, err error) {
		if err != nil {
			slog.Warn("connections of a backend that is down are not cut", "reason", err)
		} else if n > 0 {
			slog.Info("connections of a backend that is down are cut", "connections", n)
		}
	}
	if len(tracked) > 0 {
		report(m.kernel.FlushConnections(ctx, tracked))
	}
	if len(relayed) > 0 {
		report(forwarded{m.publisher}.FlushConnections(ctx, relayed))
	}
}

// checksResource makes the resource of health checks.
func (m *manager) checksResource(board *state.Board) api.Resource {
	return checks.New(checks.Deps{
		State: board, Guardian: m.guardian, SameCommand: m.sameCommand, Health: m.backendHealth, Checked: m.guardian.Why,
		Passive: m.passive, Lookup: lookupHost, Log: slog.Default(),
	})
}

// passive returns the engine's finding about a backend.
func (m *manager) passive(backend uint32) health.State { return m.health.Slot(backend).Passive() }

// lookupHost resolves a host name for a trial of a check.
func lookupHost(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// probed returns the counts of checks for metrics.
func (m *manager) probed() (out []metrics.Probed) {
	for check, n := range m.guardian.Counts() {
		out = append(out, metrics.Probed{Check: check, Healthy: n.Healthy, Failed: n.Failed, Seconds: n.Took.Seconds()})
	}
	return out
}

// marker sets marks on sockets and creates ICMP sockets; *ctl.Client implements it.
type marker interface {
	Mark(ctx context.Context, fd int, mark uint32) error
	Ping(ctx context.Context, v6 bool) (*os.File, error)
}

// reach is the network as seen by a farm's traffic: with its source address and its mark,
// which netd sets.
type reach struct {
	source netip.Addr
	mark   uint32
	netd   marker
}

// DialContext implements probe.Network.
func (r *reach) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{ControlContext: func(ctx context.Context, _, _ string, c syscall.RawConn) error {
		if err := r.marked(ctx, c); err != nil || !r.source.IsValid() {
			return err
		}
		return bindTo(c, r.source)
	}}
	return d.DialContext(ctx, network, address)
}

// ListenPacket implements probe.Network.
func (r *reach) ListenPacket(ctx context.Context, network, address string) (net.PacketConn, error) {
	if r.source.IsValid() {
		switch network {
		case probe.Ping4, probe.Ping6:
			address = r.source.String()
		default:
			address = netip.AddrPortFrom(r.source, 0).String()
		}
	}
	m := probe.Machine{Ping: r.netd.Ping, Listener: net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error { return r.marked(ctx, c) }}}
	return m.ListenPacket(ctx, network, address)
}

// marked sets the farm's mark. Without it the probe would take another route than traffic,
// so the result would be meaningless.
func (r *reach) marked(ctx context.Context, c syscall.RawConn) error {
	if r.mark == 0 {
		return nil
	}
	var set error
	if err := c.Control(func(fd uintptr) { set = r.netd.Mark(ctx, int(fd), r.mark) }); err != nil {
		return err
	}
	if set != nil {
		return probe.Local(fmt.Errorf("the mark of the farm's traffic cannot be set: %w", set))
	}
	return nil
}

// bindNoPort (IP_BIND_ADDRESS_NO_PORT) leaves the choice of a port to connect, which can
// share one between several servers.
const bindNoPort = 24

// bindTo binds a socket to a source address.
func bindTo(c syscall.RawConn, source netip.Addr) (err error) {
	failed := c.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, bindNoPort, 1)
		if source.Is4() {
			err = syscall.Bind(int(fd), &syscall.SockaddrInet4{Addr: source.As4()})
		} else {
			err = syscall.Bind(int(fd), &syscall.SockaddrInet6{Addr: source.As16()})
		}
	})
	if failed != nil {
		return failed
	}
	return err
}
