package e2e_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// kernelStatus returns the kernel's status of a process.
func kernelStatus(t *testing.T, pid int) map[string]string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]string{}
	for line := range strings.SplitSeq(string(b), "\n") {
		name, value, _ := strings.Cut(line, ":")
		fields[name] = strings.Join(strings.Fields(value), " ")
	}
	return fields
}

// The output of `sluice status` about roles matches the kernel's, for all their threads.
func TestStatusShowsTheProtectionOfEachRole(t *testing.T) {
	if _, err := os.Stat("/proc/sys/kernel/seccomp"); err != nil {
		t.Skip("needs a kernel with seccomp")
	}
	asEachUser(t, func(t *testing.T, who identity) {
		a := start(t, who, dataDir(t, who))
		a.farm("shop", backend(t, "one"))
		out := a.must("status")
		shown := map[string]string{}
		for line := range strings.SplitSeq(out, "\n") {
			for _, role := range []string{"engine", "mgmt", "netd", "progd"} {
				if strings.HasPrefix(strings.TrimSpace(line), role) {
					shown[role] = line
				}
			}
		}
		for _, role := range []string{"engine", "mgmt", "netd", "progd"} {
			pid := a.pid(role)
			tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
			if err != nil {
				t.Fatal(err)
			}
			for _, task := range tasks {
				var tid int
				_, _ = fmt.Sscan(task.Name(), &tid)
				if got := kernelStatus(t, tid); got["NoNewPrivs"] != "1" || got["Seccomp"] != "2" {
					t.Errorf("%s, thread %d: new privileges %s, filter %s", role, tid, got["NoNewPrivs"], got["Seccomp"])
				}
			}
			if !strings.Contains(shown[role], "no new privileges") || !strings.Contains(shown[role], "seccomp") {
				t.Errorf("status shows of %s: %q\n%s", role, shown[role], out)
			}
			if role != "mgmt" && !strings.Contains(shown[role], "landlock") {
				t.Errorf("status lacks Landlock for %s: %q", role, shown[role])
			}
		}
	})
}
