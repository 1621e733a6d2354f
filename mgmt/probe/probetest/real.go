package probetest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/mgmt/probe"
)

// nobody is the user of servers if the test is run by root.
const nobody = 65534

// Program finds a program of the system, by name or by patterns of paths. If it is missing,
// the test fails for root, because root can install it (.ci/packages), and is skipped for
// others.
func Program(t *testing.T, name string, patterns ...string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, pattern := range append(patterns, "/usr/sbin/"+name, "/sbin/"+name) {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return found[len(found)-1]
		}
	}
	if os.Geteuid() == 0 {
		t.Fatalf("%s is not installed", name)
	}
	t.Skipf("%s is not installed", name)
	return ""
}

// Dir returns a folder that a server may write to.
func Dir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "probe-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// File writes a file into such a folder. It belongs to the user of the server, and every
// user may read it.
func File(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(path, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// Ordinary returns a command that runs as an ordinary user and is killed when the test
// ends.
func Ordinary(dir, program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LC_ALL=C", "TMPDIR=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	return cmd
}

// Once runs a program to its end.
func Once(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	if out, err := Ordinary(dir, program, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
}

// Start runs a server until the test ends. port is the TCP port to wait for, 0 for none.
func Start(t *testing.T, port uint16, dir, program string, args ...string) (stop func()) {
	t.Helper()
	return Run(t, port, dir, program, args...).Stop
}

// Running is a running server.
type Running struct {
	// Stop stops the server.
	Stop  func()
	group int // of its processes
}

// impatient is the time limit of a check that has to detect a bad server.
const impatient = 300 * time.Millisecond

// Suffers fails the test unless the check detects three faults within its time limit:
//
//   - a server that hangs (the kernel still accepts connections for it)
//   - a server that is slower than the check waits
//   - a server whose answers are garbage
//
// The function ask runs a check of the target with a time limit. The check must be healthy
// before and after that, and with a slow server if its time limit is long enough.
func (r *Running) Suffers(t *testing.T, to probe.Target, ask func(within time.Duration, to probe.Target) Asked) {
	t.Helper()
	ask(Longest, to).Healthy(t)
	r.hangs(t, func(within time.Duration) Asked { return ask(within, to) })
	slow := relay(t, to, late)
	ask(impatient, slow).foundOut(t, "while it is slow")
	ask(Longest, slow).Healthy(t)
	ask(time.Second, relay(t, to, garble)).foundOut(t, "when it answers garbage")
}

// foundOut fails the test unless the check failed, for a fault of the server and not of
// this machine.
func (a Asked) foundOut(t *testing.T, when string) {
	t.Helper()
	if a.Err == nil || errors.Is(a.Err, probe.ErrLocal) {
		t.Errorf("%s: %v\n%s", when, a.Err, a.Said)
	}
}

func (r *Running) hangs(t *testing.T, ask func(within time.Duration) Asked) {
	t.Helper()
	signal := func(s syscall.Signal) {
		if err := syscall.Kill(-r.group, s); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	enginetest.Eventually(t, "the server to stand still", func() bool { return standsStill(r.group) })
	got := ask(impatient)
	signal(syscall.SIGCONT)
	got.foundOut(t, "while it hangs")
	enginetest.Eventually(t, "the server to answer again", func() bool { return ask(Longest).Err == nil })
}

// standsStill reports whether every thread of a process group is stopped.
func standsStill(group int) bool {
	threads, _ := filepath.Glob("/proc/[0-9]*/task/[0-9]*/stat")
	for _, file := range threads {
		text, _ := os.ReadFile(file)
		_, after, _ := strings.Cut(string(text), ") ") // the text before it may contain any name
		if f := strings.Fields(after); len(f) > 2 && f[2] == strconv.Itoa(group) && f[0] != "T" && f[0] != "Z" {
			return false
		}
	}
	return true
}

// Run is Start for tests that do more with the server than stop it.
func Run(t *testing.T, port uint16, dir, program string, args ...string) *Running {
	t.Helper()
	return begin(t, port, Ordinary(dir, program, args...))
}

// NeedsRoot skips a test of a server that only root can start. CI runs the tests as root
// (.ci/test).
func NeedsRoot(t *testing.T, server string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skipf("%s is started by root", server)
	}
}

// RunAsRoot is Run for such a server.
func RunAsRoot(t *testing.T, port uint16, dir, program string, args ...string) *Running {
	t.Helper()
	cmd := Ordinary(dir, program, args...)
	cmd.SysProcAttr.Credential = nil
	return begin(t, port, cmd)
}

func begin(t *testing.T, port uint16, cmd *exec.Cmd) *Running {
	t.Helper()
	program := cmd.Path
	output, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		if text, _ := os.ReadFile(output.Name()); t.Failed() {
			t.Logf("%s said:\n%s", program, text)
		}
		_ = output.Close()
	}
	t.Cleanup(stop)
	if port != 0 {
		enginetest.Eventually(t, program+" to listen", func() bool {
			c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
			if err == nil {
				_ = c.Close()
			}
			return err == nil
		})
	}
	return &Running{stop, cmd.Process.Pid}
}
