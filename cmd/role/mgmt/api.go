package mgmt

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/cmd/supervisor/line"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/api/system"
	"github.com/sluicelb/sluice/mgmt/logfiles"
	"github.com/sluicelb/sluice/mgmt/packages"
	"github.com/sluicelb/sluice/sysnet/usage"
	"github.com/sluicelb/sluice/web"
)

// serve serves the API on the local socket and on the network. The role reports ready once
// the engine also runs the configuration of this start.
func (m *manager) serve(ctx context.Context) error {
	local, err := m.Listener("local")
	if err != nil {
		return err
	}
	network, err := m.TakeListener("api") // a duplicate kept here would continue to listen
	if err != nil {
		return err
	}
	server, err := api.New(m.deps())
	if err != nil {
		return err
	}
	m.server.Store(server)
	go func() {
		<-m.configured
		if err := m.Ready(); err != nil {
			slog.Error("not reported as ready", "error", err)
		}
	}()
	return server.Serve(ctx, local, network, api.TLSConfig(m.api, m.listener.Chosen))
}

func (m *manager) deps() api.Deps {
	d := api.Deps{
		Applier:      m.applier,
		GUI:          web.Files(),
		History:      m.store,
		Keys:         m.store,
		Users:        m.users,
		Directory:    m.directory,
		Provider:     m.provider,
		RefusalTime:  refusalTime,
		Ledger:       m.guesses,
		Audit:        m.audit,
		Certificates: m.certs,
		Settings:     m.store,
		LogLevel:     supervisor.SetLogLevel,
		Guard:        m.trial.Guard,
		Progress:     m.trial.Progress,
		Resolved:     m.names,
		Silent:       m.watch.silent.Problem,
		Unreachable:  m.watch.unreachable,
		Moved:        m.moved,
		Guardian:     m.guardian,
		SameCommand:  m.sameCommand,
		Passive:      m.passive,
		Checked:      m.guardian.Why,
		Lookup:       lookupHost,
		Certificate:  m.api.Leaf,
		ACME:         m.acme,
		Activation:   m.activation(),
		Notifier:     m.notify,
		Packages:     packages.New(m.programs, nil),
		Cloud:        m.cloud,
		Counters:     m.counters,
		Health:       m.backendHealth,
		HealthSince:  func(backend uint32) time.Time { return m.health.Slot(backend).Since() },
		Rules:        m.rules(),
		Ejection:     func(backend uint32) (health.Ejection, bool) { return m.health.Slot(backend).Ejection() },
		Engine:       m.engineState,
		Watching:     m.watching(),
		Sessions:     m.sessions,
		SessionTable: sessionTable{m.sessionStores()},
		Explain:      m.explain,
		Traffic:      m.kernel.counts.get,
		Tracked:      m.kernel,
		Forwarded:    forwarded{m.publisher},
		Kernel:       m.kernel,
		Machine:      m.machineState(),
		Chosen:       m.chosen,
		Warnings:     m.warnings,
		Roles:        m.roles,
		Problems:     m.problems,
		Usage:        func() usage.Sample { return machineUsage(time.Now()) },
		Numbers:      m.numbers,
		Latency:      m.recorded.Latency,
		Events:       m.events,
		Learned:      m.headroom,
		Logs:         logfiles.Dir{Root: m.root},
		Reload:       m.reload,
		Backups:      m.backups,
		GeoIP:        m.geoip,
		Scripts:      m.scripts,
		Support:      m.support,
		Restart:      m.restart,
		Version:      m.Version,
		LocalUsers:   localUsers(),
		Log:          slog.Default(),
	}
	if _, _, err := m.Line.Config(context.Background()); errors.Is(err, line.ErrNoConfig) {
		d.Reload = nil
	}
	return d
}

// moved is api.Deps.Moved. Each summand only grows, so the sum changes whenever one does.
func (m *manager) moved(cfg *farm.Config) (uint64, bool) {
	kernel, known := m.kernel.moved(cfg)
	return m.statesMoved() + kernel, known
}

func (m *manager) engineState() state.Engine {
	s := m.publisher.State()
	return state.Engine{
		Connected:    s.Connected,
		PID:          s.Hello.PID,
		Loops:        s.Hello.Loops,
		Started:      s.Hello.Started,
		Published:    m.page.Published(),
		Acknowledged: m.page.Acknowledged(),
	}
}

// roles returns the state of the processes.
func (m *manager) roles() []system.Role {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	roles, err := m.Line.Roles(ctx)
	if err != nil {
		slog.Warn("state of the roles not known", "error", err)
		return nil
	}
	var out []system.Role
	for _, r := range roles {
		state := "starting"
		switch {
		case r.PID == 0:
			state = "down"
		case r.Ready:
			state = "running: " + r.Hardening.String()
		}
		out = append(out, system.Role{Name: r.Name, PID: r.PID, State: state, Restarts: r.Restarts, Started: r.Started})
	}
	return out
}
