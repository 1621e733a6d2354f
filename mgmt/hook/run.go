package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unicode"
)

// Call is how a program is called. It gets nothing else: no descriptor, and of the
// environment what every program needs.
type Call struct {
	Args []string
	Env  []string // NAME=value
	// Input is what it can read; one that does not is not held up by it.
	Input []byte
	// Limit bounds it; it must be positive.
	Limit time.Duration
}

// errLimit is why a call ends that takes too long.
var errLimit = errors.New("out of time")

// closeDelay is how long what a child still holds open is waited for.
const closeDelay = time.Second

// Run checks the program, calls it and waits for its end. said is the beginning of
// what it printed, whatever came of it. The error says what went wrong, for the
// operator, without that.
func (p Program) Run(ctx context.Context, c Call) (said string, err error) {
	if err := p.Check(); err != nil {
		return "", err
	}
	return c.Run(ctx, p.Folder, "./"+p.Name, "./"+p.Name)
}

// Run calls a file, which the caller has checked, from a folder. name is what it is told
// it is called. An end that is not 0 is an *exec.ExitError within the error.
func (c Call) Run(ctx context.Context, folder, file, name string) (said string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.Limit, errLimit)
	defer cancel()
	out := &clipped{}
	cmd := exec.CommandContext(ctx, file, c.Args...)
	cmd.Args[0] = name
	cmd.Dir = folder
	cmd.Env = append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "HOME=/"}, c.Env...)
	cmd.Stdout, cmd.Stderr = out, out
	if c.Input != nil {
		cmd.Stdin = bytes.NewReader(c.Input)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = closeDelay
	// The signal for the death of the parent is one for that of its thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left behind
	}
	said = out.said()
	switch {
	case err == nil || errors.Is(err, exec.ErrWaitDelay) && cmd.ProcessState.Success():
		return said, nil
	case errors.Is(context.Cause(ctx), errLimit):
		return said, fmt.Errorf("it was ended, being not done within %s", c.Limit)
	case ctx.Err() != nil:
		return said, errors.New("it was ended, being not done when nobody waited for it any longer")
	}
	return said, &failure{err}
}

// failure is how a program ended, in printable words.
type failure struct{ error }

func (f *failure) Error() string { return Shown(f.error.Error()) }
func (f *failure) Unwrap() error { return f.error }

// clipped keeps the beginning of what is written, and takes all of it.
type clipped struct{ kept []byte }

// maxKept is how much is kept of what a program prints, in bytes.
const maxKept = 4 << 10

func (c *clipped) Write(b []byte) (int, error) {
	c.kept = append(c.kept, b[:min(len(b), maxKept-len(c.kept))]...)
	return len(b), nil
}

// said is what was printed, on one line.
func (c *clipped) said() string { return Shown(strings.Join(strings.Fields(string(c.kept)), " ")) }

// Shown makes a foreign text short and printable.
func Shown(s string) string {
	const most = 400
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '·'
	}, strings.ToValidUTF8(s, "·"))
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
