package mgmt

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/sluicelb/sluice/cmd/role/process"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/secondaries"
)

// startWork runs the tasks until ctx ends or stop is called, and returns their context. The
// guardian is first: the publisher waits for its first verdicts, and it needs the context.
func (m *manager) startWork(ctx context.Context) context.Context {
	m.published, m.configured = make(chan struct{}), make(chan struct{})
	ctx, m.stop = context.WithCancelCause(ctx)
	m.onClose(m.running.Wait)
	m.onClose(func() { m.stop(nil) })
	m.guardian = m.newGuardian(ctx, m.book)
	m.checkBackends()
	m.secondaries = secondaries.New(ctx, secondaries.Options{Log: slog.Default(),
		Open: func(k farm.TransferKey) (farm.TransferKey, error) { return apply.OpenTransferKey(m.book, k) }})
	for _, run := range m.tasks() {
		m.running.Go(func() { run(ctx) })
	}
	return ctx
}

// tasks lists everything that runs beside the API. Each task returns after its context has
// ended.
func (m *manager) tasks() []func(context.Context) {
	return []func(context.Context){
		func(context.Context) { m.guardian.Wait() },    // health checks
		func(context.Context) { m.secondaries.Wait() }, // NOTIFY to secondary name servers
		m.keepVerdicts, // verdicts of health checks, for the next start
		m.publish,      // the configuration, to the engine and netd
		m.followFile,   // the document of --config
		m.settle,       // settings of the machine, and logs of other roles
		m.names.Run,    // addresses of host names
		m.keepNames,    // retries, and backends whose address left its name
		m.watchFarms,   // problems of farms, events, limits
		m.guesses.Run,  // failed logins
		m.recorded.Run, // time series
		m.headroom.Run, // capacities of backends
		m.trial.Run,    // guards of pending changes
		m.certs.Run,    // OCSP, lists of authorities
		m.acme.Run,     // renewals of certificates
		m.keyroll.Run,  // rollovers of zone keys
		m.agent.Run,    // SNMP
		m.keepLogs,     // access logs
	}
}

// publish keeps the configuration in force, with each engine that starts.
func (m *manager) publish(ctx context.Context) {
	first := sync.OnceFunc(func() {
		m.startUp()
		m.inForce()
		m.running.Go(func() {
			m.applier.CheckCurrent()
			debug.FreeOSMemory()
		})
	})
	m.awaitVerdicts(ctx)
	m.publisher.Run(ctx, func(ctx context.Context) error {
		_, err := m.applier.Republish(ctx)
		m.guardian.Reconcile()
		m.engineSeen(m.publisher.State().Hello)
		if err == nil {
			first()
		}
		return err
	})
}

// followFile applies the document of --config. The role ends if it needs a document and that is refused.
func (m *manager) followFile(ctx context.Context) {
	if err := m.follow(ctx, m.configured); err != nil {
		m.stop(err)
	}
}

// settle applies the stored settings of the machine, then sends the logs of other roles to
// the syslog servers that these name.
func (m *manager) settle(ctx context.Context) {
	m.applier.Settle(ctx)
	m.hearOthers(ctx)
}

// watchFarms finds problems of running farms.
func (m *manager) watchFarms(ctx context.Context) { m.watch.run(ctx, m) }

// restart ends this process after the current response; the supervisor starts it again.
func (m *manager) restart() { m.stop(process.ErrAgain) }
