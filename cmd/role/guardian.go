package role

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
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/guardian"
	"github.com/sluicelb/sluice/mgmt/hook"
	"github.com/sluicelb/sluice/mgmt/metrics"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/all"
	"github.com/sluicelb/sluice/mgmt/probe/program"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// knowChecks has commands of checks read from here on; passwords in them are found by
// what each check says of its flags, so that it comes before any configuration is read.
// Programs are started by progd.
func knowChecks(by hook.Starter) {
	all.Use(program.All...)
	program.StartBy(by, harden.ProgramMayRun)
}

// newGuardian makes who asks backends by their checks, until ctx ends.
func (m *manager) newGuardian(ctx context.Context, secrets apply.Secrets) *guardian.Guardian {
	netd := ctl.NewClient(netdSocket) // apart from that of changes, which may take long
	context.AfterFunc(ctx, netd.Hangup)
	return guardian.New(ctx, guardian.Options{
		Parse: func(command string) (probe.Probe, error) { return apply.ParseCommand(secrets, command) },
		Table: m.health, Log: slog.Default(), Cut: m.cutBackends, AtOnce: probesAtOnce(),
		Remembered: readVerdicts(verdictsFile),
		Open:       m.openTo,
		Farm:       func(f *farm.Farm) (farm.Status, string) { return m.board().Look(f) },
		Network:    func(r guardian.Route) probe.Network { return &reach{source: r.Source, mark: r.Mark, netd: netd} },
	})
}

// openTo is how many connections farms have, by number; of those in the kernel while it
// can be asked.
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

// probesAtOnce is how many probes may be under way: half of the descriptors this process
// may have are for other things.
func probesAtOnce() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return guardian.DefaultAtOnce
	}
	return int(min(guardian.DefaultAtOnce, max(1, limit.Cur/2)))
}

// checkBackends has the backends asked that the configuration in force has.
func (m *manager) checkBackends() {
	cfg, _ := m.applier.Current()
	m.guardian.Set(cfg)
}

// lookFarms has backends be as the farms of this appliance are that they follow, once it
// is known how these are.
func (m *manager) lookFarms() {
	if m.isInForce() {
		m.guardian.LookFarms()
	}
}

// cutTime bounds how long ending the connections of a backend may take.
const cutTime = 5 * time.Second

// cutBackends ends the connections of backends that a check found down: those the
// kernel tracks, and those the engine relays or proxies.
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

// passive is what engines found of a backend.
func (m *manager) passive(backend uint32) health.State { return m.health.Slot(backend).Passive() }

// lookupHost finds addresses of a host name that a check is tried on.
func lookupHost(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// probed is what was counted of checks, for metrics.
func (m *manager) probed() (out []metrics.Probed) {
	for check, n := range m.guardian.Counts() {
		out = append(out, metrics.Probed{Check: check, Healthy: n.Healthy, Failed: n.Failed, Seconds: n.Took.Seconds()})
	}
	return out
}

// marker gives sockets a mark, and makes those for echo requests; *ctl.Client is one.
type marker interface {
	Mark(ctx context.Context, fd int, mark uint32) error
	Ping(ctx context.Context, v6 bool) (*os.File, error)
}

// reach is the network as the traffic of a farm sees it: from the source address of that,
// and with its mark, which netd gives.
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

// marked has the mark of the farm set. Without it the probe would go another way than
// traffic: then nothing is known of the backend.
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

// bindNoPort (IP_BIND_ADDRESS_NO_PORT) leaves the choice of a port to connect, which
// may then use one for several servers.
const bindNoPort = 24

// bindTo has a socket come from an address.
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
