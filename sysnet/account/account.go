// Package account verifies the password of the system's root with unix_chkpwd, the helper
// of PAM (Debian: libpam-modules-bin), and changes it with chpasswd. Passwords never
// appear in an argument, an environment or a log.
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

// MaxPassword is the maximum length of a password in bytes (PAM_MAX_RESP_SIZE,
// security/_pam_types.h).
const MaxPassword = 511

const (
	checkTime = 10 * time.Second
	// wrongTime is the minimum response time for a wrong password. It limits guessing.
	wrongTime = time.Second
)

// ErrNotHere means that this system has no program to check passwords.
var ErrNotHere = errors.New("passwords of the system cannot be checked here: unix_chkpwd is not installed (Debian: libpam-modules-bin)")

// program lists the paths of unix_chkpwd in common distributions.
var programs = []string{"/usr/sbin/unix_chkpwd", "/sbin/unix_chkpwd", "/usr/bin/unix_chkpwd"}

// Root checks passwords of root and changes them. One program runs at a time.
type Root struct {
	one           sync.Mutex
	program, tool string // of the check and of the change; empty: looked for
	pause         time.Duration
}

// exitWrong is the exit status of unix_chkpwd for a wrong password (PAM_AUTH_ERR,
// security/_pam_types.h).
const exitWrong = 7

// Right reports whether password is root's. It returns ErrNotHere if unix_chkpwd is
// missing, or the error that prevented the check.
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

// first returns the first of the paths that exists, or "".
func first(paths []string) string {
	for _, path := range paths {
		if _, err := exec.LookPath(path); err == nil {
			return path
		}
	}
	return ""
}

// ask checks one password at a time. Callers wait for their pause (wait) without the lock,
// because a wrong password must not delay a correct one.
func (r *Root) ask(ctx context.Context, program, password string) error {
	r.one.Lock()
	defer r.one.Unlock()
	return ask(ctx, program, password)
}

// ask returns nil if the password is correct. The program reads it up to a zero byte.
func ask(ctx context.Context, program, password string) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	return run(ctx, password+"\x00", nil, program, "root", "nonull")
}

// run runs a program that reads a secret, with an empty environment. The kernel signals
// the program when the thread that started it ends, so the thread is locked.
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
