// Package role holds the four processes of a running appliance: engine carries traffic, mgmt
// decides, netd handles privileged kernel objects, and progd starts programs of operators.
//
// A role is this same binary, started by cmd/supervisor with "sluice: NAME" as its first
// argument and the descriptors it needs (cmd/inherit). Main sets its process name, drops its
// privileges (cmd/harden) before any input is read, and ends it when the supervisor has
// ended.
package role

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/cmd/harden"
	"github.com/sluicelb/sluice/cmd/inherit"
	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/cmd/supervisor/line"
	"github.com/sluicelb/sluice/cmd/trim"
	"github.com/sluicelb/sluice/core/logpipe"
	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/core/tlsconf"
)

// prefix starts the first argument of every role.
const prefix = "sluice: "

// Named reports whether the program was started as a role, and returns its name.
func Named(args []string) (name string, ok bool) {
	if len(args) != 1 {
		return "", false
	}
	return strings.CutPrefix(args[0], prefix)
}

// Main runs the role of that name until it is stopped and returns the exit status of the
// process. The API shows version.
func Main(name, version string) int {
	slog.SetDefault(supervisor.Logger(name))
	switch err := run(name, version); {
	case err == nil:
		return 0
	case errors.Is(err, errFinal):
		return supervisor.ExitFinal
	case errors.Is(err, errAgain):
		return supervisor.ExitAgain
	default:
		slog.Error("role ends", "error", err)
		return 1
	}
}

// errFinal ends the instance, because a restart would only repeat the logged error.
var errFinal = errors.New("nothing to run")

// errAgain ends the process so that it restarts with restored data.
var errAgain = errors.New("what was in memory was replaced")

// process is the common part of the roles.
type process struct {
	inherit.Set
	line    *line.Line
	version string
	grace   time.Duration
	// status is the protection of this process.
	status harden.Status
}

func run(name, version string) error {
	_ = os.WriteFile("/proc/self/comm", []byte("sluice-"+name), 0) // a name for ps; not essential
	if kind, is := strings.CutPrefix(name, supervisor.HostPrefix); is {
		return hostd(kind)
	}
	if name == "engine" {
		trim.ProgramAfter(supervisor.TrimTime) // the first clients find a warm heap
	} else {
		trim.After(supervisor.TrimTime)
	}
	set, err := inherit.FromEnv()
	if err != nil {
		return err
	}
	if log, err := set.File("log"); err == nil {
		// Standard error holds messages of the runtime; the log is separate.
		os.Stderr = log
		slog.SetDefault(supervisor.Logger(name))
	}
	if pipe, err := set.File(supervisor.LogPipe); err == nil { // mgmt has none: it reads them
		w, err := logpipe.NewWriter(pipe)
		if err != nil {
			return err
		}
		slog.SetDefault(slog.New(logpipe.Tap(slog.Default().Handler(), w)))
	}
	conn, err := set.UnixConn("supervisor")
	if err != nil {
		return err
	}
	p := &process{Set: set, line: line.Answer(conn), version: version, grace: grace()}
	go p.endWithSupervisor()
	switch name {
	case "engine":
		return p.engine()
	case "mgmt":
		return p.untilStopped(harden.Manager, p.mgmt)
	case "netd":
		return p.untilStopped(harden.Helper, p.netd)
	case "progd":
		s := sandbox()
		return p.untilStopped(s.Close, func(ctx context.Context) error { return p.progd(ctx, s) })
	}
	return fmt.Errorf("there is no role %q: engine, mgmt, netd and progd are known", name)
}

// engine hardens the process and runs the data path, which handles SIGTERM itself, because
// exchanges must finish.
func (p *process) engine() error {
	// Read files that will be out of reach: the local time zone, and the system's CAs for
	// the verification of backends. Without the latter only the farms that use them are
	// refused.
	_, _ = time.Now().Zone()
	_, _ = tlsconf.SystemRoots()
	var err error
	if p.status, err = harden.Engine(); err != nil {
		return err
	}
	if err := p.ready(); err != nil {
		return err
	}
	return Engine(p.Set)
}

// untilStopped runs f with a context that SIGTERM ends.
func (p *process) untilStopped(hardening func() (harden.Status, error), f func(context.Context) error) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if p.status, err = hardening(); err != nil {
		return err
	}
	err = f(ctx)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// ready reports to the supervisor that the role serves.
func (p *process) ready() error { return p.line.Ready(p.status) }

// endWithSupervisor stops the process when the supervisor is gone, first with SIGTERM. The
// parent-death signal has the same effect, but this does not depend on it.
func (p *process) endWithSupervisor() {
	<-p.line.Gone()
	_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
	time.Sleep(p.grace + time.Second)
	supervisor.FlushLog()
	os.Exit(1)
}

// grace returns the supervisor's waiting time after SIGTERM.
func grace() time.Duration {
	d, err := time.ParseDuration(os.Getenv(supervisor.GraceVariable))
	if err != nil {
		return supervisor.DefaultGrace
	}
	return d
}

// uidFrom returns a uid passed by the supervisor, or the own one if it is unset.
func uidFrom(variable string) uint32 {
	n, err := strconv.ParseUint(os.Getenv(variable), 10, 32)
	if err != nil {
		return uint32(os.Geteuid())
	}
	return uint32(n)
}

// localUsers returns the users besides root who act as root on the control socket: the user
// who started the instance. It is nil if the supervisor passed none. It equals mgmt's own uid
// only if all roles share one.
func localUsers() []uint32 {
	n, err := strconv.ParseUint(os.Getenv(supervisor.UserVariable), 10, 32)
	if err != nil {
		return nil
	}
	return []uint32{uint32(n)}
}

// mapped maps the inherited memory of that name for the life of the process.
func mapped[T any](in inherit.Set, name string, writable bool, open func([]byte) (T, error)) (of T, err error) {
	f, err := in.File(name)
	if err != nil {
		return of, err
	}
	mem, err := shm.MapShared(f, writable)
	if err == nil {
		of, err = open(mem.Bytes())
	}
	if err != nil {
		err = fmt.Errorf("shared memory %q: %w", name, err)
	}
	return of, err
}
