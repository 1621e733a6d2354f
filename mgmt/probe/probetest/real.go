package probetest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sluicelb/sluice/core/enginetest"
)

// nobody is the user servers run as when the test is root's.
const nobody = 65534

// Program finds a program of the system, by name or by patterns of paths. Without it the
// test fails for root, who can install it (.ci/packages), and is skipped for others.
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

// Dir is a folder that a server writes.
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

// File writes a file of that server's user into a folder, for everybody to read.
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

// Ordinary is a command of an ordinary user, which dies with the test.
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

// Start runs a server until the test ends. port is where it listens by TCP, which is
// waited for; 0 when it does not.
func Start(t *testing.T, port uint16, dir, program string, args ...string) (stop func()) {
	t.Helper()
	cmd := Ordinary(dir, program, args...)
	output, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
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
	return stop
}
