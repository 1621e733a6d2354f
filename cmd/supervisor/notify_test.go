package supervisor_test

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// manager is systemd's notification socket.
type manager struct {
	t    *testing.T
	conn *net.UnixConn
	env  string
}

func newManager(t *testing.T) *manager {
	t.Helper()
	dir, err := os.MkdirTemp("", "notify") // socket paths must be short
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(); _ = os.RemoveAll(dir) })
	return &manager{t, c, "NOTIFY_SOCKET=" + path}
}

// hears returns the first message that begins with the word.
func (m *manager) hears(word string) string {
	m.t.Helper()
	_ = m.conn.SetReadDeadline(time.Now().Add(time.Minute))
	b := make([]byte, 4096)
	for {
		n, err := m.conn.Read(b)
		if err != nil {
			m.t.Fatalf("waiting for %s: %v", word, err)
		}
		if strings.HasPrefix(string(b[:n]), word) {
			return string(b[:n])
		}
	}
}

func TestSystemdIsNotifiedOfEachState(t *testing.T) {
	m := newManager(t)
	i := start(t, t.TempDir(), m.env)
	api, _ := i.waitReady()
	if got := m.hears(""); got != "READY=1\nSTATUS=serving, API https://"+api {
		t.Errorf("first %q", got)
	}
	i.firstLives()
	_ = i.cmd.Process.Signal(syscall.SIGHUP)
	if got := m.hears(""); !strings.HasPrefix(got, "RELOADING=1\nMONOTONIC_USEC=") || strings.HasSuffix(got, "=0") {
		t.Errorf("at a reload %q", got)
	}
	if got := i.next("mgmt").Config; !strings.HasPrefix(got, "reloaded") {
		t.Errorf("mgmt got %q", got)
	}
	if got := m.hears(""); got != "READY=1" {
		t.Errorf("after it %q, want %q", got, "READY=1")
	}
	if err := i.stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if got := m.hears(""); got != "STOPPING=1" {
		t.Errorf("at the end %q, want %q", got, "STOPPING=1")
	}
}

func TestSystemdWatchdogFollowsTheSupervisor(t *testing.T) {
	m := newManager(t)
	i := start(t, t.TempDir(), m.env, "WATCHDOG_USEC=100000")
	i.waitReady()
	for range 3 {
		m.hears("WATCHDOG=1")
	}
	_ = i.cmd.Process.Signal(syscall.SIGSTOP)
	for err := error(nil); err == nil; { // those sent before the stop, then none
		_ = m.conn.SetReadDeadline(time.Now().Add(time.Second))
		_, err = m.conn.Read(make([]byte, 100))
	}
	_ = i.cmd.Process.Signal(syscall.SIGCONT)
	m.hears("WATCHDOG=1")
}

func TestRolesDoNotKnowSystemd(t *testing.T) {
	m := newManager(t)
	i := start(t, t.TempDir(), m.env, "WATCHDOG_USEC=100000")
	for _, l := range i.firstLives() {
		if b, err := os.ReadFile("/proc/" + strconv.Itoa(l.PID) + "/environ"); err == nil && strings.Contains(string(b), "NOTIFY_SOCKET") {
			t.Errorf("%s may speak for the service", l.Role)
		}
	}
}
