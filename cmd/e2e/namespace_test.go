package e2e_test

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// programVariable names the built program for a test that runs again in its own network
// namespace.
const programVariable = "SLUICE_E2E_PROGRAM"

// inNamespace runs the calling test again in its own network namespace and reports whether
// this is there: a test starts with `if !inNamespace(t) { return }`. It needs root. Settings
// by ip(8) are only visible there.
func inNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(programVariable) != "" {
		if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("0"), 0); err != nil {
			t.Fatal(err) // the machine's value is inherited
		}
		ip(t, "link set lo up")
		return true
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root: a network namespace of its own")
	}
	needs(t, "ip")
	// The kernel ends the inner process when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), programVariable+"="+program)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	switch {
	case err != nil && cmd.ProcessState == nil:
		t.Skipf("no network namespace can be had: %v", err)
	case err != nil:
		t.Errorf("in the namespace: %v\n%s", err, out)
	case strings.Contains(string(out), "\n--- SKIP: "+t.Name()+" ") || strings.HasPrefix(string(out), "--- SKIP: "+t.Name()+" "):
		t.Skipf("in the namespace:\n%s", out)
	default:
		t.Logf("in the namespace:\n%s", out)
	}
	return false
}

// ip changes the namespace the test runs in.
func ip(t *testing.T, args string) {
	t.Helper()
	if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", args, err, out)
	}
}
