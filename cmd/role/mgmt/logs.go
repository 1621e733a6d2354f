package mgmt

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/accesslog"
	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/headroom"
	"github.com/sluicelb/sluice/mgmt/metrics"
)

// openLogs creates the writer of access logs.
func (m *manager) openLogs() error {
	wake, err := m.File("wake")
	if err != nil {
		return err
	}
	stdout, err := m.File("stdout")
	if err != nil {
		return err
	}
	data, err := os.OpenRoot(".")
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	m.root = data
	m.logs = accesslog.New(accesslog.Options{
		Segment: m.records,
		Wake:    wake,
		Data:    data,
		Stdout:  stdout,
		Config:  func() *farm.Config { cfg, _ := m.applier.Current(); return cfg },
		Classes: m.counters.Classes,
	})
	return nil
}

// watching returns the API's views of the engine's work.
func (m *manager) watching() api.Watching {
	return api.Watching{
		Metrics: metrics.Handler(metrics.Options{
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
		}),
		OpenMetrics: os.Getenv(supervisor.OpenMetricsVariable) != "",
		Watch:       m.logs.Watch,
		Tally:       m.logs.Tally,
	}
}

// measuredCertificates lists the certificates for metrics.
func (m *manager) measuredCertificates(cfg *farm.Config) (out []metrics.Certificate) {
	for _, v := range m.certs.List() {
		if !v.CSR {
			out = append(out, metrics.Certificate{Name: v.Name, NotAfter: v.NotAfter, Used: len(certs.CertificateUsers(cfg, v.Name)) > 0})
		}
	}
	return out
}

// keepLogs writes access logs until ctx ends. After renaming log files, a SIGHUP to the
// supervisor or this process makes it reopen them.
func (m *manager) keepLogs(ctx context.Context) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	go func() {
		for {
			select {
			case <-hangup:
				m.logs.Reopen()
			case <-ctx.Done():
				return
			}
		}
	}()
	m.logs.Run(ctx)
}
