// Package sysnettest runs tests that change the network configuration in isolation.
//
// A test starts with `if !sysnettest.Inside(t) { return }`. Inside runs it again in a
// separate process with its own network namespace (only loopback, up) and its own /run,
// so that state of ip(8) and iptables disappears with the process. It uses a process and
// not a thread, because goroutines may run on any thread.
package sysnettest

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// insideVariable contains the name of the test that runs inside.
const insideVariable = "SYSNET_TEST_INSIDE"

// Inside reports whether the calling test runs in its own namespace. If it does not,
// Inside runs it again in one and reports the result, or skips it with the reason if no
// namespace can be made. It fails if the test changed the packet filter or the sysctls of
// the original namespace.
func Inside(t *testing.T) bool {
	t.Helper()
	if os.Getenv(insideVariable) == t.Name() {
		private(t)
		return true
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root: a network namespace of its own")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skipf("needs ip(8): %v", err)
	}
	before := outside(t)
	// The kernel kills the inner process when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=120s")
	cmd.Env = append(os.Environ(), insideVariable+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	switch {
	case err != nil && cmd.ProcessState == nil:
		t.Skipf("no network namespace can be had: %v", err)
	case err != nil:
		t.Errorf("in the namespace: %v\n%s", err, out)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skipf("in the namespace:\n%s", out)
	default:
		t.Logf("in the namespace:\n%s", out)
	}
	if after := outside(t); after != before {
		t.Errorf("the test changed the namespace it started in\nbefore:\n%s\nafter:\n%s", before, after)
	}
	return false
}

// private gives the process its own /run, brings loopback up and disables forwarding,
// which a new namespace inherits from the machine.
func private(t *testing.T) {
	t.Helper()
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		t.Fatalf("making mounts private: %v", err)
	}
	if err := syscall.Mount("tmpfs", "/run", "tmpfs", 0, "mode=755"); err != nil {
		t.Fatalf("a /run of its own: %v", err)
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("0"), 0); err != nil {
		t.Fatal(err)
	}
	IP(t, "link set lo up")
}

// outside returns the state that no test may change: packet filter rules and the sysctls
// that Sluice sets.
func outside(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	if out, err := exec.Command("nft", "list", "ruleset").Output(); err == nil {
		b.Write(out)
	}
	for _, name := range []string{"ipv4/ip_forward", "ipv4/conf/all/rp_filter", "ipv6/conf/all/forwarding", "netfilter/nf_conntrack_acct"} {
		if value, err := os.ReadFile("/proc/sys/net/" + name); err == nil {
			b.WriteString(name + " " + string(value))
		}
	}
	return b.String()
}

// Need skips the test if one of the programs is missing.
func Need(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("needs %s: %v", p, err)
		}
	}
}

// IP runs ip(8) with the words of args and returns its output.
func IP(t *testing.T, args string) string {
	t.Helper()
	return Run(t, "", "ip", strings.Fields(args)...)
}

// Up brings interfaces up and waits until they carry packets.
func Up(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		IP(t, "link set "+name+" up")
	}
	for _, name := range names {
		Eventually(t, func() (string, bool) {
			shown := IP(t, "link show "+name)
			return shown, strings.Contains(shown, "state UP")
		})
	}
}

// Run runs a program with input as standard input and returns its output. A failure ends
// the test.
func Run(t *testing.T, input, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v: %s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}

var peers atomic.Int32

// Peer makes another namespace, connected by a veth pair: near is the interface here, far
// the one there, each with its addresses ("192.0.2.1/24"). It returns the name for `ip
// netns exec`. IPv6 addresses are usable at once.
func Peer(t *testing.T, near, far string, nearAddrs, farAddrs []string) string {
	t.Helper()
	name := "peer" + string(rune('a'+peers.Add(1)-1))
	IP(t, "netns add "+name)
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", name).Run() })
	IP(t, "link add "+near+" type veth peer name "+far+" netns "+name)
	for _, a := range nearAddrs {
		IP(t, "address add "+a+" dev "+near+nodad(a))
	}
	for _, a := range farAddrs {
		IP(t, "-n "+name+" address add "+a+" dev "+far+nodad(a))
	}
	IP(t, "link set "+near+" up")
	IP(t, "-n "+name+" link set lo up")
	IP(t, "-n "+name+" link set "+far+" up")
	return name
}

// nodad disables duplicate address detection for an IPv6 address.
func nodad(addr string) string {
	if strings.Contains(addr, ":") {
		return " nodad"
	}
	return ""
}
