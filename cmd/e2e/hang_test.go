package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	replaced = regexp.MustCompile(`msg="engine hangs, it is replaced".* hung=(\S+)`)
	stacks   = regexp.MustCompile(`^(goroutine \d+)`)
)

func TestHangingEngineIsReplacedAndLogsItsStacks(t *testing.T) {
	who := asOne()
	a := start(t, who, dataDir(t, who))
	url := a.farm("shop", backend(t, "one"))
	wantAnswer(t, url, "one")
	pid := a.pid("engine")
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	within(t, 10*time.Second, "the engine hangs", func() error { return stopped(pid) })
	within(t, 10*time.Second, "a client is answered", func() error { _, err := get(url); return err })
	if a.pid("engine") == pid {
		t.Error("it is the same engine")
	}
	hung, err := time.ParseDuration(a.await(replaced))
	if err != nil || hung < 2*time.Second {
		t.Errorf("it had hung for %v, %v", hung, err)
	}
	a.await(stacks)
	if out := a.must("status"); !strings.Contains(out, "engine") {
		t.Errorf("status:\n%s", out)
	}
}

// A pause of the whole machine is no hang: here the whole appliance is stopped for longer
// than a loop may hang.
func TestSuspendDoesNotReplaceTheEngine(t *testing.T) {
	who := asOne()
	a := start(t, who, dataDir(t, who))
	url := a.farm("shop", backend(t, "one"))
	pids := []int{a.cmd.Process.Pid, a.pid("mgmt"), a.pid("netd"), a.pid("engine"), a.pid("progd")}
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(4 * time.Second) // no condition to wait for: no process runs
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	// After several more checks it is still the same engine.
	for range 20 {
		wantAnswer(t, url, "one")
		time.Sleep(50 * time.Millisecond)
	}
	if pid := a.pid("engine"); pid != pids[3] {
		t.Errorf("engine %d was replaced by %d", pids[3], pid)
	}
}

// stopped returns an error while a thread of the process still runs: a signal reaches them
// one by one.
func stopped(pid int) error {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		return fmt.Errorf("no threads of %d: %v", pid, err)
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		if err != nil {
			return err
		}
		_, state, _ := strings.Cut(string(stat), ") ")
		if !strings.HasPrefix(state, "T") {
			return fmt.Errorf("%s: %.1s", thread, state)
		}
	}
	return nil
}
