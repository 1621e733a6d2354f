package supervisor_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/inherit"
	"github.com/sluicelb/sluice/cmd/role/engine"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/core/snapshot"
)

// Signals with an effect on fakeEngine; the last one affects every role.
const (
	spin    = syscall.SIGUSR1 // its second loop enters an endless loop
	block   = syscall.SIGUSR2 // its second loop blocks forever
	chatter = syscall.SIGALRM // its output exceeds the kept amount, and it dies
)

func chatterOnSignal() {
	told := make(chan os.Signal, 1)
	signal.Notify(told, chatter)
	go func() {
		<-told
		for range 10_000 {
			println(strings.Repeat("x", 99))
		}
		os.Exit(9)
	}()
}

// fakeEngine runs two loops with heartbeats like the engine's.
func fakeEngine(set inherit.Set) error {
	f, err := set.File("page")
	if err != nil {
		return err
	}
	mem, err := shm.MapShared(f, true)
	if err != nil {
		return err
	}
	page, err := snapshot.OpenPage(mem.Bytes())
	if err != nil {
		return err
	}
	var loops []*loop.Loop
	for range 2 {
		l, err := loop.New(nil)
		if err != nil {
			return err
		}
		go func() { _ = l.Run() }()
		loops = append(loops, l)
	}
	page.StartEngine(os.Getpid(), len(loops), time.Now())
	go engine.Heartbeat(context.Background(), page, loops)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, spin, block)
	go func() {
		switch <-signals {
		case spin:
			loops[1].Post(spinForEver)
		case block:
			loops[1].Post(waitForEver)
		}
	}()
	return nil
}

// spinForEver touches no memory, because the race detector's calls have their own stacks.
func spinForEver() {
	for n := 1; n > 0; n ^= 2 {
	}
}

func waitForEver() { select {} }

// replacement waits for the next engine and returns the log.
func (i *instance) replacement(of life) (next life, log string) {
	i.t.Helper()
	next = i.next("engine")
	if next.PID == of.PID {
		i.t.Fatal("it is the same engine")
	}
	return next, i.end()
}

func TestHangingEngineIsReplaced(t *testing.T) {
	for name, c := range map[string]struct {
		signal syscall.Signal
		says   []string
	}{
		"stopped":            {syscall.SIGSTOP, []string{`what="it was stopped by a signal"`, "SIGQUIT: quit", "goroutine "}},
		"in an endless loop": {spin, []string{`what="loop 1 of 2"`, "SIGQUIT: quit", "spinForEver"}},
		"waiting for ever":   {block, []string{`what="loop 1 of 2"`, "SIGQUIT: quit", "waitForEver"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := start(t, t.TempDir())
			i.waitReady()
			l := i.next("engine")
			if err := syscall.Kill(l.PID, c.signal); err != nil {
				t.Fatal(err)
			}
			_, log := i.replacement(l)
			for _, want := range append(c.says, `msg="engine hangs, it is replaced"`) {
				if !strings.Contains(log, want) {
					t.Errorf("the log lacks %q:\n%s", want, log)
				}
			}
		})
	}
}

func TestOtherHangingRolesAreReplaced(t *testing.T) {
	for _, role := range []string{"mgmt", "netd", "progd"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			i := start(t, t.TempDir())
			i.waitReady()
			l := i.next(role)
			if err := syscall.Kill(l.PID, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			if i.next(role).PID == l.PID {
				t.Fatal("it is the same one")
			}
			log := i.end()
			for _, want := range []string{`msg="` + role + ` hangs, it is replaced"`, `what="it was stopped by a signal"`, "SIGQUIT: quit", "goroutine "} {
				if !strings.Contains(log, want) {
					t.Errorf("the log lacks %q:\n%s", want, log)
				}
			}
			if strings.Contains(log, "engine hangs") {
				t.Error("the engine gets the blame")
			}
		})
	}
}

func TestOutputOfADyingEngineIsBounded(t *testing.T) {
	i := start(t, t.TempDir())
	i.waitReady()
	l := i.next("engine")
	if err := syscall.Kill(l.PID, chatter); err != nil {
		t.Fatal(err)
	}
	_, log := i.replacement(l)
	said := strings.Count(log, strings.Repeat("x", 99))
	if said < 2000 || said > 3000 || !strings.Contains(log, "more was said than is kept") {
		t.Errorf("%d lines of 10,000 were kept", said)
	}
}

// process returns the current process of a role, or 0, independent of the log.
func (i *instance) process(role string) (pid int) {
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		line, _ := os.ReadFile(name)
		status, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "status"))
		if strings.HasPrefix(string(line), "sluice: "+role+"\x00") && strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", i.cmd.Process.Pid)) {
			pid, _ = strconv.Atoi(filepath.Base(filepath.Dir(name)))
		}
	}
	return pid
}

// Stacks may exceed the capacity of the pipe at standard error, which may have no reader.
func TestUnreadOutputDoesNotStopRestarts(t *testing.T) {
	i := start(t, t.TempDir())
	i.waitReady()
	lives := i.firstLives()
	i.reads.Lock()
	for role, l := range lives {
		if err := syscall.Kill(l.PID, chatter); err != nil {
			t.Fatal(err)
		}
		for limit := time.Now().Add(patience); i.process(role) == 0 || i.process(role) == l.PID; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(limit) {
				t.Fatalf("no new process of %s", role)
			}
		}
	}
	i.reads.Unlock()
	i.firstLives()
	if n := strings.Count(i.end(), "more was said than is kept"); n != len(lives) {
		t.Errorf("%d reports of truncated output", n)
	}
}

func TestOrderlyExitIsNotAHang(t *testing.T) {
	i := start(t, t.TempDir())
	i.waitReady()
	if err := i.stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if log := i.log.String(); strings.Contains(log, "hangs") {
		t.Errorf("the log is\n%s", log)
	}
}

// starve moves a process into a cgroup with a thousandth of a CPU and competing endless
// work. heldBack returns the time for which it was throttled.
func starve(t *testing.T, pid int) (heldBack func() time.Duration, end func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: nobody else can make groups that share a CPU")
	}
	for _, kind := range []struct{ top, limit, held string }{
		{"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "throttled_time "},
		{"/sys/fs/cgroup", "cpu.max", "throttled_usec "},
	} {
		group := filepath.Join(kind.top, fmt.Sprintf("sluice-test-%d", pid))
		if os.Mkdir(group, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(group) })
		set := func(name, value string) error {
			return os.WriteFile(filepath.Join(group, name), []byte(value), 0o644)
		}
		less, all := "1000 1000000", "max 1000000"
		if kind.limit == "cpu.cfs_quota_us" {
			_ = set("cpu.cfs_period_us", "1000000")
			less, all = "1000", "-1"
		}
		if set(kind.limit, less) != nil || set("cgroup.procs", strconv.Itoa(pid)) != nil {
			_ = os.Remove(group)
			continue
		}
		for range 2 * runtime.NumCPU() {
			busy := exec.Command("/bin/sh", "-c", "while :; do :; done")
			if err := busy.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = busy.Process.Kill(); _ = busy.Wait() })
			if err := set("cgroup.procs", strconv.Itoa(busy.Process.Pid)); err != nil {
				t.Fatal(err)
			}
		}
		unit := time.Nanosecond
		if kind.limit == "cpu.max" {
			unit = time.Microsecond
		}
		return func() time.Duration {
			b, _ := os.ReadFile(filepath.Join(group, "cpu.stat"))
			_, text, _ := strings.Cut(string(b), kind.held)
			text, _, _ = strings.Cut(text, "\n")
			n, _ := strconv.ParseInt(text, 10, 64)
			return time.Duration(n) * unit
		}, func() { _ = set(kind.limit, all) }
	}
	t.Skip("needs a control group for CPUs")
	return nil, nil
}

func TestStarvedEngineIsNotReplaced(t *testing.T) {
	i := start(t, t.TempDir())
	i.waitReady()
	l := i.next("engine")
	heldBack, end := starve(t, l.PID)
	for began := time.Now(); time.Since(began) < 6*time.Second || heldBack() < 3*time.Second; time.Sleep(100 * time.Millisecond) {
		if !alive(l.PID) {
			t.Fatalf("it was replaced; log:\n%s", i.end())
		}
		if time.Since(began) > patience {
			t.Fatalf("the process was throttled for only %v: the test would check too little", heldBack())
		}
	}
	end()
	_ = i.stop(syscall.SIGTERM)
	if log := i.log.String(); strings.Contains(log, "hangs") {
		t.Errorf("the log is\n%s", log)
	}
}
