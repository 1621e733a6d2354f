package mgmt

import (
	"cmp"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/farmstate"
	"github.com/sluicelb/sluice/mgmt/snmp"
	"github.com/sluicelb/sluice/sysnet/settings"
)

// newAgent returns the SNMP subagent. It reports the same as the API.
func (m *manager) newAgent() *snmp.Agent {
	started := time.Now()
	return snmp.New(snmp.Options{Socket: settings.AgentXSocket, Log: slog.Default(), Read: func() snmp.Data {
		d := m.toldFarms()
		d.Version, d.UpTime = m.Version, time.Since(started)
		var roles []string
		for _, r := range m.roles() {
			word, _, _ := strings.Cut(r.State, ":")
			roles = append(roles, r.Name+" "+word)
		}
		d.Roles = strings.Join(roles, ", ")
		return d
	}})
}

// toldFarms returns the rows of farms and backends, in the order of their IDs.
func (m *manager) toldFarms() (out snmp.Data) {
	up, board := m.backendHealth, m.board()
	cfg, rev := m.applier.Current()
	out.Revision = rev.Number
	kernel, _ := m.kernel.counts.soon()
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		out.Farms = append(out.Farms, toldFarm(f, board.Status(f), m.counted(f, kernel)))
		for _, g := range f.Groups() {
			for k := range g.Backends() {
				b := &g.Backends()[k]
				n := m.counters.SumBackend(b.ID)
				if f.InKernel() {
					n = kernel.Backends[b.ID]
				}
				out.Backends = append(out.Backends, toldBackend(g, k, farmstate.In(g, k, up), n))
			}
		}
	}
	slices.SortFunc(out.Farms, func(a, b snmp.Farm) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(out.Backends, func(a, b snmp.Backend) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

func (m *manager) counted(f *farm.Farm, kernel stats.Traffic) stats.Farm {
	if f.InKernel() {
		return kernel.Farms[f.ID]
	}
	return m.counters.SumFarm(f.ID)
}

func toldFarm(f *farm.Farm, status farm.Status, n stats.Farm) snmp.Farm {
	return snmp.Farm{
		ID: f.ID, Name: f.Name, Profile: string(state.ShownProfile(f)), Status: string(status), VIP: f.VIP.String(), Ports: f.PortsText(),
		Open: n.Established, Connections: n.Connections, Requests: n.Requests, BytesIn: n.BytesIn, BytesOut: n.BytesOut, Errors: n.NoBackend + n.BackendErrors,
	}
}

func toldBackend(g farm.Group, k int, status farm.Status, n stats.Backend) snmp.Backend {
	b := &g.Backends()[k]
	address := b.ShownAddress()
	if b.Port != 0 {
		address = net.JoinHostPort(address, strconv.Itoa(int(b.Port)))
	}
	out := snmp.Backend{
		ID: b.ID, Farm: g.Farm.Name, Number: uint32(g.Number(k)), Address: address, Status: string(status), Weight: uint32(b.EffectiveWeight()),
		Open: n.Established, Connections: n.Connects, Requests: n.Requests, BytesIn: n.BytesIn, BytesOut: n.BytesOut,
		Errors: n.ConnectFailures + n.Resets + n.BadResponses + n.Timeouts,
	}
	if g.OfService() {
		out.Service = g.Name()
	}
	return out
}
