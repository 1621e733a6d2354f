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
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sluicelb/sluice/cmd/role/process"
	records "github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/snapshot"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/accesslog"
	"github.com/sluicelb/sluice/mgmt/acme"
	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/audit"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/backup"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/cloud"
	"github.com/sluicelb/sluice/mgmt/directory"
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
	"github.com/sluicelb/sluice/sysnet/programs"
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
	book      *certs.Book // certificates and the encryption of secrets
	certs     *certs.Manager
	responder *acme.Responder
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
	keyroll   *keyroll.Roller
	geoip     *geoip.Store
	states    eventlog.States // at the previous look
	engine    seenEngine      // last one seen; owned by the publisher's goroutine
	root      *os.Root        // data directory
	listener  *machine.Listener
	agent     *snmp.Agent
	guardian  *guardian.Guardian
	// secondaries have copies of gslb zones.
	secondaries *secondaries.Teller
	server      atomic.Pointer[api.Server]
	// published is closed once an engine runs the stored configuration, configured once the
	// document of --config is applied or refused.
	published, configured chan struct{}
	// startUp covers the reading of the stored configuration; it is called once that is in
	// force.
	startUp func()
	// stop ends the tasks, running waits for their end.
	stop    context.CancelCauseFunc
	running sync.WaitGroup
	// closers are called at the end, the last one first.
	closers []func()
}

// Run runs the API on the store until ctx ends.
//
// Its phases depend on each other, in this order:
//
//  1. prepare makes the data directory the working directory, directs the log, and maps the
//     shared memory. Later phases log and open files.
//  2. openStores opens the files in the data directory. Users and certificates are needed by
//     the parts of the next phase.
//  3. connectEngine makes the applier, the only writer of the configuration, and its
//     partners. None of them acts before the next phase.
//  4. startWork runs the tasks. They publish the stored configuration, so that traffic does
//     not wait for the API.
//  5. serve serves the API until ctx ends.
//
// At the end, tasks stop before the stores of their results are closed, in reverse order.
func Run(ctx context.Context, p *process.Process) error {
	m := &manager{Process: p, kernel: newInKernel(netdSocket)}
	defer m.close()
	if err := m.prepare(); err != nil {
		return err
	}
	if err := m.openStores(); err != nil {
		return unusable(err)
	}
	if err := m.connectEngine(); err != nil {
		return err
	}
	working := m.startWork(ctx)
	err := m.serve(working)
	m.closeScripts(ctx.Err() != nil)
	if cause := context.Cause(working); errors.Is(cause, process.ErrFinal) || errors.Is(cause, process.ErrAgain) {
		return cause
	}
	return err
}

// onClose registers f for the end of the role.
func (m *manager) onClose(f func()) { m.closers = append(m.closers, f) }

// close calls the registered functions, the last one first.
func (m *manager) close() {
	for _, f := range slices.Backward(m.closers) {
		f()
	}
}

// prepare sets up the process for the phases that follow.
func (m *manager) prepare() error {
	if err := enterData(m.Process); err != nil {
		return err
	}
	conn, err := m.UnixConn("programs")
	if err != nil {
		return err
	}
	m.programs = programs.NewClient(conn)
	if err := allowOutbound(); err != nil {
		return unusable(err)
	}
	m.logElsewhere()
	m.onClose(m.remote.Close)
	slog.SetDefault(slog.New(m.said.Beside(slog.Default().Handler())))
	if err := m.mapMemory(); err != nil {
		return err
	}
	return m.openLogs()
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
