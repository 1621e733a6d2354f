package harden_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/cmd/harden"
)

// folderVariable contains a folder of root that a child tries to change, peerVariable an
// address and serviceVariable a unix socket that it tries to connect to.
const folderVariable, peerVariable, serviceVariable = "HARDEN_FOLDER", "HARDEN_PEER", "HARDEN_SERVICE"

// Sysctls that a child overwrites with their current value.
const netSysctl, otherSysctl = "/proc/sys/net/ipv4/conf/lo/forwarding", "/proc/sys/kernel/printk_delay"

// rewrite writes a file with its current content.
func rewrite(name string) error {
	b, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, b, 0)
	}
	return err
}

// files attempts operations on root's files in a folder.
func (a *attempts) files(folder string) {
	in := func(name string) string { return filepath.Join(folder, name) }
	a.try("write root's file", func() error { return os.WriteFile(in("file"), []byte("x"), 0o600) })
	a.try("append to root's file", func() error {
		f, err := os.OpenFile(in("file"), os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_ = f.Close()
		}
		return err
	})
	a.try("make a file", func() error { return os.WriteFile(in("new"), nil, 0o600) })
	a.try("make a folder", func() error { return os.Mkdir(in("folder"), 0o700) })
	a.try("make a link", func() error { return os.Symlink("/", in("link")) })
	a.try("make a hard link", func() error { return os.Link(in("file"), in("hard")) })
	a.try("make a device", func() error { return unix.Mknod(in("device"), unix.S_IFCHR|0o600, 1<<8|3) })
	a.try("rename root's file", func() error { return os.Rename(in("file"), in("other")) })
	a.try("truncate root's file", func() error { return os.Truncate(in("file"), 0) })
	a.try("remove root's file", func() error { return os.Remove(in("file")) })
	a.try("read root's file", func() error { return read(in("file")) })
	a.try("open root's file to others", func() error { return os.Chmod(in("file"), 0o666) })
	a.try("give root's file away", func() error { return os.Chown(in("file"), childUID, childUID) })
	a.try("date root's file back", func() error { return os.Chtimes(in("file"), time.Unix(1, 0), time.Unix(1, 0)) })
	a.try("mark root's file", func() error { return unix.Setxattr(in("file"), "user.x", []byte("x"), 0) })
}

// nobody is a pid above the maximum of the kernel.
const nobody = 1 << 30

// machine attempts calls that no role makes.
func (a *attempts) machine() {
	// The target process does not exist, so only the filter can return EPERM.
	a.try("ptrace", func() error { return rawErr(unix.SYS_PTRACE, unix.PTRACE_ATTACH, nobody, 0) })
	a.try("read another's memory", func() error { return rawErr(unix.SYS_PROCESS_VM_READV, nobody, 0, 0) })
	a.try("mount", func() error { return unix.Mount("none", "/tmp", "tmpfs", 0, "") })
	a.try("a namespace of users", func() error { return unix.Unshare(unix.CLONE_NEWUSER) })
	a.try("a process in a namespace of users", func() error {
		cmd := exec.Command("/bin/true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
		return cmd.Run()
	})
	a.try("another namespace", func() error { return unix.Setns(0, 0) })
	a.try("bpf", func() error { return rawErr(unix.SYS_BPF, 0, 0, 0) })
	a.try("performance counters", func() error { return rawErr(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0) })
	a.try("io_uring", func() error { return rawErr(unix.SYS_IO_URING_SETUP, 1, 0, 0) })
	a.try("userfaultfd", func() error { return rawErr(unix.SYS_USERFAULTFD, 0, 0, 0) })
	a.try("keys", func() error { return rawErr(unix.SYS_KEYCTL, 0, 0, 0) })
	a.try("load a module", func() error { return rawErr(unix.SYS_FINIT_MODULE, 0, 0, 0) })
	a.try("reboot", func() error { return rawErr(unix.SYS_REBOOT, 0, 0, 0) })
	a.try("set the clock", func() error { return rawErr(unix.SYS_CLOCK_SETTIME, 0, 0, 0) })
	a.try("a socket of another family", func() error { return socket(unix.AF_VSOCK) })
	a.try("type into the terminal", func() error { return rawErr(unix.SYS_IOCTL, 0, 0x5412, 0) })
	a.try("what no kernel has yet", func() error { return rawErr(9999, 0, 0, 0) })
}

// services attempts to reach local services, which perform operations for root.
func (a *attempts) services() {
	at := os.Getenv(serviceVariable)
	a.try("connect to a service", func() error {
		c, err := net.Dial("unix", at)
		if err == nil {
			_ = c.Close()
		}
		return err
	})
	a.try("send a service a datagram", func() error {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		return unix.Sendto(pair[0], []byte("x"), 0, &unix.SockaddrUnix{Name: at + ".datagrams"})
	})
}

// service returns the socket of a local service.
func service(t *testing.T) (at string) {
	t.Helper()
	folder, err := os.MkdirTemp("", "service")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	at = filepath.Join(folder, "socket")
	l, err := net.Listen("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	c, err := net.ListenPacket("unixgram", at+".datagrams")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	for _, name := range []string{folder, at, at + ".datagrams"} {
		if err := os.Chmod(name, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return at
}

// shut checks that the filter denied all attempts of machine; the kernel denies them for
// other reasons.
func (a *attempts) shut(t *testing.T) {
	t.Helper()
	if !a.Status.Seccomp {
		if _, err := os.Stat("/proc/sys/kernel/seccomp"); err == nil {
			t.Error("this kernel has seccomp, but the status reports none")
		}
		t.Log("not shown: no seccomp on this kernel")
		return
	}
	for _, name := range []string{"ptrace", "read another's memory", "mount", "a namespace of users", "a process in a namespace of users",
		"another namespace", "bpf", "performance counters", "io_uring", "userfaultfd", "keys", "load a module", "reboot", "set the clock",
		"a socket of another family", "type into the terminal"} {
		if problem, tried := a.Tried[name]; !tried || !strings.Contains(problem, syscall.EPERM.Error()) {
			t.Errorf("%s: %q, want %q", name, problem, syscall.EPERM.Error())
		}
	}
	if problem := a.Tried["what no kernel has yet"]; problem != syscall.ENOSYS.Error() {
		t.Errorf("a call that no kernel has yet: %q, want %q", problem, syscall.ENOSYS.Error())
	}
}

func helperChild() {
	before, _ := os.ReadDir("/proc/self/fd")
	st, err := harden.Helper()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	a := attempts{Status: st, Tried: map[string]string{}}
	a.try("have no more descriptors than before", func() error {
		after, err := os.ReadDir("/proc/self/fd")
		if err == nil && len(after) != len(before) {
			err = fmt.Errorf("%d, and before %d", len(after), len(before))
		}
		return err
	})
	a.files(os.Getenv(folderVariable))
	a.machine()
	a.services()
	a.try("ask for priorities", func() error { return rawErr(unix.SYS_GETPRIORITY, 0, 0, 0) })
	a.try("connect by TCP", func() error { return dialFrom(os.Getenv(peerVariable)) })
	a.try("write /etc", func() error {
		err := os.WriteFile("/etc/sluice-hardened", nil, 0o600)
		if err == nil {
			_ = os.Remove("/etc/sluice-hardened")
		}
		return err
	})
	a.try("read /etc/shadow", func() error { return read("/etc/shadow") })
	a.try("write another sysctl", func() error { return rewrite(otherSysctl) })
	a.try("run /bin/sh", func() error { return exec.Command("/bin/sh", "-c", ":").Run() })
	a.try("read /etc/protocols", func() error { return read("/etc/protocols") })
	a.try("list /usr", func() error { _, err := os.ReadDir("/usr"); return err })
	a.try("write a sysctl of networks", func() error { return rewrite(netSysctl) })
	a.try("run nft", func() error {
		out, err := exec.Command("nft", "list", "tables").CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return err
	})
	a.try("run iptables", func() error {
		out, err := exec.Command("iptables-save").CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return err
	})
	_ = json.NewEncoder(os.Stdout).Encode(a)
}

// rootsFolder returns a folder with a file, both owned by the user of the test.
func rootsFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "file"), []byte("root's"), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// netdMay lists the operations that netd needs.
var netdMay = []string{"have no more descriptors than before", "read /etc/protocols", "list /usr", "write a sysctl of networks", "run nft", "run iptables"}

// netd runs as root without capabilities, so it would still own all of root's files.
func TestHardenedNetdWritesOnlyNetworkSysctls(t *testing.T) {
	folder := rootsFolder(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a := hardenedAs(t, "netd", harden.HelperCapabilities, folderVariable+"="+folder, peerVariable+"="+l.Addr().String(), serviceVariable+"="+service(t))
	t.Logf("in force: %s", a.Status)
	a.shut(t)
	kept := uint64(1<<unix.CAP_NET_ADMIN | 1<<unix.CAP_NET_BIND_SERVICE | 1<<unix.CAP_NET_RAW)
	if st := a.Status; os.Geteuid() == 0 && (st.Capabilities != kept || st.Bounding != kept || !st.NoNewPrivs) {
		t.Errorf("in force is %s", st)
	}
	if a.Status.Landlock == 0 {
		if os.Geteuid() == 0 && a.Status.LandlockMissing == "" {
			t.Error("the status lacks the reason for the missing Landlock")
		}
		t.Skipf("needs Landlock: %s", a.Status.LandlockMissing)
	}
	may := netdMay
	if os.Geteuid() != 0 {
		may = may[:3] // the others need privileges
	}
	for _, name := range may {
		if problem := a.Tried[name]; problem != "" && !missing(name, problem) {
			t.Errorf("%s must work: %s", name, problem)
		}
	}
	for name, problem := range a.Tried {
		if problem == "" && !slices.Contains(netdMay, name) && (name != "connect by TCP" || a.Status.Landlock >= 4) {
			t.Errorf("%s worked", name)
		}
	}
	if b, err := os.ReadFile(filepath.Join(folder, "file")); err != nil || string(b) != "root's" {
		t.Errorf("root's file holds %q, %v", b, err)
	}
}

// missing reports whether the attempt failed because the program is not installed.
func missing(name, problem string) bool {
	program, ok := strings.CutPrefix(name, "run ")
	if !ok {
		return false
	}
	_, err := exec.LookPath(program)
	return err != nil && strings.Contains(problem, "not found")
}

func managerChild() {
	st, err := harden.Manager()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	a := attempts{Status: st, Tried: map[string]string{}}
	a.try("run a program", func() error { return exec.Command("/bin/true").Run() })
	a.try("pair sockets, as interpreters do", func() error {
		_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		return err
	})
	a.machine()
	_ = json.NewEncoder(os.Stdout).Encode(a)
}

func TestHardenedMgmtIsSandboxedAndRunsNoProgram(t *testing.T) {
	a := hardenedAs(t, "mgmt", nil)
	t.Logf("in force: %s", a.Status)
	a.shut(t)
	if problem, tried := a.Tried["pair sockets, as interpreters do"]; !tried || problem != "" {
		t.Errorf("pairs of sockets must work: %s", problem)
	}
	if problem := a.Tried["run a program"]; !strings.Contains(problem, syscall.EPERM.Error()) {
		t.Errorf("a program was run: %q", problem)
	}
	if !a.Status.NoNewPrivs || a.Status.Capabilities != 0 && os.Geteuid() == 0 {
		t.Errorf("in force is %s", a.Status)
	}
}

func TestEngineReachesNoFileOrService(t *testing.T) {
	a := hardened(t)
	a.shut(t)
	for name, problem := range a.Tried {
		if strings.Contains(name, "root's file") && problem == "" {
			t.Errorf("%s worked", name)
		}
	}
	for _, name := range []string{"connect to a service", "send a service a datagram"} {
		if problem, tried := a.Tried[name]; !tried || problem == "" {
			t.Errorf("%s worked", name)
		}
	}
	// A harmless call that is not on the list.
	if problem := a.Tried["ask for priorities"]; a.Status.Seccomp && problem != syscall.EPERM.Error() {
		t.Errorf("asking for priorities: %q", problem)
	}
}
