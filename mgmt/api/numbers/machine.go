package numbers

import (
	"context"
	"math"
	"os"
	"reflect"
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/sysnet/usage"
)

func (s *Resource) machineOperations() []*rest.Operation {
	if s.deps.Usage == nil {
		return nil
	}
	return []*rest.Operation{
		rest.Op(rest.Get, "/stats", rbac.Open, "System stats", s.machineStatistics),
		rest.Op(rest.Get, "/stats/system/cpu", rbac.Open, "Get what the processors do", s.cpuStatistics),
		rest.Op(rest.Get, "/stats/system/load", rbac.Open, "Get the load of the machine", s.loadStatistics),
		rest.Op(rest.Get, "/stats/system/memory", rbac.Open, "Get what memory is used for", s.memoryStatistics),
		rest.Op(rest.Get, "/stats/system/network", rbac.Open, "Get the traffic of network interfaces", s.networkStatistics).Filters(reflect.TypeFor[InterfaceUse]()),
		rest.Op(rest.Get, "/stats/system/network/interfaces", rbac.Open, "Get the traffic of network interfaces by kind", s.interfaceStatistics).
			With("status", "Only interfaces with this status: up or down").Filters(reflect.TypeFor[BondUse]()),
		rest.Op(rest.Get, "/stats/system/connections", rbac.Open, "Get the connection tracking table usage", s.trackedStatistics),
	}
}

// Moment is the machine and the time of figures.
type Moment struct {
	Hostname string `json:"hostname"`
	Date     string `json:"date"`
}

func (s *Resource) moment() Moment {
	host, _ := os.Hostname()
	return Moment{host, s.deps.Now().Format(time.ANSIC)}
}

// CPUShares is the use of all CPUs over about the last second, in percent.
type CPUShares struct {
	User    float64 `json:"user"`
	Nice    float64 `json:"nice"`
	Sys     float64 `json:"sys"`
	IOWait  float64 `json:"iowait"`
	IRQ     float64 `json:"irq"`
	SoftIRQ float64 `json:"softirq"`
	Idle    float64 `json:"idle"`
	Usage   float64 `json:"usage" doc:"Everything except idle and iowait"`
	Cores   int     `json:"cores" doc:"Number of processors"`
}

// LoadAverages holds the average numbers of runnable threads.
type LoadAverages struct {
	Last1  float64 `json:"Last_1" doc:"Load average over one minute"`
	Last5  float64 `json:"Last_5" doc:"Load average over 5 minutes"`
	Last15 float64 `json:"Last_15" doc:"Load average over 15 minutes"`
}

// MemoryUse is in MB of 1,048,576 bytes.
type MemoryUse struct {
	MemTotal   float64
	MemFree    float64
	MemUsed    float64 `doc:"Used memory, without buffers and page cache"`
	Buffers    float64
	Cached     float64
	SwapTotal  float64
	SwapFree   float64
	SwapUsed   float64
	SwapCached float64
}

// MachineStatistics is the load of the machine.
type MachineStatistics struct {
	Moment
	CPU     CPUShares          `json:"cpu"`
	Load    LoadAverages       `json:"load"`
	Memory  MemoryUse          `json:"memory"`
	Network map[string]float64 `json:"network" doc:"MB since the interface came up, by interface name and direction"`
}

// CPUStatistics is the load of the CPUs.
type CPUStatistics struct {
	Moment
	CPUShares
}

// LoadStatistics is the load of the machine.
type LoadStatistics struct {
	Moment
	LoadAverages
}

// MemoryStatistics is the use of memory.
type MemoryStatistics struct {
	Moment
	MemoryUse
}

// InterfaceUse is the traffic of a network interface since it came up, in MB.
type InterfaceUse struct {
	Interface string  `json:"interface"`
	Alias     string  `json:"alias,omitempty"`
	In        float64 `json:"in"`
	Out       float64 `json:"out"`
}

// NetworkStatistics is the traffic of all network interfaces.
type NetworkStatistics struct {
	Moment
	Interfaces []InterfaceUse `json:"interfaces"`
}

// TrackedStatistics is the number of connections tracked by the kernel.
type TrackedStatistics struct {
	Connections *int64 `json:"connections" doc:"null if the kernel tracks none"`
}

func (s *Resource) machineStatistics(c *rest.Call) (rest.Object[MachineStatistics], error) {
	now, shares, err := s.processors.look(c.Context, s.deps.Usage)
	if err != nil {
		return rest.Object[MachineStatistics]{}, err
	}
	out := MachineStatistics{Moment: s.moment(), CPU: sharesOf(shares, now.Cores), Load: loadOf(now), Memory: memoryOf(now.Memory), Network: map[string]float64{}}
	for _, i := range now.Interfaces {
		out.Network[i.Name+" in"], out.Network[i.Name+" out"] = megabytes(i.In), megabytes(i.Out)
	}
	return rest.Object[MachineStatistics]{Description: c.Summary(), Params: out}, nil
}

func (s *Resource) cpuStatistics(c *rest.Call) (rest.Object[CPUStatistics], error) {
	now, shares, err := s.processors.look(c.Context, s.deps.Usage)
	return rest.Object[CPUStatistics]{Description: c.Summary(), Params: CPUStatistics{s.moment(), sharesOf(shares, now.Cores)}}, err
}

func (s *Resource) loadStatistics(c *rest.Call) (rest.Object[LoadStatistics], error) {
	return rest.Object[LoadStatistics]{Description: c.Summary(), Params: LoadStatistics{s.moment(), loadOf(s.deps.Usage())}}, nil
}

func (s *Resource) memoryStatistics(c *rest.Call) (rest.Object[MemoryStatistics], error) {
	return rest.Object[MemoryStatistics]{Description: c.Summary(), Params: MemoryStatistics{s.moment(), memoryOf(s.deps.Usage().Memory)}}, nil
}

func (s *Resource) networkStatistics(c *rest.Call) (rest.Object[NetworkStatistics], error) {
	out := NetworkStatistics{Moment: s.moment(), Interfaces: []InterfaceUse{}}
	for _, i := range s.deps.Usage().Interfaces {
		out.Interfaces = append(out.Interfaces, InterfaceUse{i.Name, farm.AliasOf(state.Aliases(c).Interfaces, i.Name), megabytes(i.In), megabytes(i.Out)})
	}
	out.Interfaces = rest.Matching(c, out.Interfaces)
	return rest.Object[NetworkStatistics]{Description: c.Summary(), Params: out}, nil
}

func (s *Resource) trackedStatistics(c *rest.Call) (rest.Object[TrackedStatistics], error) {
	out := TrackedStatistics{}
	if n := s.deps.Usage().Connections; n >= 0 {
		out.Connections = &n
	}
	return rest.Object[TrackedStatistics]{Description: c.Summary(), Params: out}, nil
}

func sharesOf(of usage.Shares, cores int) CPUShares {
	return CPUShares{round2(of.User), round2(of.Nice), round2(of.System), round2(of.IOWait), round2(of.IRQ), round2(of.SoftIRQ), round2(of.Idle), round2(of.Usage), cores}
}

func loadOf(of usage.Sample) LoadAverages { return LoadAverages{of.Load[0], of.Load[1], of.Load[2]} }

func memoryOf(m usage.Memory) MemoryUse {
	return MemoryUse{megabytes(m.Total), megabytes(m.Free), megabytes(m.Used()), megabytes(m.Buffers), megabytes(m.Cached),
		megabytes(m.SwapTotal), megabytes(m.SwapFree), megabytes(m.SwapUsed()), megabytes(m.SwapCached)}
}

func megabytes(n uint64) float64 { return round2(float64(n) / (1 << 20)) }

func round2(v float64) float64 { return math.Round(v*100) / 100 }

// processors caches the last CPU sample, so that repeated requests do not wait.
type processors struct {
	mu     sync.Mutex
	before usage.Sample
}

// The reference sample must be at least shortestLook old to be meaningful, and at most
// longestLook old to be current.
const (
	shortestLook = time.Second
	longestLook  = 10 * time.Second
)

// look returns the current sample and the CPU use since the reference sample. Without a
// recent reference it takes a second.
func (p *processors) look(ctx context.Context, sample func() usage.Sample) (usage.Sample, usage.Shares, error) {
	now := sample()
	p.mu.Lock()
	before := p.before
	old := now.At.Sub(before.At)
	if old < 0 || old >= shortestLook {
		p.before = now
	}
	p.mu.Unlock()
	if old < shortestLook || old > longestLook {
		before = now
		select {
		case <-time.After(shortestLook):
		case <-ctx.Done():
			return usage.Sample{}, usage.Shares{}, ctx.Err()
		}
		now = sample()
	}
	return now, now.CPU.Since(before.CPU), nil
}
