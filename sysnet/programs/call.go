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

// Call describes a program call. The program gets nothing else: no descriptors, and only
// the environment variables that every program needs.
type Call struct {
	// Folder contains the program and is its working directory. File is its name there,
	// Name its argv[0].
	Folder, File, Name string
	Args, Env          []string
	// Beside are the names of further files that are passed with the program.
	Beside []string `json:",omitempty"`
	// Input is its standard input. A program need not read it.
	Input []byte `json:",omitempty"`
	// Limit bounds the run time, and separately the wait for a free box before it; it must
	// be positive.
	Limit time.Duration
	// Started is called when the program starts, after any wait for a box; it may be nil.
	Started func() `json:"-"`
	// Output bounds the kept output in bytes; 0 means 4 KiB. Split stores standard error
	// separately.
	Output int
	Split  bool
}

// Limits of a call.
const (
	usualOutput = 4 << 10
	mostOutput  = 4 << 20
	// closeDelay bounds the wait for output that a child still holds open.
	closeDelay = time.Second
)

// End is the result of a program.
type End struct {
	Output, Errors []byte
	// Full is true if the output was truncated.
	Full bool
	// Exit is the exit status. Signal is the signal that killed the program, or 0.
	Exit, Signal int
	// Late is true if the time limit was exceeded, Gone if the caller cancelled.
	Late, Gone bool
	// Unstarted is the reason why it was not started, or "".
	Unstarted string
	// Excess is the limit for which it was killed, or "".
	Excess string
}

// errLimit is the cause of a call that exceeds its time limit.
var errLimit = errors.New("out of time")

// Direct runs a program as the user of this process, without a box.
func Direct(ctx context.Context, c Call) End {
	// Pdeathsig is sent when the parent thread ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return run(ctx, c, handling{start: (*exec.Cmd).Start, waited: func(int) {}, end: killGroup})
}

// killGroup kills the process group of a program.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// handling holds the functions that start and end a program.
type handling struct {
	start func(*exec.Cmd) error
	// waited is called after the program has been reaped.
	waited func(pid int)
	// end kills the program when its time is over.
	end func(pid int)
	// excess returns the exceeded limit, or ""; it may be nil. It runs on the thread that
	// started the program.
	excess func() string
}

// run runs a program and waits for its end. The goroutine must be locked to its thread,
// because Pdeathsig is sent when that thread ends.
func run(ctx context.Context, c Call, h handling) (e End) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.Limit, errLimit)
	defer cancel()
	most := min(c.Output, mostOutput)
	if most <= 0 {
		most = usualOutput
	}
	out, said := &clipped{most: most}, &clipped{most: usualOutput}
	path := "./" + c.File // relative to the working directory
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
	killGroup(cmd.Process.Pid) // remaining children
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

// lookEvery is the interval of the check for exceeded limits.
const lookEvery = 200 * time.Millisecond

// wait waits for the end of a program, and kills it if it exceeds a limit.
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

// unstarted returns why a program was not started. It hides the path of the box.
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

// clipped keeps the first most bytes and discards the rest.
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
