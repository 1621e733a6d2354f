package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// booted is a separate system with systemd on this machine's kernel: in namespaces, on this
// machine's files with an overlay in memory.
type booted struct {
	t    *testing.T
	init string // process number of its first process on this machine
}

// boots starts one with the packages of a folder in /pkg.
func boots(t *testing.T, packages string) *booted {
	t.Helper()
	needs(t, "/lib/systemd/systemd", "unshare", "nsenter", "apt-get")
	group := cgroup(t)
	script, err := filepath.Abs("testdata/installed/boot.sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `echo $$ >"$0/cgroup.procs" && exec unshare -m -p -f -n -u -i -C --kill-child "$@"`, group, script, t.TempDir(), packages)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	b := &booted{t: t}
	within(t, time.Minute, "systemd runs", func() error {
		select {
		case <-ended:
			t.Fatalf("a machine of its own does not start here: %s", said.String())
		default:
		}
		children, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", cmd.Process.Pid))
		if b.init = strings.TrimSpace(string(children)); err != nil || b.init == "" {
			return errors.New("no first process")
		}
		if comm, _ := os.ReadFile("/proc/" + b.init + "/comm"); strings.TrimSpace(string(comm)) != "systemd" {
			return fmt.Errorf("the first process is %s", comm)
		}
		state, _ := b.try("systemctl", "is-system-running")
		if s := strings.TrimSpace(state); s != "running" && s != "degraded" {
			return fmt.Errorf("it is %s", s)
		}
		return nil
	})
	return b
}

// cgroup creates a version 2 group for the system, deleted with its subgroups.
func cgroup(t *testing.T) string {
	t.Helper()
	for _, at := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		if _, err := os.Stat(at + "/cgroup.procs"); err != nil {
			continue
		}
		dir, err := os.MkdirTemp(at, "sluice-test-")
		if err != nil {
			t.Skipf("no group for a machine of its own can be made: %v", err)
		}
		t.Cleanup(func() {
			var dirs []string
			_ = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
				if err == nil && e.IsDir() {
					dirs = append(dirs, path)
				}
				return nil
			})
			for end := time.Now().Add(10 * time.Second); len(dirs) > 0 && time.Now().Before(end); {
				if err := syscall.Rmdir(dirs[len(dirs)-1]); errors.Is(err, syscall.EBUSY) {
					time.Sleep(10 * time.Millisecond) // its processes are still exiting
					continue
				}
				dirs = dirs[:len(dirs)-1]
			}
		})
		return dir
	}
	t.Skip("needs control groups of version 2")
	return ""
}

// try runs a command in it.
func (b *booted) try(command ...string) (string, error) {
	ctx, cancel := context.WithTimeout(b.t.Context(), 2*time.Minute)
	defer cancel()
	args := append([]string{"-t", b.init, "-m", "-p", "-n", "-u", "-i", "-C", "--wdns=/", "--"}, command...)
	cmd := exec.CommandContext(ctx, "nsenter", args...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"}
	out, err := cmd.CombinedOutput()
	return strings.ReplaceAll(string(out), "\r\n", "\n"), err // apt uses a terminal for dpkg
}

// must runs a script in it.
func (b *booted) must(script string) string {
	b.t.Helper()
	out, err := b.try("sh", "-ec", script)
	if err != nil {
		journal, _ := b.try("journalctl", "-n", "60", "--no-pager")
		b.t.Fatalf("%s: %v\n%s\n%s", script, err, out, journal)
	}
	return strings.TrimSpace(out)
}
