package account

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// changing writes a stand-in for chpasswd: it reads lines of NAME:PASSWORD and reports
// refusals on standard error. It records its input in the folder.
func changing(t *testing.T, fails string) (tool, folder string) {
	t.Helper()
	folder = t.TempDir()
	tool = filepath.Join(folder, "chpasswd")
	script := "#!/bin/sh\ncat > " + folder + "/line\nprintf '%s|%s' \"$*\" \"$(env | grep -c PATH)\" > " + folder + "/said\n" + fails + "\n"
	if err := os.WriteFile(tool, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return tool, folder
}

func root(t *testing.T, right, fails string) (*Root, string) {
	program, _ := speaking(t, right, "exit 7")
	tool, folder := changing(t, fails)
	return &Root{program: program, tool: tool, pause: time.Nanosecond}, folder
}

func TestNewPasswordReachesTheToolUnchanged(t *testing.T) {
	const old, new = `pa$$word "1"`, `$HOME:$(id) 'x' "y" \ & ; | ü 1`
	r, folder := root(t, old, "exit 0")
	if right, err := r.Change(t.Context(), old, new); !right || err != nil {
		t.Fatalf("%t, %v", right, err)
	}
	line, err := os.ReadFile(filepath.Join(folder, "line"))
	if err != nil || string(line) != "root:"+new+"\n" {
		t.Errorf("it read %q: %v", line, err)
	}
	if said, _ := os.ReadFile(filepath.Join(folder, "said")); !strings.HasPrefix(string(said), "|") {
		t.Errorf("it was called with %q", said)
	}
}

func TestChangeNeedsTheOldPassword(t *testing.T) {
	r, folder := root(t, "right-1", "exit 0")
	for _, old := range []string{"wrong-1", ""} {
		if right, err := r.Change(t.Context(), old, "other-1x"); right || err != nil {
			t.Errorf("%q: %t, %v", old, right, err)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "line")); err == nil {
		t.Error("the tool was started")
	}
}

func TestInvalidNewPasswordsAreNotTried(t *testing.T) {
	r, folder := root(t, "right-1", "exit 0")
	for _, new := range []string{"", "a\x00b", "a\nroot2:x", "a\rb", strings.Repeat("x", MaxPassword+1)} {
		if _, err := r.Change(t.Context(), "right-1", new); !errors.Is(err, ErrUnfit) {
			t.Errorf("%.5q: %v", new, err)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "line")); err == nil {
		t.Error("the tool was started")
	}
	if right, err := r.Change(t.Context(), "right-1", strings.Repeat("x", MaxPassword)); !right || err != nil {
		t.Errorf("the longest: %t, %v", right, err)
	}
}

func TestToolErrorsAreShortened(t *testing.T) {
	for fails, want := range map[string]string{
		`printf 'chpasswd: BAD\n\033[31mpassword\n' >&2; exit 1`: "the system refused the password: chpasswd: BAD [31mpassword",
		"exit 1": "the system refused the password: it does not say why",
		`i=0; while [ $i -lt 999 ]; do echo "0123456789" >&2; i=$((i+1)); done; exit 1`: "the system refused the password: " + strings.TrimSpace(strings.Repeat("0123456789 ", 28)[:maxSaid]),
	} {
		r, _ := root(t, "right-1", fails)
		_, err := r.Change(t.Context(), "right-1", "other-1x")
		var refused *RefusedError
		if !errors.As(err, &refused) || len(err.Error()) > maxSaid+40 || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.20s: %v", fails, err)
		}
	}
	r, _ := root(t, "right-1", "kill -9 $$")
	var refused *RefusedError
	if _, err := r.Change(t.Context(), "right-1", "other-1x"); err == nil || errors.As(err, &refused) {
		t.Errorf("a tool that was killed: %v", err)
	}
}

// A broken connection does not interrupt a change.
func TestStartedChangeIsCompleted(t *testing.T) {
	tool, folder := changing(t, "exit 0")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := change(ctx, tool, "other-1x"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "line")); err != nil {
		t.Error(err)
	}
}

func TestMissingRootOrToolIsReported(t *testing.T) {
	want := ErrNoTool
	if os.Geteuid() != 0 {
		want = ErrNotRoot
	}
	was := changers
	defer func() { changers = was }()
	changers = []string{"/none/chpasswd"}
	if _, err := (&Root{}).Change(t.Context(), "right-1", "other-1x"); !errors.Is(err, want) && !errors.Is(err, ErrReadOnly) {
		t.Errorf("got %v, want %v", err, want)
	}
	if readOnly(t.TempDir()) || readOnly("/none") {
		t.Error("a writable folder is reported as read-only")
	}
}

// inHouse runs a test of this file again in a mount namespace with a copy of /etc, in
// which root's password is "first-1x".
func inHouse(t *testing.T) (inside bool) {
	t.Helper()
	if os.Getenv("SLUICE_ETC_COPY") != "" {
		return true
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "SLUICE_ETC_COPY="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Fatalf("%v\n%s", err, out)
	}
	return false
}

func command(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// This test runs the real programs on a copy of the real files.
func TestTheSystemsOwnPasswordChanges(t *testing.T) {
	if !inHouse(t) {
		return
	}
	etc := os.Getenv("SLUICE_ETC_COPY")
	command(t, "cp", "-a", "/etc/.", etc)
	command(t, "mount", "--bind", etc, "/etc")
	if err := change(t.Context(), first(changers), "first-1x"); err != nil {
		t.Fatal(err)
	}
	r := &Root{pause: time.Nanosecond}
	at := "first-1x"
	for _, next := range []string{`$HOME: $(id) "x" 'y' \ 1`, "pä$$wörd-1", strings.Repeat("x", MaxPassword-1) + "1"} {
		if right, err := r.Change(t.Context(), at, next); !right || err != nil {
			t.Fatalf("%.20q: %t, %v", next, right, err)
		}
		if right, err := r.Right(t.Context(), next); !right || err != nil {
			t.Errorf("%.20q is not the password: %t, %v", next, right, err)
		}
		if right, err := r.Right(t.Context(), at); right || err != nil {
			t.Errorf("%.20q is the password still: %t, %v", at, right, err)
		}
		at = next
	}
	if right, err := r.Change(t.Context(), "first-1x", "other-1x"); right || err != nil {
		t.Errorf("with an old password: %t, %v", right, err)
	}
	command(t, "mount", "-o", "remount,ro,bind", "/etc")
	if _, err := r.Change(t.Context(), at, "other-1x"); !errors.Is(err, ErrReadOnly) {
		t.Errorf("read-only: %v", err)
	}
}
