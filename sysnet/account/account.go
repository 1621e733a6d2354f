// Package account asks the system whether a password is that of its root, with the
// program PAM checks passwords with (unix_chkpwd, of Debian's libpam-modules-bin), and
// has it changed by the system's own tool (chpasswd). No password is in an argument, an
// environment or a log.
package account

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// MaxPassword is the longest password that is asked about, in bytes (PAM's bound,
// security/_pam_types.h).
const MaxPassword = 511

const (
	checkTime = 10 * time.Second
	// wrongTime is how long a wrong password takes at least: whoever may ask cannot
	// try many.
	wrongTime = time.Second
)

// ErrNotHere: this system has nothing to check passwords with.
var ErrNotHere = errors.New("passwords of the system cannot be checked here: unix_chkpwd is not installed (Debian: libpam-modules-bin)")

// program is where distributions have it.
var programs = []string{"/usr/sbin/unix_chkpwd", "/sbin/unix_chkpwd", "/usr/bin/unix_chkpwd"}

// Root checks passwords of root and changes them. One program runs at a time.
type Root struct {
	one           sync.Mutex
	program, tool string // of the check and of the change; empty: looked for
	pause         time.Duration
}

// exitWrong is what unix_chkpwd ends with when the password is another one
// (PAM_AUTH_ERR, security/_pam_types.h).
const exitWrong = 7

// Right reports whether the password is that of root. Errors: ErrNotHere, and what
// kept the program from saying it.
func (r *Root) Right(ctx context.Context, password string) (bool, error) {
	if password == "" || len(password) > MaxPassword || strings.ContainsRune(password, 0) {
		return false, nil
	}
	program, err := r.find()
	if err != nil {
		return false, err
	}
	switch err := r.ask(ctx, program, password); {
	case err == nil:
		return true, nil
	case exitCode(err) == exitWrong:
		r.wait(ctx)
		return false, nil
	default:
		return false, fmt.Errorf("check the password of root: %w", err)
	}
}

func (r *Root) find() (string, error) {
	if r.program != "" {
		return r.program, nil
	}
	if path := first(programs); path != "" {
		return path, nil
	}
	return "", ErrNotHere
}

// first is the first of some programs that is there, empty when none is.
func first(paths []string) string {
	for _, path := range paths {
		if _, err := exec.LookPath(path); err == nil {
			return path
		}
	}
	return ""
}

// ask asks about one password at a time. Callers wait for their pause (wait) without the
// lock: a wrong password must not delay a right one.
func (r *Root) ask(ctx context.Context, program, password string) error {
	r.one.Lock()
	defer r.one.Unlock()
	return ask(ctx, program, password)
}

// ask ends without an error when the password is right. The program reads it up to
// a zero byte.
func ask(ctx context.Context, program, password string) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	return run(ctx, password+"\x00", nil, program, "root", "nonull")
}

// run runs a program that reads a secret, with nothing of our environment. The signal
// comes with the end of the thread that started the program, so the thread has to stay.
func run(ctx context.Context, secret string, says io.Writer, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = []string{"LC_ALL=C"}, "/", time.Second
	cmd.Stdin, cmd.Stderr = strings.NewReader(secret), says
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return cmd.Run()
}

func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}

func (r *Root) wait(ctx context.Context) {
	pause := r.pause
	if pause == 0 {
		pause = wrongTime
	}
	select {
	case <-time.After(pause):
	case <-ctx.Done():
	}
}
