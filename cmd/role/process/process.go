// Package process is the common part of the roles: the inherited descriptors and memory, the
// channel to the supervisor, and the end of the process.
package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/cmd/harden"
	"github.com/sluicelb/sluice/cmd/inherit"
	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/cmd/supervisor/line"
	"github.com/sluicelb/sluice/core/shm"
)

// ErrFinal ends the instance, because a restart would only repeat the logged error.
var ErrFinal = errors.New("nothing to run")

// ErrAgain ends the process so that it restarts with restored data.
var ErrAgain = errors.New("what was in memory was replaced")

// Process is a role as seen by its code. Use New to make one.
type Process struct {
	inherit.Set
	// Line is the channel to the supervisor.
	Line *line.Line
	// Version is shown by the API.
	Version string
	// Grace is the supervisor's waiting time after SIGTERM.
	Grace time.Duration
	// status is the protection of this process.
	status harden.Status
}

// New connects the process with the supervisor, and ends it when the supervisor has ended.
func New(set inherit.Set, version string) (*Process, error) {
	conn, err := set.UnixConn("supervisor")
	if err != nil {
		return nil, err
	}
	p := &Process{Set: set, Line: line.Answer(conn), Version: version, Grace: GraceTime()}
	go p.endWithSupervisor()
	return p, nil
}

// Harden drops privileges by calling hardening. Ready reports the result.
func (p *Process) Harden(hardening func() (harden.Status, error)) (err error) {
	p.status, err = hardening()
	return err
}

// UntilStopped hardens the process and runs f with a context that SIGTERM ends.
func (p *Process) UntilStopped(hardening func() (harden.Status, error), f func(context.Context) error) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := p.Harden(hardening); err != nil {
		return err
	}
	err := f(ctx)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// Ready reports to the supervisor that the role serves.
func (p *Process) Ready() error { return p.Line.Ready(p.status) }

// endWithSupervisor stops the process when the supervisor is gone, first with SIGTERM. The
// parent-death signal has the same effect, but this does not depend on it.
func (p *Process) endWithSupervisor() {
	<-p.Line.Gone()
	_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
	time.Sleep(p.Grace + time.Second)
	supervisor.FlushLog()
	os.Exit(1)
}

// TakeListener is Listener for an inherited socket, without keeping another duplicate open.
func (p *Process) TakeListener(name string) (net.Listener, error) {
	l, err := p.Listener(name)
	if err != nil {
		return nil, err
	}
	f, err := p.File(name)
	if err == nil {
		err = f.Close()
	}
	return l, err
}

// GraceTime returns the supervisor's waiting time after SIGTERM.
func GraceTime() time.Duration {
	d, err := time.ParseDuration(os.Getenv(supervisor.GraceVariable))
	if err != nil {
		return supervisor.DefaultGrace
	}
	return d
}

// UIDFrom returns a uid passed by the supervisor, or the own one if it is unset.
func UIDFrom(variable string) uint32 {
	n, err := strconv.ParseUint(os.Getenv(variable), 10, 32)
	if err != nil {
		return uint32(os.Geteuid())
	}
	return uint32(n)
}

// Mapped maps the inherited memory of that name for the life of the process.
func Mapped[T any](in inherit.Set, name string, writable bool, open func([]byte) (T, error)) (of T, err error) {
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
