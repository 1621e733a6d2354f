package programs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Call is how a program is called. It gets nothing else: no descriptor, and of the
// environment what every program needs.
type Call struct {
	// Folder is where it lies and runs, File its name there, Name what it is told it is
	// called.
	Folder, File, Name string
	Args, Env          []string
	// Input is what it can read; one that does not is not held up by it.
	Input []byte `json:",omitempty"`
	// Limit bounds its time; it must be positive.
	Limit time.Duration
	// Output is how much of what it prints is kept, in bytes; 0 means 4 KiB. Split keeps
	// what it prints to standard error apart.
	Output int
	Split  bool
}

// The bounds of a call.
const (
	usualOutput = 4 << 10
	mostOutput  = 4 << 20
	// closeDelay is how long output that a child still holds open is waited for.
	closeDelay = time.Second
)

// End is how a program ended.
type End struct {
	Output, Errors []byte
	// Full: it printed more than was kept.
	Full bool
	// Exit is its exit status; Signal what ended it, 0 for none.
	Exit, Signal int
	// Late: its time was over. Gone: nobody waited for it any longer.
	Late, Gone bool
	// Unstarted is why it did not run; "" if it did.
	Unstarted string
	// Excess is the limit that it went beyond and was ended for; "" for none.
	Excess string
}

// errLimit is why a call ends that takes too long.
var errLimit = errors.New("out of time")

// Direct calls a program as the user of this process, without a box.
func Direct(ctx context.Context, c Call) End { return run(ctx, c, func(*exec.Cmd) {}, killGroup, nil) }

// killGroup ends the process group of a program.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// run calls a program and waits for its end. The goroutine must be locked to its thread:
// the signal for the death of the parent is one for that of its thread. end is called when
// its time is over, and once more when it has ended, to end what it left behind; excess, if
// not nil, with what it went beyond, by another goroutine.
func run(ctx context.Context, c Call, change func(*exec.Cmd), end func(pid int), watch func(ctx context.Context, pid int) string) (e End) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.Limit, errLimit)
	defer cancel()
	most := min(c.Output, mostOutput)
	if most <= 0 {
		most = usualOutput
	}
	out, said := &clipped{most: most}, &clipped{most: usualOutput}
	path := "./" + c.File // within the folder, where it runs
	if filepath.IsAbs(c.Folder) {
		path = filepath.Join(c.Folder, c.File)
	}
	cmd := exec.CommandContext(ctx, path, c.Args...)
	cmd.Args[0] = c.Name
	cmd.Dir = c.Folder
	cmd.Env = append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "HOME=/"}, c.Env...)
	cmd.Stdout, cmd.Stderr = out, out
	if c.Split {
		cmd.Stderr = said
	}
	if c.Input != nil {
		cmd.Stdin = bytes.NewReader(c.Input)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	change(cmd)
	cmd.Cancel = func() error { end(cmd.Process.Pid); return nil }
	cmd.WaitDelay = closeDelay
	if err := cmd.Start(); err != nil {
		return End{Unstarted: unstarted(err)}
	}
	exceeded := make(chan string, 1)
	watching, stop := context.WithCancel(ctx)
	go func() {
		if watch == nil {
			exceeded <- ""
			return
		}
		exceeded <- watch(watching, cmd.Process.Pid)
	}()
	err := cmd.Wait()
	stop()
	e.Excess = <-exceeded
	end(cmd.Process.Pid) // what it left behind
	e.Output, e.Errors, e.Full = out.kept, said.kept, out.full
	switch status, is := cmd.ProcessState.Sys().(syscall.WaitStatus); {
	case err == nil || errors.Is(err, exec.ErrWaitDelay) && cmd.ProcessState.Success():
	case errors.Is(context.Cause(ctx), errLimit):
		e.Late = true
	case ctx.Err() != nil:
		e.Gone = true
	case is && status.Signaled():
		e.Signal = int(status.Signal())
	case is:
		e.Exit = status.ExitStatus()
	}
	return e
}

// unstarted says why a program was not started, without the path of a box.
func unstarted(err error) string {
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	if errors.Is(err, syscall.ENOENT) {
		return fmt.Sprintf("%s, or the interpreter its first line names", err)
	}
	return err.Error()
}

// clipped keeps the beginning of what is written, and takes all of it.
type clipped struct {
	kept []byte
	most int
	full bool
}

func (c *clipped) Write(b []byte) (int, error) {
	n := min(len(b), c.most-len(c.kept))
	c.kept = append(c.kept, b[:n]...)
	c.full = c.full || n < len(b)
	return len(b), nil
}
