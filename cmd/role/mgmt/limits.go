package mgmt

import (
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/sysnet/usage"
)

// limitEvents reports limits that were reached or are no longer reached.
func (w *watch) limitEvents(cfg *farm.Config, m *manager, now time.Time) {
	used, most := usage.Tracked("/proc")
	gauges := append(m.gauges(cfg), trackedGauge(used, most))
	for _, e := range w.limits.Look(gauges, now) {
		m.tell(e)
	}
}

// trackedGauge is the conntrack table. It is reported before it is full, because the kernel
// then drops packets.
func trackedGauge(used, most uint64) event.Gauge {
	return event.Gauge{Limit: event.Tracked, Used: used, Most: most, Full: most > 0 && used >= most/10*9}
}

// Classes of rejections that are reported as limits, as named by engines.
const (
	tooManyClients = "too-many-clients"
	rateLimited    = "rate-limited"
	shortage       = "shortage"
)

// gauges returns the use of the limits of running farms and of descriptors.
func (m *manager) gauges(cfg *farm.Config) (out []event.Gauge) {
	classes := m.counters.Classes()
	of := func(r *stats.Rejections, class string) uint64 {
		if i := slices.Index(classes, class); i >= 0 {
			return r[i]
		}
		return 0
	}
	descriptors := event.Gauge{Limit: event.Descriptors}
	for _, l := range m.counters.SumLoops() {
		descriptors.Refused += l.AcceptErrors
	}
	kernel := m.kernelTraffic(cfg)
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if f.Stopped {
			continue
		}
		refused := m.counters.SumRejections(f.ID)
		descriptors.Refused += of(&refused, shortage)
		about := event.AboutFarm(f)
		if most := uint64(f.MostConnections()); most > 0 {
			used := m.counted(f, kernel).Established
			out = append(out, event.Gauge{Limit: event.FarmConnections, Key: f.ID, About: about, Used: used, Most: most, Full: used >= most, Refused: of(&refused, tooManyClients)})
		}
		if limitsRates(f) {
			out = append(out, event.Gauge{Limit: event.RateLimit, Key: f.ID, About: about, Refused: of(&refused, rateLimited)})
		}
		out = m.backendGauges(out, f, kernel)
	}
	return append(out, descriptors)
}

func (m *manager) backendGauges(out []event.Gauge, f *farm.Farm, kernel stats.Traffic) []event.Gauge {
	for _, g := range f.Groups() {
		for k := range g.Backends() {
			b := &g.Backends()[k]
			most := uint64(b.ConnLimit)
			if most == 0 {
				continue
			}
			used := kernel.Backends[b.ID].Established
			if !f.InKernel() {
				used = m.counters.SumBackend(b.ID).Established
			}
			out = append(out, event.Gauge{Limit: event.BackendConnections, Key: b.ID, About: event.AboutBackend(g, k), Used: used, Most: most, Full: used >= most})
		}
	}
	return out
}

// kernelTraffic returns the kernel's counts if a kernel farm has a limit.
func (m *manager) kernelTraffic(cfg *farm.Config) stats.Traffic {
	for i := range cfg.Farms {
		if f := &cfg.Farms[i]; !f.Stopped && f.InKernel() && limited(f) {
			t, _ := m.kernel.counts.soon() // unknown counts as unused
			return t
		}
	}
	return stats.Traffic{}
}

func limited(f *farm.Farm) bool {
	for _, g := range f.Groups() {
		if slices.ContainsFunc(g.Backends(), func(b farm.Backend) bool { return b.ConnLimit > 0 }) {
			return true
		}
	}
	return f.MostConnections() > 0
}

func limitsRates(f *farm.Farm) bool {
	return slices.ContainsFunc(f.Groups(), func(g farm.Group) bool { return g.Service != nil && g.Service.RateLimit != nil })
}
