package mgmt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/link"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/api/system"
	"github.com/sluicelb/sluice/mgmt/api/traffic"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/sysnet/conntrack"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// kernelTimeout bounds a request about kernel objects, whose tables may be large.
const kernelTimeout = 20 * time.Second

// inKernel asks netd about kernel farms. It has its own connections, so that its requests do
// not delay the opening of listeners.
type inKernel struct {
	netd   *ctl.Client
	counts recent[stats.Traffic]
	state  recent[ctl.KernelState]
}

func newInKernel(socket string) *inKernel {
	k := &inKernel{netd: ctl.NewClient(socket)}
	counter := ctl.NewClient(socket)
	k.counts.ask = func(ctx context.Context) (stats.Traffic, error) {
		t, err := counter.KernelTraffic(ctx)
		return trafficOf(t), unavailable(err)
	}
	k.state.ask = k.netd.KernelState
	k.state.differ = func(was, is ctl.KernelState) bool {
		return !maps.EqualFunc(was.Warnings, is.Warnings, slices.Equal)
	}
	return k
}

// warnings returns why a kernel farm cannot work at the moment.
func (k *inKernel) warnings(farm uint32) []string {
	state, _ := k.state.soon()
	return state.Warnings[farm]
}

// moved returns a number that grows with each change of warnings, as far as netd was asked. It
// asks now if cfg has kernel farms. The result is false if netd does not respond.
func (k *inKernel) moved(cfg *farm.Config) (uint64, bool) {
	if slices.ContainsFunc(cfg.Farms, func(f farm.Farm) bool { return f.InKernel() }) {
		if _, ok := k.state.soon(); !ok {
			return 0, false
		}
	}
	return k.state.moved.Load(), true
}

// unavailable distinguishes an unavailable netd from a refusal.
func unavailable(err error) error {
	var refused *ctl.Error
	if err == nil || errors.As(err, &refused) {
		return err
	}
	return fmt.Errorf("%w: %w", apply.ErrUnavailable, err)
}

// sessionError is unavailable for sessions, which may be refused.
func sessionError(err error) error {
	if errors.Is(err, ctl.ErrInvalid) {
		return fmt.Errorf("%w: %w", traffic.ErrSessionRefused, err)
	}
	return unavailable(err)
}

// trafficOf converts netd's counts, from the clients' point of view, to counters. Those of
// backends are from the backends' point of view.
func trafficOf(t ctl.KernelTraffic) stats.Traffic {
	out := stats.Traffic{Farms: make(map[uint32]stats.Farm, len(t.Farms)), Backends: make(map[uint32]stats.Backend, len(t.Backends))}
	for id, c := range t.Farms {
		out.Farms[id] = stats.Farm{Connections: c.Connections, Established: c.Established, Pending: c.Pending,
			BytesIn: c.BytesIn, BytesOut: c.BytesOut, PacketsIn: c.PacketsIn, PacketsOut: c.PacketsOut}
	}
	for id, c := range t.Backends {
		out.Backends[id] = stats.Backend{Connects: c.Connections, Established: c.Established, Pending: c.Pending,
			BytesIn: c.BytesOut, BytesOut: c.BytesIn, PacketsIn: c.PacketsOut, PacketsOut: c.PacketsIn}
	}
	return out
}

// Sessions implements sessionStore.
func (k *inKernel) Sessions(ctx context.Context, service uint32, limit int) (total int, list []link.Session, err error) {
	found, err := k.netd.KernelSessions(ctx, service, limit)
	for _, s := range found.List {
		list = append(list, sessionOf(s))
	}
	return found.Total, list, sessionError(err)
}

// Session implements sessionStore.
func (k *inKernel) Session(ctx context.Context, service uint32, key []byte) (link.Session, bool, error) {
	s, ok, err := k.netd.KernelSession(ctx, service, string(key))
	return sessionOf(s), ok, sessionError(err)
}

func sessionOf(s ctl.KernelSession) link.Session {
	return link.Session{Key: []byte(s.Key), Backend: s.Backend, TTL: s.TTL, Static: s.Static}
}

// ChangeSessions implements sessionStore.
func (k *inKernel) ChangeSessions(ctx context.Context, c link.SessionChange) (int, error) {
	if c.Act == link.LearnSessions {
		learned := ctl.KernelLearned{Service: c.Service}
		for _, s := range c.List {
			learned.List = append(learned.List, ctl.KernelSession{Key: string(s.Key), Backend: s.Backend, TTL: s.TTL})
		}
		n, err := k.netd.KernelLearn(ctx, learned)
		return n, sessionError(err)
	}
	change := ctl.KernelChange{Service: c.Service, Act: ctl.KernelDelete, Key: string(c.Key)}
	if c.Act == link.FlushSessions {
		change = ctl.KernelChange{Service: c.Service, Act: ctl.KernelFlush}
	}
	n, err := k.netd.KernelChange(ctx, change)
	return n, sessionError(err)
}

// kernelError is unavailable for requests that the kernel may refuse.
func kernelError(err error) error {
	var refused *ctl.Error
	if errors.As(err, &refused) {
		return fmt.Errorf("%w: %w", state.ErrKernel, err)
	}
	return unavailable(err)
}

// Rules implements system.Kernel.
func (k *inKernel) Rules(ctx context.Context, farm uint32) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, kernelTimeout)
	defer cancel()
	text, err := k.netd.KernelRules(ctx, farm)
	return text, kernelError(err)
}

// Objects implements system.Kernel.
func (k *inKernel) Objects(ctx context.Context) ([]system.KernelObject, error) {
	ctx, cancel := context.WithTimeout(ctx, kernelTimeout)
	defer cancel()
	list, err := k.netd.SystemObjects(ctx)
	return objects(list), kernelError(err)
}

func objects(list []ctl.KernelObject) (out []system.KernelObject) {
	for _, o := range list {
		out = append(out, system.KernelObject(o))
	}
	return out
}

// Connections implements traffic.ConnectionTable.
func (k *inKernel) Connections(ctx context.Context, backends []uint32, limit int) (list []traffic.Tracked, total int, err error) {
	ctx, cancel := context.WithTimeout(ctx, kernelTimeout)
	defer cancel()
	page, err := k.netd.Connections(ctx, backends, limit)
	for i := range page.Entries {
		e := &page.Entries[i]
		id, ours := conntrack.BackendOf(e.Mark)
		if !ours {
			continue
		}
		list = append(list, traffic.Tracked{
			Backend: id, Protocol: protocolName(e.Protocol), State: e.State, Client: e.Client, To: e.To, Server: e.Backend, Timeout: e.Timeout,
			PacketsIn: e.PacketsIn, BytesIn: e.BytesIn, PacketsOut: e.PacketsOut, BytesOut: e.BytesOut,
		})
	}
	return list, page.Total, kernelError(err)
}

// FlushConnections implements traffic.ConnectionTable.
func (k *inKernel) FlushConnections(ctx context.Context, backends []uint32) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, kernelTimeout)
	defer cancel()
	n, err := k.netd.FlushConnections(ctx, backends)
	return n, kernelError(err)
}

// protocolNames are the transport protocols of farms by IANA number.
var protocolNames = map[uint8]string{1: "icmp", 6: "tcp", 17: "udp", 47: "gre", 58: "icmpv6", 132: "sctp"}

func protocolName(number uint8) string {
	return cmp.Or(protocolNames[number], strconv.Itoa(int(number)))
}
