package acme

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// HookFolder is the folder of the data directory the hook must be in. A name is
// all that a setting can choose: who has an API key, or a configuration file,
// cannot make the appliance run another program.
const HookFolder = "hooks"

// hookTimeout bounds one call of the hook.
const hookTimeout = 60 * time.Second

// hookName is what a hook may be called: never a path.
var hookName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// hook is a program of the operator that changes TXT records. It is called as
//
//	NAME present|cleanup DOMAIN RECORD VALUE
//
// and finds the same in SLUICE_ACTION, SLUICE_DOMAIN, SLUICE_RECORD and
// SLUICE_VALUE. Nothing else is handed over: no descriptor, no environment.
type hook struct {
	folder, name string
}

// check says why the program may not be used, nil when it may: folder and file
// must belong to this process's user or root, and nobody else may write them.
func (h hook) check() error {
	if !hookName.MatchString(h.name) {
		return invalid("hook: %q is no name of a program: letters, digits and ._- (not the first), at most 64", show(h.name))
	}
	if err := own(h.folder, true); err != nil {
		return invalid("hook: the folder %s of the data directory cannot be used: %s", HookFolder, err)
	}
	if err := own(filepath.Join(h.folder, h.name), false); err != nil {
		return invalid("hook: %s/%s in the data directory cannot be used: %s", HookFolder, h.name, err)
	}
	return nil
}

// own says what is wrong with a folder or program.
func own(path string, folder bool) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return errors.New("it does not exist")
	case err != nil:
		return errors.New("it cannot be looked at")
	case folder && !info.IsDir():
		return errors.New("it is no folder")
	case !folder && !info.Mode().IsRegular():
		return errors.New("it is no regular file; links are not followed")
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("others may write it (mode %04o): chmod go-w", info.Mode().Perm())
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("it belongs to user %d: it must belong to root or to user %d", st.Uid, os.Geteuid())
	}
	if !folder && info.Mode().Perm()&0o111 == 0 {
		return errors.New("it is not executable: chmod +x")
	}
	return nil
}

// run calls the hook and waits for it, a minute at most. Its process group ends
// with it. What it prints is for the operator, in the error.
func (h hook) run(ctx context.Context, action, domain, record, value string) error {
	if err := h.check(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, hookTimeout)
	defer cancel()
	out := &clipped{}
	cmd := exec.CommandContext(ctx, "./"+h.name, action, domain, record, value)
	cmd.Dir = h.folder
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "HOME=/",
		"SLUICE_ACTION=" + action, "SLUICE_DOMAIN=" + domain, "SLUICE_RECORD=" + record, "SLUICE_VALUE=" + value}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // for what a child of its own still holds open
	// The signal for the death of the parent is one for that of its thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left behind
	}
	switch {
	case err == nil || errors.Is(err, exec.ErrWaitDelay) && cmd.ProcessState.Success():
		return nil
	case ctx.Err() != nil:
		err = fmt.Errorf("it was ended, being not done within %s", hookTimeout)
	}
	return invalid("the hook %s failed at %s of %s: %s%s", h.name, action, record, show(err.Error()), out.said())
}

// clipped keeps the beginning of what is written, and takes all of it.
type clipped struct{ kept []byte }

// mostOutput is how much is kept of what a hook prints, in bytes.
const mostOutput = 4 << 10

func (c *clipped) Write(b []byte) (int, error) {
	c.kept = append(c.kept, b[:min(len(b), mostOutput-len(c.kept))]...)
	return len(b), nil
}

func (c *clipped) said() string {
	text := strings.Join(strings.Fields(string(c.kept)), " ")
	if text == "" {
		return ", and printed nothing"
	}
	return "; it printed: " + show(text)
}
