// Package mgmt is the role that decides: it serves the API, stores and publishes the
// configuration, and checks the health of backends.
package mgmt

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/cmd/role/process"
	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/cmd/trim"
	records "github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/link"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/snapshot"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/accesslog"
	"github.com/sluicelb/sluice/mgmt/acme"
	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/api/system"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/audit"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/backup"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/cloud"
	"github.com/sluicelb/sluice/mgmt/directory"
	"github.com/sluicelb/sluice/mgmt/disk"
	"github.com/sluicelb/sluice/mgmt/eventlog"
	"github.com/sluicelb/sluice/mgmt/geoip"
	"github.com/sluicelb/sluice/mgmt/guardian"
	"github.com/sluicelb/sluice/mgmt/headroom/learner"
	"github.com/sluicelb/sluice/mgmt/hook"
	"github.com/sluicelb/sluice/mgmt/keyroll"
	"github.com/sluicelb/sluice/mgmt/machine"
	"github.com/sluicelb/sluice/mgmt/notify"
	"github.com/sluicelb/sluice/mgmt/oidc"
	"github.com/sluicelb/sluice/mgmt/publish"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/recorder"
	"github.com/sluicelb/sluice/mgmt/resolve"
	"github.com/sluicelb/sluice/mgmt/scripts"
	"github.com/sluicelb/sluice/mgmt/secondaries"
	"github.com/sluicelb/sluice/mgmt/snmp"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/support"
	"github.com/sluicelb/sluice/mgmt/syslog"
	"github.com/sluicelb/sluice/mgmt/timeseries"
	"github.com/sluicelb/sluice/mgmt/trial"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/programs"
	"github.com/sluicelb/sluice/sysnet/usage"
)

// Sockets of mgmt's partners, below the data directory. That is the working directory,
// because mgmt may lack search permission for its path.
const (
	engineSocket = "run/engine.sock"
	netdSocket   = "run/netd.sock"
)

// manager is the complete mgmt role.
type manager struct {
	*process.Process
	store     *store.Store
	users     *rbac.Book
	guesses   *auth.Ledger
	directory *directory.Directory
	provider  *oidc.Client
	audit     *audit.Log
	certs     *certs.Manager
	acme      *acme.Manager
	api       tls.Certificate // certificate of the API
	applier   *apply.Applier
	trial     *trial.Watcher
	names     *resolve.Follower
	publisher *publish.Publisher
	page      *snapshot.Page
	health    *health.Table
	counters  *stats.Segment
	records   *records.Segment
	kinds     *marks.Published
	logs      *accesslog.Pump
	kernel    *inKernel
	watch     watch
	scripts   *scripts.Runner
	programs  *programs.Client // starts operators' programs
	remote    *syslog.Remote
	notify    *notify.Manager
	cloud     *cloud.Manager
	backups   *backup.Keeper
	rejected  rejectedFile
	said      support.Tail // end of mgmt's log
	others    support.Tail // end of the other roles' logs
	numbers   *timeseries.DB
	recorded  *recorder.Recorder
	events    *eventlog.Log
	headroom  *learner.Learner
	geoip     *geoip.Store
	states    eventlog.States // at the previous look
	engine    seenEngine      // last one seen; owned by the publisher's goroutine
	root      *os.Root        // data directory
	listener  *machine.Listener
	agent     *snmp.Agent
	guardian  *guardian.Guardian
	// secondaries have copies of gslb zones.
	secondaries *secondaries.Teller
	// sameCommand reports whether two check commands are equivalent.
	sameCommand func(a, b string) bool
	server      atomic.Pointer[api.Server]
	// restart ends this process after the current response; the supervisor starts it again.
	restart func()
	// published is closed once an engine runs the stored configuration.
	published chan struct{}
}

// Run runs the API on the store until ctx ends.
func Run(ctx context.Context, p *process.Process) error {
	if err := enterData(p); err != nil {
		return err
	}
	m := &manager{Process: p, kernel: newInKernel(netdSocket)}
	conn, err := p.UnixConn("programs")
	if err != nil {
		return err
	}
	m.programs = programs.NewClient(conn)
	if err := allowOutbound(); err != nil {
		return unusable(err)
	}
	m.logElsewhere()
	defer m.remote.Close()
	slog.SetDefault(slog.New(m.said.Beside(slog.Default().Handler())))
	if err := m.mapMemory(); err != nil {
		return err
	}
	started := trim.While(os.Stat(store.FileName)) // until its configuration is in force, if that is soon
	st, err := store.Open(".")
	if err != nil {
		return unusable(err)
	}
	defer st.Close()
	m.store = st
	if d := st.Repaired(); d != nil {
		slog.Error("the store was damaged", "problem", d.String())
	}
	m.rejected.load(st)
	supervisor.SetLogLevel(system.LogLevel(st))
	if m.users, err = rbac.NewBook(st); err != nil {
		return unusable(err)
	}
	m.guesses = auth.OpenLedger(".", slog.Default(), time.Now)
	m.users.System, m.users.ChangeSystem = m.rootPassword, m.changeRootPassword
	if m.audit, err = audit.Open(".", slog.Default(), time.Now); err != nil {
		return unusable(err)
	}
	defer m.audit.Close()
	m.audit.Told = func(e audit.Entry) {
		if m.remote.Active() {
			m.remote.Send(syslog.Audited(e))
		}
	}
	if m.numbers, err = timeseries.Open(numbersFolder, slog.Default()); err != nil {
		return unusable(err)
	}
	defer m.numbers.Close()
	m.events = eventlog.Open(".", slog.Default(), time.Now)
	defer m.events.Close()
	m.headroom = learner.Open(learner.Options{Dir: ".", Counters: m.counters, Log: slog.Default(), Config: m.current})
	book, err := m.openCertificates()
	if err != nil {
		return unusable(err)
	}
	m.knowPeople(book)
	responder := &acme.Responder{}
	netd := ctl.NewClient(netdSocket)
	if m.geoip, err = geoip.Open(".", m.placesChanged); err != nil {
		slog.Warn("no places of addresses are known", "reason", err)
	}
	m.publisher = publish.New(publish.Options{
		Dial:   func(ctx context.Context) (publish.Engine, error) { return link.Dial(ctx, engineSocket) },
		Netd:   netd,
		Kernel: netd, KernelSessions: m.kernel,
		Complete: func(cfg *farm.Config) (*farm.Config, map[uint32]string) {
			out, problems := book.Complete(cfg)
			apply.OpenZoneKeys(book, out, problems)
			return responder.Complete(out), problems
		},
		Page: m.page, Kinds: m.kinds, Places: m.geoip,
		Log: slog.Default(),
	})
	if m.listener, err = m.newListener(book); err != nil {
		return err
	}
	m.names = resolve.New(resolve.Options{
		Lookup:  resolve.System{}.Lookup,
		Limits:  func() resolve.Limits { return resolve.LoadLimits(st) },
		Wanted:  func() []resolve.Question { cfg, _ := m.applier.Current(); return apply.NamesOf(cfg) },
		Changed: m.refreshNames,
		Log:     slog.Default(),
	})
	m.scripts = scripts.New(scripts.Options{By: m.programs, Log: slog.Default()})
	m.agent = m.newAgent()
	knowChecks(m.programs)
	m.sameCommand = func(a, b string) bool { return apply.SameCommand(book, a, b) }
	m.applier = apply.New(st, m.publisher, apply.WithEnded(m.ended), apply.WithTold(m.changed), apply.WithNames(m.names), apply.WithDelegation(resolve.System{}.Delegation), apply.WithBusy(m.busy), apply.WithFile(sync.OnceValue(m.configFile)), apply.WithLog(slog.Default()), apply.WithReferences(book), apply.WithSecrets(book), apply.WithMachine(collectors{m.remote, m.authorities}, m.machine(book), m.agent, m.listener), apply.WithRules(m.rules()), apply.WithListeners(listeners))
	m.trial = trial.New(trial.Options{Applier: m.applier, Counters: m.counters, Health: m.backendHealth, Now: time.Now, Log: slog.Default()})
	m.certs = certs.NewManager(book, m.applier)
	m.certs.Told = m.certificateChanged
	m.acme = acme.New(acme.Options{Store: st, By: m.programs, Certificates: m.certs, Applier: m.applier, Responder: responder, Proxy: m.proxy, Told: m.notRenewed, Log: slog.Default()})
	m.cloud = cloud.New(cloud.Options{Store: st, Secrets: book, Proxy: m.proxy, Log: slog.Default()})
	m.backups = backup.New(backup.Options{Store: st, Applier: m.applier, Certificates: book, Places: m.geoip, NodeKeyID: certs.NodeKeyID,
		OnlyRoot: rbac.OnlyRoot, Renumbered: rbac.Renumbered, Restarts: true, Version: m.Version, Log: slog.Default()})
	m.backups.Finish()
	m.notify = m.notifier(book)
	defer m.notify.Close()
	stopped := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	defer running.Wait() // the store closes after the last writer
	defer cancel(nil)
	m.restart = func() { cancel(process.ErrAgain) }
	m.guardian = m.newGuardian(ctx, book)
	m.checkBackends()
	running.Go(m.guardian.Wait)
	running.Go(func() { m.keepVerdicts(ctx) })
	m.secondaries = secondaries.New(ctx, secondaries.Options{Log: slog.Default(),
		Open: func(k farm.TransferKey) (farm.TransferKey, error) { return apply.OpenTransferKey(book, k) }})
	running.Go(m.secondaries.Wait)
	m.published = make(chan struct{})
	published := sync.OnceFunc(func() {
		started()
		m.inForce()
		running.Go(func() {
			m.applier.CheckCurrent()
			debug.FreeOSMemory()
		})
	})
	running.Go(func() {
		m.awaitVerdicts(ctx)
		m.publisher.Run(ctx, func(ctx context.Context) error {
			_, err := m.applier.Republish(ctx)
			m.guardian.Reconcile()
			m.engineSeen(m.publisher.State().Hello)
			if err == nil {
				published()
			}
			return err
		})
	})
	running.Go(func() { m.names.Run(ctx) })
	running.Go(func() { m.guesses.Run(ctx) })
	running.Go(func() { m.keepNames(ctx) })
	running.Go(func() { m.watch.run(ctx, m) })
	m.recorded = m.recorder()
	running.Go(func() { m.recorded.Run(ctx) })
	running.Go(func() { m.headroom.Run(ctx) })
	running.Go(func() { m.trial.Run(ctx) })
	running.Go(func() { m.certs.Run(ctx) })
	running.Go(func() { m.agent.Run(ctx) })
	running.Go(func() { m.applier.Settle(ctx); m.hearOthers(ctx) })
	running.Go(func() { m.acme.Run(ctx) })
	keys := keyroll.New(keyroll.Options{Applier: m.applier, Delegation: resolve.System{}.Delegation, Told: m.keyReplaced, Now: time.Now, Log: slog.Default()})
	running.Go(func() { keys.Run(ctx) })
	if err := m.openLogs(); err != nil {
		return err
	}
	running.Go(func() { m.keepLogs(ctx) })
	configured := make(chan struct{})
	running.Go(func() {
		if err := m.follow(ctx, configured); err != nil {
			cancel(err)
		}
	})
	err = m.serve(ctx, configured)
	m.closeScripts(stopped.Err() != nil)
	if cause := context.Cause(ctx); errors.Is(cause, process.ErrFinal) || errors.Is(cause, process.ErrAgain) {
		return cause
	}
	return err
}

// unusable handles unusable data. While nothing runs yet it ends the instance, because a
// restart would only repeat the error. Later the engine has farms to serve, and mgmt retries
// until the data is repaired.
func unusable(err error) error {
	if here, cause := os.Getwd(); cause == nil {
		err = disk.Explain(here, err)
	}
	if os.Getenv(supervisor.FirstVariable) == "" || errors.Is(err, store.ErrLocked) {
		return err
	}
	slog.Error("the data directory cannot be used", "error", err)
	return process.ErrFinal
}

// openCertificates opens the certificates, including that of the API, which is created if
// missing. Farms may use both.
func (m *manager) openCertificates() (*certs.Book, error) {
	book, err := certs.Open(m.store, certs.Options{Dir: ".", Proxy: m.proxy, Log: slog.Default()})
	if err != nil {
		return nil, err
	}
	var why string
	if m.api, why, err = api.Certificate(".", time.Now(), system.Names(m.store)...); err != nil {
		return nil, err
	}
	if why != "" {
		slog.Info("made a self-signed certificate for the API", "reason", why)
	}
	return book, book.SetAppliance(m.api)
}

// enterData changes to the data directory.
func enterData(p *process.Process) error {
	dir, err := p.File("data")
	if err != nil {
		return err
	}
	if err := dir.Chdir(); err != nil {
		return fmt.Errorf("entering the data directory: %w", err)
	}
	for _, folder := range []string{hook.Folder, hook.Plugins} {
		if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("making the folder for %s: %w", folder, err)
		}
	}
	return nil
}

// mapMemory maps the memory shared with the engine and netd.
func (m *manager) mapMemory() error {
	var errs [5]error
	m.page, errs[0] = process.Mapped(m.Set, "page", true, snapshot.OpenPage)
	m.health, errs[1] = process.Mapped(m.Set, "health", true, health.OpenTable)
	m.records, errs[2] = process.Mapped(m.Set, "records", true, records.OpenSegment)
	m.counters, errs[3] = process.Mapped(m.Set, "stats", false, stats.OpenSegment)
	m.kinds, errs[4] = process.Mapped(m.Set, "kinds", true, marks.OpenPublished)
	return errors.Join(errs[:]...)
}

// rules returns the validation rules for this machine.
func (m *manager) rules() validate.Rules {
	return validate.Rules{Prefixes: validate.SystemPrefixes, Own: m.ownAddress()}
}

func (m *manager) backendHealth(backend uint32) farm.Status { return m.health.Slot(backend).Status() }

// ended adds the automatic end of a change to the audit log, because no call caused it.
func (m *manager) ended(e apply.Ended) {
	m.confirmed(e)
	m.undone(e)
	if e.Author.Source == apply.TimerSource || e.Author.Source == trial.GuardSource {
		m.audit.Add(audit.Entry{User: e.Author.Name, Source: e.Author.Source, Method: "TRIAL", Path: fmt.Sprintf("/history/%d", e.Revision), Status: 200,
			Message: "pending change " + e.Outcome + ": " + e.Reason, Revision: e.Now})
	}
}

// current returns the current configuration.
func (m *manager) current() *farm.Config { cfg, _ := m.applier.Current(); return cfg }

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
