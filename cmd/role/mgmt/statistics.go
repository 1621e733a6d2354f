package mgmt

import (
	"log/slog"
	"time"

	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/api/findings"
	"github.com/sluicelb/sluice/mgmt/api/headroom"
	"github.com/sluicelb/sluice/mgmt/api/numbers"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/recorder"
	"github.com/sluicelb/sluice/sysnet/usage"
)

// numbersFolder holds time series, in the data directory.
const numbersFolder = "numbers"

// recorder returns the recorder of time series about farms and the machine.
func (m *manager) recorder() *recorder.Recorder {
	return recorder.New(recorder.Options{
		DB: m.numbers, Counters: m.counters, Traffic: m.kernel.counts.soon,
		Config: m.current,
		Usage:  machineUsage,
	})
}

func machineUsage(now time.Time) usage.Sample { return usage.Read("/proc", now) }

// statisticsResource makes the resource of statistics and graphs.
func (m *manager) statisticsResource(board *state.Board) api.Resource {
	return numbers.New(numbers.Deps{
		State: board, Counters: m.counters, Health: m.backendHealth, Sessions: m.sessions, Traffic: m.kernel.counts.get,
		Usage: func() usage.Sample { return machineUsage(time.Now()) }, Links: numbers.HostLinks,
		Numbers: m.numbers, Latency: m.recorded.Latency, Log: slog.Default(), Now: time.Now,
	})
}

// headroomResource makes the resource of spare capacity.
func (m *manager) headroomResource() api.Resource {
	return headroom.New(headroom.Deps{
		Learned: m.headroom, Health: m.backendHealth, Counters: m.counters,
		Traffic: m.kernel.counts.get, Log: slog.Default(), Now: time.Now,
	})
}

// findingsResource makes the resource of unused or soon-to-fail configuration.
func (m *manager) findingsResource() api.Resource {
	return findings.New(findings.Deps{
		Certificates: m.certs, ACME: m.acme, Counters: m.counters, Traffic: m.kernel.counts.get, Health: m.backendHealth,
		Since: m.healthSince, Checked: m.guardian.Why, Resolved: m.names, Numbers: m.numbers, Rules: m.rules(),
		Log: slog.Default(), Now: time.Now,
	})
}
