package supervisor

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/cmd/harden"
	"github.com/sluicelb/sluice/cmd/inherit"
	"github.com/sluicelb/sluice/cmd/supervisor/line"
)

// A role that dies is restarted at once. If it keeps dying, the pause begins with firstPause
// and doubles up to longestPause. After a life of longLife the next restart is immediate
// again.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = 2 * time.Second
	longLife     = 10 * time.Second
)

// ExitFinal is mgmt's exit status if a restart would only repeat the failure (EX_CONFIG of
// sysexits.h). The instance ends, too.
const ExitFinal = 78

// ExitAgain is mgmt's exit status if it must be restarted because all of its state was
// replaced.
const ExitAgain = 79

// runner keeps one role running.
type runner struct {
	name    string
	program string
	// credential is nil if the role keeps the supervisor's identity.
	credential   *syscall.Credential
	capabilities []harden.Capability
	files        map[string]*os.File
	environment  []string
	// desk answers questions of the role; nil if it may not ask any.
	desk line.Desk
	// final is closed when the role ends with ExitFinal; nil for roles that do not use that
	// status.
	final chan struct{}
	// said receives the output of the role's runtime.
	said io.Writer
	// ready is called when the role serves.
	ready func()
	log   *slog.Logger

	mu       sync.Mutex
	role     line.Role
	prepare  func()      // called before each life; may be nil
	process  *os.Process // nil while not running
	post     *line.Post
	output   *output
	lifeOver chan struct{} // closed at the end of this life
	served   bool          // it was ready at least once
	stopping bool
	stopped  chan struct{} // closed when stopping
	ended    chan struct{} // closed when keep has returned
}

// keep runs the role until stop is called. It needs its own goroutine: the locked thread has
// reduced privileges and ends with it.
func (k *runner) keep() {
	defer close(k.ended)
	runtime.LockOSThread()
	if err := harden.LimitThread(k.capabilities); err != nil {
		k.log.Error("role cannot be started safely", "name", k.name, "error", err)
		return
	}
	var pause time.Duration
	for {
		began := time.Now()
		if k.live() {
			close(k.final)
			return
		}
		if time.Since(began) >= longLife {
			pause = 0
		}
		select {
		case <-k.stopped:
			return
		case <-time.After(pause):
		}
		pause = nextPause(pause)
	}
}

// nextPause returns the pause after a role has died, given the previous pause.
func nextPause(pause time.Duration) time.Duration { return min(max(2*pause, firstPause), longestPause) }

// live runs one life of the role and reports whether it was the last.
func (k *runner) live() (last bool) {
	process, err := k.start()
	if err != nil {
		if !errors.Is(err, errStopping) {
			k.log.Error("role not started", "name", k.name, "error", err)
		}
		return false
	}
	state, err := process.Wait()
	lived := time.Since(k.role.Started).Round(time.Millisecond)
	post, wanted := k.end()
	post.Close()
	if more := k.output.close(); more > 0 {
		k.log.Warn("more was said than is kept", "name", k.name, "pid", process.Pid, "bytes", more)
	}
	switch {
	case err != nil:
		k.log.Error("role lost", "name", k.name, "pid", process.Pid, "error", err)
	case k.final != nil && state.ExitCode() == ExitFinal:
		return true
	case k.final != nil && state.ExitCode() == ExitAgain && !wanted:
		k.log.Info("role starts anew", "name", k.name, "pid", process.Pid)
	case wanted:
		k.log.Info("role ended", "name", k.name, "pid", process.Pid, "status", state.String())
	default:
		k.log.Error("role died", "name", k.name, "pid", process.Pid, "status", state.String(), "after", lived)
	}
	return false
}

// errStopping means that no more processes are started.
var errStopping = errors.New("stopping")

func (k *runner) start() (*os.Process, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stopping {
		return nil, errStopping
	}
	post, theirs, err := line.Pair(&office{runner: k}, k.desk)
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	files := map[string]*os.File{"supervisor": theirs, "log": os.Stderr}
	for name, f := range k.files {
		files[name] = f
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		post.Close()
		return nil, err
	}
	defer null.Close()
	m, output, err := openOutput(k.said)
	if err != nil {
		post.Close()
		return nil, err
	}
	defer output.Close()
	if k.prepare != nil {
		k.prepare()
	}
	list, ordered := inherit.Pass(files)
	process, err := os.StartProcess(k.program, []string{"sluice: " + k.name}, &os.ProcAttr{
		Env:   k.variables(list),
		Files: append([]*os.File{null, output, output}, ordered...),
		Sys: &syscall.SysProcAttr{
			Credential: k.credential,
			// A separate process group protects the role from the terminal's Ctrl-C: the
			// supervisor stops it in order.
			Setpgid:   true,
			Pdeathsig: syscall.SIGTERM,
		},
	})
	if err != nil {
		post.Close()
		_ = output.Close()
		m.close()
		return nil, fmt.Errorf("starting: %w", err)
	}
	if !k.role.Started.IsZero() {
		k.role.Restarts++
	}
	k.process, k.post, k.output, k.lifeOver = process, post, m, make(chan struct{})
	k.role.PID, k.role.Started = process.Pid, time.Now()
	k.log.Info("role started", "name", k.name, "pid", process.Pid, "restarts", k.role.Restarts)
	return process, nil
}

func (k *runner) variables(list string) []string {
	env := append(slices.Clone(k.environment), inherit.Variable+"="+list)
	if !k.served {
		env = append(env, FirstVariable+"=1")
	}
	return env
}

func (k *runner) end() (post *line.Post, wanted bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	post = k.post
	k.process, k.post = nil, nil
	close(k.lifeOver)
	k.role.PID, k.role.Ready = 0, false
	return post, k.stopping
}

// stop asks the role to end; kill forces it.
func (k *runner) stop() { k.finish(syscall.SIGTERM) }
func (k *runner) kill() { k.finish(syscall.SIGKILL) }

func (k *runner) finish(sig syscall.Signal) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.stopping {
		k.stopping = true
		close(k.stopped)
	}
	if k.process != nil {
		_ = k.process.Signal(sig) // it may just have ended
	}
}

// signal sends a signal to a running role.
func (k *runner) signal(sig syscall.Signal) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.process != nil {
		_ = k.process.Signal(sig)
	}
}

func (k *runner) reload() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.post == nil {
		return fmt.Errorf("%s is not running", k.name)
	}
	return k.post.Reload()
}

// pulse asks a serving role for a sign of life and returns the number of its last answer.
func (k *runner) pulse() (answered uint64, serves bool) {
	k.mu.Lock()
	post, serves := k.post, k.role.Ready
	k.mu.Unlock()
	if post == nil || !serves {
		return 0, false
	}
	return post.Pulse(AskEvery), true
}

// give replaces a descriptor for the next lives of the role.
func (k *runner) give(name string, f *os.File) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.files[name] = f
}

func (k *runner) state() line.Role {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.role
}

// office receives the reports of one life of a role.
type office struct {
	runner *runner
	warned bool // of forbidden messages: once per life
}

func (o *office) Ready(st harden.Status) {
	k := o.runner
	k.mu.Lock()
	k.served, k.role.Ready, k.role.Hardening = true, true, st
	k.mu.Unlock()
	k.log.Info("role serves", "name", k.name, "protection", st.String())
	k.ready()
}

func (o *office) Overstepped(message string) {
	if !o.warned {
		o.warned = true
		o.runner.log.Error("role sent the supervisor what it may not: it may have been captured; this was ignored and so is the like", "name", o.runner.name, "message", message)
	}
}

// passedOn are the variables passed to roles: settings of the Go runtime and the time zone,
// but nothing that could name a library or hold a secret.
var passedOn = []string{"GODEBUG", "GOTRACEBACK", "GOMAXPROCS", "GOMEMLIMIT", "GOGC", "GORACE", "GOCOVERDIR", "SLUICE_LOOPS", LogVariable, "TZ", "LANG"}

func environment() []string {
	env := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	for _, name := range passedOn {
		if value, ok := os.LookupEnv(name); ok && !strings.ContainsRune(value, 0) {
			env = append(env, name+"="+value)
		}
	}
	return env
}
