package housetest

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Namespace is one machine of a house. It is safe for concurrent use, but methods that
// fail the test may only be called by the test's goroutine.
type Namespace struct {
	Name  string
	t     testing.TB
	file  *os.File // refers to the namespace
	tasks chan func()
	over  chan struct{}
}

func (n *Namespace) close() {
	close(n.tasks)
	<-n.over
	_ = n.file.Close()
}

// on calls f on the thread of the namespace.
func (n *Namespace) on(f func()) {
	done := make(chan struct{})
	n.tasks <- func() { defer close(done); f() }
	<-done
}

// Path returns the path of the namespace for other processes, e.g. ip(8).
func (n *Namespace) Path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.file.Fd()) }

// Do calls f inside the namespace, on the caller's goroutine. Sockets opened by f belong
// to the namespace permanently. Goroutines started by f are outside.
func (n *Namespace) Do(f func()) {
	runtime.LockOSThread()
	before, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		panic(fmt.Sprintf("housetest: %v", err))
	}
	defer before.Close()
	if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
		panic(fmt.Sprintf("housetest: entering %s: %v", n.Name, err))
	}
	defer func() {
		// A thread that cannot leave stays locked and ends with its goroutine.
		if unix.Setns(int(before.Fd()), unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread()
		}
	}()
	f()
}

// Dial connects from inside. The address must be numeric.
func (n *Namespace) Dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	return n.DialWith(ctx, &net.Dialer{}, network, address)
}

// DialWith is Dial with a dialer of the caller, e.g. for a source address or time limit.
func (n *Namespace) DialWith(ctx context.Context, d *net.Dialer, network, address string) (conn net.Conn, err error) {
	n.Do(func() { conn, err = d.DialContext(ctx, network, address) })
	return conn, err
}

// Client returns an HTTP client inside. It accepts every certificate and uses a new
// connection for each request.
func (n *Namespace) Client() *http.Client {
	return &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		DialContext: n.Dial, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
}

// Listen listens inside until the test ends.
func (n *Namespace) Listen(network, address string) net.Listener {
	n.t.Helper()
	var l net.Listener
	var err error
	n.Do(func() { l, err = net.Listen(network, address) })
	if err != nil {
		n.t.Fatalf("%s: %v", n.Name, err)
	}
	n.t.Cleanup(func() { _ = l.Close() })
	return l
}

// ListenPacket listens for datagrams inside until the test ends.
func (n *Namespace) ListenPacket(network, address string) net.PacketConn {
	n.t.Helper()
	var c net.PacketConn
	var err error
	n.Do(func() { c, err = net.ListenPacket(network, address) })
	if err != nil {
		n.t.Fatalf("%s: %v", n.Name, err)
	}
	n.t.Cleanup(func() { _ = c.Close() })
	return c
}

// Sysctl sets a sysctl of the namespace by its dotted name. Names that contain dots, e.g.
// of devices, use slashes as separators.
func (n *Namespace) Sysctl(key, value string) {
	n.t.Helper()
	var err error
	n.Do(func() { err = os.WriteFile(sysctlPath(key), []byte(value), 0) })
	if err != nil {
		n.t.Fatalf("%s: %v", n.Name, err)
	}
}

// SysctlValue returns the value of a sysctl.
func (n *Namespace) SysctlValue(key string) string {
	n.t.Helper()
	var b []byte
	var err error
	n.Do(func() { b, err = os.ReadFile(sysctlPath(key)) })
	if err != nil {
		n.t.Fatalf("%s: %v", n.Name, err)
	}
	return strings.TrimSpace(string(b))
}

func sysctlPath(key string) string {
	if !strings.Contains(key, "/") {
		key = strings.ReplaceAll(key, ".", "/")
	}
	return filepath.Join("/proc/sys", key)
}
