package housetest

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// The first thread stays in the original namespace, because /proc/self refers to it.
func init() { runtime.LockOSThread() }

// House holds the namespaces and networks of one test. They are removed after it.
type House struct {
	t     testing.TB
	wires *Namespace // contains the bridges
	links int
}

// New returns an empty house. It skips the test if namespaces cannot be made.
func New(t testing.TB) *House {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: network namespaces of its own")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skipf("needs ip(8): %v", err)
	}
	h := &House{t: t}
	h.wires = h.Namespace("wires")
	return h
}

// Namespace makes a network namespace with only a loopback device. IPv6 addresses are
// usable at once, and router discovery is disabled.
func (h *House) Namespace(name string) *Namespace {
	h.t.Helper()
	n := &Namespace{Name: name, t: h.t, tasks: make(chan func()), over: make(chan struct{})}
	ready := make(chan error)
	go n.keep(ready)
	if err := <-ready; err != nil {
		h.t.Skipf("no network namespace can be had: %v", err)
	}
	h.t.Cleanup(n.close)
	for _, scope := range []string{"all", "default"} {
		for _, key := range []string{"accept_dad", "accept_ra", "router_solicitations"} {
			n.Sysctl("net.ipv6.conf."+scope+"."+key, "0")
		}
	}
	n.Sysctl("net.ipv4.ip_forward", "0") // the machine's value is inherited
	n.Run("ip", "link", "set", "lo", "up")
	return n
}

// keep makes the namespace and runs its tasks on a thread that lives as long as the
// namespace. Processes started there may use Pdeathsig, so that they end with it.
func (n *Namespace) keep(ready chan<- error) {
	defer close(n.over)
	runtime.LockOSThread() // never unlocked: the thread ends with this function
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		ready <- fmt.Errorf("unshare: %w", err)
		return
	}
	f, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		ready <- err
		return
	}
	n.file = f
	ready <- nil
	for task := range n.tasks {
		task()
	}
}
