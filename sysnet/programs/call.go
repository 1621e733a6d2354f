package programs

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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
	// Beside are the names of files that a program brings along besides itself.
	Beside []string `json:",omitempty"`
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
func Direct(ctx context.Context, c Call) End {
	// The signal for the death of the parent is one for that of its thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return run(ctx, c, handling{start: (*exec.Cmd).Start, waited: func(int) {}, end: killGroup})
}

// killGroup ends the process group of a program.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// handling is how a program is started and ended.
type handling struct {
	start func(*exec.Cmd) error
	// waited is called when somebody has waited for the program.
	waited func(pid int)
	// end ends it when its time is over.
	end func(pid int)
	// excess says what it went beyond, "" for nothing; it may be nil. It is called from the
	// thread that started the program.
	excess func() string
}

// run calls a program and waits for its end. The goroutine must be locked to its thread:
// the signal for the death of the parent is one for that of its thread.
func run(ctx context.Context, c Call, h handling) (e End) {
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
	cmd.Cancel = func() error { h.end(cmd.Process.Pid); return nil }
	cmd.WaitDelay = closeDelay
	if err := h.start(cmd); err != nil {
		return End{Unstarted: unstarted(err)}
	}
	err := wait(cmd, h, &e.Excess)
	h.waited(cmd.Process.Pid)
	killGroup(cmd.Process.Pid) // what it left behind
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

// lookEvery is how often a program that runs is looked at.
const lookEvery = 200 * time.Millisecond

// wait waits for the end of a program, and ends it when it goes beyond what it may use.
func wait(cmd *exec.Cmd, h handling, excess *string) error {
	if h.excess == nil {
		return cmd.Wait()
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-tick.C:
		}
		if *excess != "" {
			continue
		}
		if *excess = h.excess(); *excess != "" {
			h.end(cmd.Process.Pid)
		}
	}
}

// unstarted says why a program was not started, without the path of a box.
func unstarted(err error) string {
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	if errors.Is(err, syscall.ENOEXEC) {
		return "it is no program of this machine, and its first line names no interpreter (#!)"
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
