package mgmt

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/cmd/supervisor/line"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/api/cloud"
	"github.com/sluicelb/sluice/mgmt/api/farms"
	"github.com/sluicelb/sluice/mgmt/api/notifications"
	"github.com/sluicelb/sluice/mgmt/api/revisions"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/api/system"
	"github.com/sluicelb/sluice/mgmt/logfiles"
	"github.com/sluicelb/sluice/mgmt/packages"
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
	server, err := m.newServer()
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

// newServer returns the API: the host and all of its resources. Each resource is made beside
// its dependencies.
func (m *manager) newServer() (*api.Server, error) {
	host, err := api.NewHost(api.Options{
		Applier: m.applier, Keys: m.store, Users: m.users, Settings: m.store,
		RefusalTime: refusalTime, Ledger: m.guesses, LocalUsers: localUsers(),
		Audit: m.audit, GUI: web.Files(), Provider: m.provider,
		Metrics: m.metrics(), OpenMetrics: os.Getenv(supervisor.OpenMetricsVariable) != "",
		Certificate: m.api.Leaf, Chosen: m.chosen, SameCommand: m.sameCommand, Trial: m.trial.Guard,
		Version: m.Version, Log: slog.Default(),
	})
	if err != nil {
		return nil, err
	}
	board := m.board()
	return api.New(host,
		m.farmsResource(board), m.checksResource(board), m.trafficResource(), m.statisticsResource(board),
		m.peopleResource(host), m.certificatesResource(), m.revisionsResource(host, board), m.systemResource(host, board),
		m.findingsResource(), m.headroomResource(), m.timelineResource(),
		notifications.New(notifications.Deps{Notifier: m.notify}), cloud.New(cloud.Deps{Accounts: m.cloud}),
		m.upkeepResource(host)), nil
}

// board returns the source of the states of farms and backends, for the API, SNMP and events.
func (m *manager) board() *state.Board {
	return state.New(state.Deps{
		Applier: m.applier, Engine: m.engineState, Health: m.backendHealth, Ejection: m.ejection,
		Silent: m.watch.silent.Problem, Unreachable: m.watch.unreachable, Checked: m.guardian.Why,
		Warnings: m.warnings, Resolved: m.names, Moved: m.moved, Now: time.Now,
	})
}

// ejection returns the ejection of a backend, if any.
func (m *manager) ejection(backend uint32) (health.Ejection, bool) {
	return m.health.Slot(backend).Ejection()
}

// healthSince returns the time of the last change of the health of a backend.
func (m *manager) healthSince(backend uint32) time.Time { return m.health.Slot(backend).Since() }

// moved returns a number that grows with each known change of the states on the board. Each
// summand only grows, so the sum changes whenever one does.
func (m *manager) moved(cfg *farm.Config) (uint64, bool) {
	kernel, known := m.kernel.moved(cfg)
	return m.statesMoved() + kernel, known
}

// farmsResource makes the resource of farms.
func (m *manager) farmsResource(board *state.Board) api.Resource {
	return farms.New(farms.Deps{
		State: board, Applier: m.applier, Certificates: m.certs, Engine: m.engineState, Health: m.backendHealth,
		Explain: m.explain, Kernel: m.kernel, LocalAddrs: api.LocalAddrs,
		DownInterface: api.DownInterface, Log: slog.Default(),
	})
}

// revisionsResource makes the resource of the whole configuration and its history.
func (m *manager) revisionsResource(host *api.Host, board *state.Board) api.Resource {
	reload := m.reload
	if _, _, err := m.Line.Config(context.Background()); errors.Is(err, line.ErrNoConfig) {
		reload = nil
	}
	return revisions.New(revisions.Deps{
		State: board, Applier: m.applier, History: m.store, Reload: reload, LocalAddrs: api.LocalAddrs,
		Progress: m.trial.Progress, Serve: host.Serve, Now: time.Now,
	})
}

// systemResource makes the resource of the appliance itself.
func (m *manager) systemResource(host *api.Host, board *state.Board) api.Resource {
	return system.New(system.Deps{
		State: board, Applier: m.applier, Settings: m.store, Certificates: m.certs, Engine: m.engineState, Roles: m.roles,
		Problems: m.problems, Audit: m.audit, Packages: packages.New(m.programs, nil), GeoIP: m.geoip,
		Logs: logfiles.Dir{Root: m.root}, Kernel: m.kernel, Machine: m.machineState(), LogLevel: supervisor.SetLogLevel,
		Version: m.Version, Generations: host.Generations(), Log: slog.Default(), Now: time.Now,
	})
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
