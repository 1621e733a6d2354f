package launch

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/bench/measure"
)

// Options are the parameters of a process.
type Options struct {
	Path string
	Args []string // without the name of the program
	Env  []string // added to the environment of the bench
	Dir  string   // working directory; empty: the bench's own
	CPU  int      // the CPU it is pinned to; negative: not pinned
	// Log receives standard error, and standard output unless Talk is set. Nil
	// discards them.
	Log *os.File
	// Talk connects pipes to standard input and output.
	Talk bool
}

// Process is one started process. It is safe for concurrent use; Stop may be called
// repeatedly.
type Process struct {
	// In and Out are set with Options.Talk.
	In  io.WriteCloser
	Out io.Reader

	cmd  *exec.Cmd
	seen map[measure.Process]bool // all processes of the tree seen so far
	done chan struct{}
	err  error // valid after done is closed
}

// Start starts a process.
func Start(o Options) (*Process, error) {
	cmd := exec.Command(o.Path, o.Args...)
	cmd.Env = append(os.Environ(), o.Env...)
	cmd.Dir = o.Dir
	// SIGTERM instead of SIGKILL, so that a supervisor can end its own children.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM}
	p := &Process{cmd: cmd, seen: map[measure.Process]bool{}, done: make(chan struct{})}
	if o.Log != nil {
		cmd.Stdout, cmd.Stderr = o.Log, o.Log
	}
	if o.Talk {
		cmd.Stdout = nil
		if err := p.pipes(); err != nil {
			return nil, err
		}
	}
	if err := onSpawner(o.CPU, cmd.Start); err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Path, err)
	}
	go p.wait()
	return p, nil
}

func (p *Process) pipes() (err error) {
	if p.In, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	// Not StdoutPipe: Wait would close it under a reader.
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	p.Out, p.cmd.Stdout = r, w
	return nil
}

func (p *Process) wait() {
	// The child has its own copy; ours would hide the end from the reader.
	if w, ok := p.cmd.Stdout.(*os.File); ok && p.Out != nil {
		_ = w.Close()
	}
	p.err = p.cmd.Wait()
	close(p.done)
}

// PID returns the process ID.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err returns the exit error; valid after Done.
func (p *Process) Err() error { return p.err }

// Used returns the CPU time of an ended process; valid after Done.
func (p *Process) Used() time.Duration {
	st := p.cmd.ProcessState
	return st.UserTime() + st.SystemTime()
}

// Tree returns the process and all its living descendants. It also records them, so that
// Stop ends a descendant whose parent died first.
func (p *Process) Tree() ([]measure.Process, error) {
	tree, err := measure.Tree(p.PID())
	for _, m := range tree {
		p.seen[m] = true
	}
	return tree, err
}

// grace is the time between SIGTERM and SIGKILL.
const grace = 4 * time.Second

// Stop ends the process and all descendants: SIGTERM to the process itself, then SIGKILL
// to the rest of its tree. It identifies each by PID and start time, so that a reused PID
// is never hit.
func (p *Process) Stop() error {
	_, _ = p.Tree() // it may have ended
	if p.In != nil {
		_ = p.In.Close()
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(grace):
	}
	var killed []string
	for deadline := time.Now().Add(time.Second); ; time.Sleep(10 * time.Millisecond) {
		left := p.alive()
		if len(left) == 0 {
			break
		}
		if time.Now().Before(deadline) {
			continue
		}
		for _, m := range left {
			killed = append(killed, fmt.Sprint(m.PID))
			_ = syscall.Kill(m.PID, syscall.SIGKILL)
		}
		break
	}
	<-p.done
	if c, ok := p.Out.(io.Closer); ok && c != nil {
		_ = c.Close()
	}
	if len(killed) > 0 {
		return fmt.Errorf("%s: %w: %s", p.cmd.Path, errKilled, strings.Join(killed, ", "))
	}
	return nil
}

var errKilled = errors.New("did not end on SIGTERM and had to be killed: processes")

func (p *Process) alive() []measure.Process {
	var out []measure.Process
	for m := range p.seen {
		if m.Alive() {
			out = append(out, m)
		}
	}
	return out
}
