package mgmt

import (
	"net/http"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/headroom"
	"github.com/sluicelb/sluice/mgmt/metrics"
)

// metrics returns the handler of scrapes.
func (m *manager) metrics() http.Handler {
	return metrics.Handler(metrics.Options{
		Counters: m.counters,
		Config: func() (*farm.Config, uint64) {
			cfg, revision := m.applier.Current()
			return cfg, revision.Number
		},
		Health:  func(backend uint32) farm.Status { return m.health.Slot(backend).Status() },
		Traffic: m.kernel.counts.soon,
		Logs:    m.logs.Stats,
		Syslog:  m.remote.Stats,
		Engine:  func() (bool, int) { return m.publisher.State().Connected, m.page.EnginePID() },
		Probes:  m.probed,
		Headroom: func(f *farm.Farm, b *farm.Backend) headroom.Known {
			return m.headroom.Of(f, b, time.Now())
		},
		Certificates: m.measuredCertificates,
		Version:      m.Version,
	})
}
