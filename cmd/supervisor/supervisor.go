package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/cmd/harden"
	"github.com/sluicelb/sluice/cmd/supervisor/line"
	"github.com/sluicelb/sluice/cmd/trim"
	"github.com/sluicelb/sluice/core/logpipe"
	"github.com/sluicelb/sluice/mgmt/disk"
	"github.com/sluicelb/sluice/sysnet/account"
	"github.com/sluicelb/sluice/sysnet/claim"
	"github.com/sluicelb/sluice/sysnet/programs"
)

// Environment variables with parameters of roles.
const (
	// GraceVariable is the time a role may take to end after SIGTERM.
	GraceVariable = "SLUICE_GRACE"
	// UserVariable is the uid that started the instance. It may use the control socket, like
	// root.
	UserVariable = "SLUICE_USER"
	// SlotVariable is the instance's slot in its network namespace, for netd (see
	// sysnet/claim). It is NoSlot if no slot could be claimed. It is empty for an ordinary
	// user, because such a netd cannot set rules.
	SlotVariable = "SLUICE_SLOT"
	NoSlot       = "none"
	// ManagerVariable is the uid of mgmt, the only one engine and netd obey.
	ManagerVariable = "SLUICE_MANAGER"
	// APIVariable is the initial API address, for mgmt.
	APIVariable = "SLUICE_API"
	// OpenMetricsVariable is set if this machine may read metrics without a key.
	OpenMetricsVariable = "SLUICE_OPEN_METRICS"
	// OutboundAllowVariable lists local addresses mgmt may connect to.
	OutboundAllowVariable = "SLUICE_OUTBOUND_ALLOW"
	// BoxVariable is the first uid of programs, for progd, or "0" if they have none of their
	// own.
	BoxVariable = "SLUICE_BOX"
	// DataVariable is the path of the data directory, which is off limits for programs, for
	// progd.
	DataVariable = "SLUICE_DATA_PATH"
	// FirstVariable is set for a role until it has served once.
	FirstVariable = "SLUICE_FIRST"
)

// TrimTime is the time after its start at which a process releases memory used for the start
// only.
const TrimTime = 5 * time.Second

// Run starts an instance and keeps it running until ctx ends, or SIGINT or SIGTERM arrives.
// Then it stops the roles in order and returns nil. A second signal kills them at once.
// SIGHUP makes mgmt read the --config file, if any, and reopen its log files. An error means
// that the instance was not started, or that mgmt ended with ExitFinal. All processes have
// ended on return.
func Run(ctx context.Context, o Options) error {
	if err := o.fill(); err != nil {
		return err
	}
	syscall.Umask(0o077)
	if err := seal(); err != nil {
		o.Log.Warn("processes may inherit open files of the program that started this one", "error", err)
	}
	if err := harden.RaiseFiles(); err != nil {
		o.Log.Warn("connections will be limited by the number of open files", "error", err)
	}
	s := &supervisor{options: o, owners: findOwners(), systemd: findSystemd(o.Log)}
	defer s.close()
	if err := s.open(); err != nil {
		return disk.Explain(s.options.Data, err)
	}
	s.start()
	trim.After(TrimTime)
	return s.wait(ctx)
}

type supervisor struct {
	options Options
	owners  owners
	data    *data
	sockets *sockets
	memory  *memory
	logs    *logPipes
	root    account.Root
	moving  sync.Mutex // held while the API listener is moved
	hostd   sync.Mutex // held during a request about the machine
	program *os.File
	journal *os.File
	claim   *claim.Claim
	boxes   boxes
	slot    string
	systemd *systemd

	engine, manager, helper, progd *runner
	watched                        sync.WaitGroup // goroutines that watch for hanging roles
	ready                          sync.Once
}

// open acquires everything that can fail before anything is started.
func (s *supervisor) open() (err error) {
	if s.data, err = openData(s.options.Data, s.owners); err != nil {
		return err
	}
	if s.program, err = executable(s.data, s.owners); err != nil {
		return err
	}
	before := s.data.has(journalName)
	if s.journal, err = openJournal(s.data, s.owners); err != nil {
		return err
	}
	if s.claim, err = takeSlot(s.data, s.owners, before); err != nil {
		s.options.Log.Warn("the kernel carries no farms of this appliance", "reason", err)
		s.slot = NoSlot
	} else if s.claim != nil {
		s.slot = s.claim.Slot.String()
	}
	if s.boxes, err = takeBoxes(s.owners); err != nil {
		s.options.Log.Warn("programs share their users with those of another appliance", "reason", err)
	}
	if s.memory, err = openMemory(); err != nil {
		return err
	}
	if s.logs, err = openLogPipes(); err != nil {
		return err
	}
	s.options.Log = slog.New(logpipe.Tap(s.options.Log.Handler(), s.logs.own))
	if s.sockets, err = openSockets(s.data, s.options.API, s.owners); err != nil {
		return err
	}
	if s.options.Config != "" {
		f, err := s.Config()
		if err != nil {
			return err
		}
		_ = f.Close()
	}
	return nil
}

// start prepares the roles; these tables are their complete resources.
func (s *supervisor) start() {
	s.engine = s.runner("engine", map[string]*os.File{
		LogPipe:    s.logs.write["engine"],
		"control":  s.sockets.engine,
		"marks":    s.sockets.marksIn,
		"sessions": s.memory.sessions,
		"tickets":  s.memory.tickets,
		"page":     s.memory.page,
		"health":   s.memory.health,
		"stats":    s.memory.stats,
		"records":  s.memory.records,
		"wake":     s.memory.wake,
	})
	s.manager = s.runner("mgmt", map[string]*os.File{
		"data":    s.data.dir,
		"api":     s.sockets.apiFile,
		"local":   s.sockets.mgmt,
		"page":    s.memory.page,
		"health":  s.memory.health,
		"stats":   s.memory.statsReader,
		"records": s.memory.records,
		"kinds":   s.memory.kinds,
		"wake":    s.memory.wake,
		"stdout":  standardOutput(),

		"programs": s.sockets.programsIn,

		ReadLogPipe("supervisor"): s.logs.read["supervisor"],
		ReadLogPipe("engine"):     s.logs.read["engine"],
		ReadLogPipe("netd"):       s.logs.read["netd"],
		ReadLogPipe("progd"):      s.logs.read["progd"],
	})
	s.manager.desk = s // only mgmt may ask
	s.manager.final = make(chan struct{})
	s.manager.environment = append(s.manager.environment, APIVariable+"="+s.sockets.apiStart)
	if list := s.options.OutboundAllow; list != "" {
		s.manager.environment = append(s.manager.environment, OutboundAllowVariable+"="+list)
	}
	if s.options.OpenMetrics {
		s.manager.environment = append(s.manager.environment, OpenMetricsVariable+"=1")
	}
	s.helper = s.runner("netd", map[string]*os.File{
		LogPipe:   s.logs.write["netd"],
		"netd":    s.sockets.netd,
		"marks":   s.sockets.marksOut,
		"health":  s.memory.healthReader,
		"kinds":   s.memory.kindsReader,
		"journal": s.journal,
	})
	s.startProgd()
	if s.owners.change {
		s.engine.credential = &s.owners.engine
		s.manager.credential = &s.owners.manager
	}
	s.helper.capabilities = harden.HelperCapabilities
	s.helper.environment = append(s.helper.environment, SlotVariable+"="+s.slot)
	s.engine.prepare = func() { s.memory.mend(s.options.Log, true) }
	s.manager.prepare = func() { s.memory.mend(s.options.Log, false) }
	for _, k := range s.runners() {
		go k.keep()
	}
	s.watched.Go(func() { watch(s.engine, s.memory.control) })
	s.watched.Go(func() { watch(s.manager, nil) })
	s.watched.Go(func() { watch(s.helper, nil) })
	s.watched.Go(func() { watch(s.progd, nil) })
}

// startProgd prepares progd. If programs have no users of their own, it runs as mgmt's user.
// Leftover programs of a dead progd are ended before the next one starts.
func (s *supervisor) startProgd() {
	files := map[string]*os.File{LogPipe: s.logs.write["progd"], "programs": s.sockets.programsOut}
	if s.boxes.lock != nil {
		files["users"] = s.boxes.lock // locked while it runs
	}
	s.progd = s.runner("progd", files)
	data, err := filepath.EvalSymlinks(s.data.path)
	if err != nil {
		data = s.data.path
	}
	s.progd.environment = append(s.progd.environment, fmt.Sprintf("%s=%d", BoxVariable, s.boxes.first), DataVariable+"="+data)
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	s.progd.prepare = func() { programs.EndLeft(s.boxes.first, Boxes) }
	if s.boxes.first != 0 {
		s.progd.capabilities = harden.ProgramsCapabilities
		return
	}
	if s.owners.change {
		s.progd.credential = &s.owners.manager
	}
}

// standardOutput returns standard output for access logs, or nil if it is closed.
func standardOutput() *os.File {
	if _, err := os.Stdout.Stat(); err == nil {
		return os.Stdout
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return os.Stderr
	}
	return null
}

func (s *supervisor) runner(name string, files map[string]*os.File) *runner {
	return &runner{
		name:    name,
		program: programPath(s.program),
		files:   files,
		environment: append(environment(),
			GraceVariable+"="+s.options.Grace.String(),
			fmt.Sprintf("%s=%d", UserVariable, os.Geteuid()),
			fmt.Sprintf("%s=%d", ManagerVariable, s.owners.managerUID())),
		said:    io.MultiWriter(lines(), s.logs.own.Said(name)),
		ready:   s.serving,
		log:     s.options.Log,
		role:    line.Role{Name: name},
		stopped: make(chan struct{}),
		ended:   make(chan struct{}),
	}
}

func (s *supervisor) runners() []*runner { return []*runner{s.engine, s.manager, s.helper, s.progd} }

// errFinal is the final message; mgmt has logged the reason.
var errFinal = errors.New("the appliance cannot run: the log above says why")

// wait handles signals until the instance must end, then stops it.
func (s *supervisor) wait(ctx context.Context) (err error) {
	signals := make(chan os.Signal, 4)
	signal.Ignore(LastClients) // inherited, so that netd survives it before it handles the signal
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	terminal := hasTerminal()
	for {
		select {
		case <-ctx.Done():
		case <-s.manager.final:
			err = errFinal
		case <-s.systemd.beats:
			s.systemd.alive(func() { s.Roles() })
			continue
		case sig := <-signals:
			if sig == syscall.SIGHUP && (!terminal || hasTerminal()) {
				s.systemd.reload(s.reload)
				continue
			}
			s.options.Log.Info("stopping", "signal", sig.String())
		}
		s.systemd.stopping()
		s.stop(signals)
		return err
	}
}

// hasTerminal reports whether this process belongs to a terminal. If it has lost one, SIGHUP
// means that the terminal was closed, and thus stop instead of reload.
func hasTerminal() bool {
	f, err := os.OpenFile("/dev/tty", os.O_RDONLY|syscall.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	_ = f.Close()
	return true
}

func (s *supervisor) reload() {
	if err := s.manager.reload(); err != nil {
		s.options.Log.Error("reload not passed on", "error", err)
	}
}

// LastClients tells netd that all roles are about to end. netd also holds the listening
// sockets. If it kept them, new clients would wait in the backlog for an engine that no
// longer accepts.
const LastClients = syscall.SIGUSR1

// stop ends engine and mgmt first, because they need netd and progd to the end. Roles still
// running after the grace time or a second signal are killed.
func (s *supervisor) stop(signals <-chan os.Signal) {
	s.helper.signal(LastClients)
	for _, phase := range [][]*runner{{s.engine, s.manager}, {s.helper, s.progd}} {
		for _, k := range phase {
			k.stop()
		}
		limit := time.After(s.options.Grace + time.Second)
		for _, k := range phase {
			for ended := false; !ended; {
				select {
				case <-k.ended:
					ended = true
				case sig := <-signals:
					if sig != syscall.SIGHUP {
						s.killAll()
					}
				case <-limit:
					s.options.Log.Warn("roles took too long and are killed")
					s.killAll()
				}
			}
		}
	}
	s.options.Log.Info("stopped")
}

func (s *supervisor) killAll() {
	for _, k := range s.runners() {
		k.kill()
	}
}

// close releases what open acquired, in reverse order.
func (s *supervisor) close() {
	if s.sockets != nil {
		s.sockets.close()
		_ = s.owners.asManager(s.data.removeSockets)
	}
	s.watched.Wait()
	if s.memory != nil {
		s.memory.close()
	}
	if s.logs != nil {
		s.logs.close()
	}
	for _, f := range []*os.File{s.program, s.journal} {
		if f != nil {
			_ = f.Close()
		}
	}
	s.claim.Close()
	s.boxes.close()
	if s.data != nil {
		s.data.close()
	}
}

// Config implements line.Desk. The file is opened for each call, with the supervisor's
// permissions.
func (s *supervisor) Config() (*os.File, error) {
	path := s.options.Config
	if path == "" {
		return nil, line.ErrNoConfig
	}
	// Without O_NONBLOCK a named pipe would block the supervisor.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		_ = f.Close()
		return nil, fmt.Errorf("--config: %s is not a regular file", path)
	}
	return f, nil
}

// Roles implements line.Desk.
func (s *supervisor) Roles() []line.Role {
	var roles []line.Role
	for _, k := range s.runners() {
		roles = append(roles, k.state())
	}
	return roles
}

// RootPassword implements line.Desk. It needs the supervisor's privileges, because neither
// mgmt nor netd may read password hashes.
func (s *supervisor) RootPassword(ctx context.Context, password string) (bool, error) {
	return s.root.Right(ctx, password)
}

// ChangeRootPassword implements line.Desk. It requires the current password, so that a
// compromised mgmt cannot become root.
func (s *supervisor) ChangeRootPassword(ctx context.Context, old, new string) (bool, error) {
	right, err := s.root.Change(ctx, old, new)
	var refused *account.RefusedError
	for _, why := range []error{account.ErrNotRoot, account.ErrReadOnly, account.ErrNoTool, account.ErrUnfit} {
		if errors.Is(err, why) || errors.As(err, &refused) {
			return false, &line.RefusedError{Why: err.Error()}
		}
	}
	return right, err
}

// serving is called when a role serves. The instance is ready when all do.
func (s *supervisor) serving() {
	for _, r := range s.Roles() {
		if !r.Ready && r.Name != s.progd.name { // traffic does not need programs
			return
		}
	}
	s.ready.Do(func() {
		i := Instance{
			Data:   s.data.path,
			Socket: filepath.Join(s.data.path, mgmtSock),
			API:    s.sockets.api.(*net.TCPAddr).String(),
		}
		s.options.Log.Info("sluice serves", "api", "https://"+i.API, "data", i.Data)
		s.systemd.serving(i)
		if s.options.Ready != nil {
			go s.options.Ready(i)
		}
	})
}
