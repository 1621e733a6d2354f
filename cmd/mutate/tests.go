package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// memoryLimit is the memory in bytes above which tests with a fault are killed and the
// fault counts as noticed. Endless loops often exceed it.
const memoryLimit = 3 << 30

// writeOverlay writes the overlay that replaces the file by the one with the fault.
func writeOverlay(dir string, f *fault) (string, error) {
	changed := filepath.Join(dir, filepath.Base(f.source.path))
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{f.source.path: changed}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, errors.Join(os.WriteFile(changed, f.changed(), 0o644), os.WriteFile(overlay, text, 0o644))
}

// compilation holds parameters of the go command.
type compilation struct {
	overlay string // overlay with the fault; empty: none
	cache   string // GOCACHE; empty: the user's
}

// compiles compiles a package and returns the errors of the compiler, or nil.
func (c compilation) compiles(p *pkg) []byte {
	return c.run(p.dir, "build", "-o", os.DevNull, ".")
}

// build builds the test program of a folder.
func (c compilation) build(tests, program string) []byte {
	return c.run(tests, "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", program, ".")
}

func (c compilation) run(dir string, args ...string) []byte {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = c.environment()
	if out, err := cmd.CombinedOutput(); err != nil {
		return append(out, err.Error()...)
	}
	return nil
}

// environment passes the overlay to programs that the tests build, too.
func (c compilation) environment() []string {
	env := os.Environ()
	if c.cache != "" {
		env = append(env, "GOCACHE="+c.cache)
	}
	if c.overlay != "" {
		env = append(env, "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+c.overlay))
	}
	return env
}

// runTests runs a test program until its first failure, and kills it if it exceeds the
// time or memory limit. out receives its output unless nil.
func (c compilation) runTests(tests, program, dir, skip string, limit time.Duration, out *os.File) (verdict, error) {
	args := alone(program, "-test.failfast", "-test.skip="+skip, "-test.timeout="+limit.String())
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = tests
	cmd.Env = append(c.environment(), "TMPDIR="+dir)
	if out != nil {
		cmd.Stdout, cmd.Stderr = out, out
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("%s: its tests were not started: %w", tests, err)
	}
	// The whole process group is killed.
	kill := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	// The program's own timeout shows where it hung. This one is for faults that disable
	// it.
	deadline, look := time.After(limit+5*time.Second), time.NewTicker(100*time.Millisecond)
	defer look.Stop()
	for began := time.Now(); ; {
		select {
		case err := <-ended:
			if err == nil {
				return survived, nil
			}
			if time.Since(began) >= limit {
				return hung, nil
			}
			return noticed, nil
		case <-deadline:
			kill()
			<-ended
			return hung, nil
		case <-look.C:
			if resident(cmd.Process.Pid) > memoryLimit {
				kill()
				<-ended
				return hung, nil
			}
		}
	}
}

// alone returns the command line for tests. As root they get their own PID, mount and
// network namespaces. A shell is PID 1 there, because signals that a test sends to itself
// do not reach PID 1.
func alone(program string, args ...string) []string {
	if os.Geteuid() != 0 {
		return append([]string{program}, args...)
	}
	return append([]string{
		"unshare", "--pid", "--net", "--mount-proc", "--kill-child", "--",
		"sh", "-c", `ip link set lo up && mount -t sysfs sysfs /sys 2>/dev/null; "$@"; exit $?`, "sh", program,
	}, args...)
}

// resident returns the memory of a process and its descendants, in bytes.
func resident(pid int) int {
	id, pages := strconv.Itoa(pid), 0
	statm, _ := os.ReadFile("/proc/" + id + "/statm")
	if fields := strings.Fields(string(statm)); len(fields) > 1 {
		pages, _ = strconv.Atoi(fields[1])
	}
	bytes := pages * os.Getpagesize()
	children, _ := os.ReadFile("/proc/" + id + "/task/" + id + "/children")
	for _, child := range strings.Fields(string(children)) {
		if c, err := strconv.Atoi(child); err == nil {
			bytes += resident(c)
		}
	}
	return bytes
}
