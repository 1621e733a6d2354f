package harden_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/cmd/harden"
)

// The tests run this binary as the engine: started from a limited thread, under another
// uid if root, and hardened. The child attempts forbidden operations and prints the
// results as JSON.

const (
	childVariable = "HARDEN_CHILD"
	childUID      = 61740
)

// attempts maps an attempt to its error, which is empty on success.
type attempts struct {
	Status harden.Status
	Tried  map[string]string
}

// try runs an attempt on a separate thread, because the restriction must apply to all.
func (a *attempts) try(name string, f func() error) {
	done := make(chan error)
	go func() { runtime.LockOSThread(); done <- f() }()
	a.Tried[name] = ""
	if err := <-done; err != nil {
		a.Tried[name] = err.Error()
	}
}

func TestMain(m *testing.M) {
	role, of, _ := strings.Cut(os.Getenv(childVariable), " ")
	switch role {
	case "engine":
		engineChild()
	case "netd":
		helperChild()
	case "faulty":
		faultyChild(of)
	case "program":
		programChild()
	case "mgmt":
		managerChild()
	case "hostd":
		hostChild(of)
	default:
		os.Exit(m.Run())
	}
}

func engineChild() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET, 0)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	spin := make(chan struct{})
	for range 4 { // threads that exist before the restriction
		go func() { runtime.LockOSThread(); <-spin }()
	}
	st, err := harden.Engine()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	a := attempts{Status: st, Tried: map[string]string{}}
	try := a.try
	a.files(os.Getenv(folderVariable))
	a.machine()
	a.services()
	try("ask for priorities", func() error { return rawErr(syscall.SYS_GETPRIORITY, 0, 0, 0) })
	try("read /etc/shadow", func() error { return read("/etc/shadow") })
	try("read /etc/passwd", func() error { return read("/etc/passwd") })
	try("write a file", func() error { return os.WriteFile("/tmp/hardened", nil, 0o600) })
	try("list a directory", func() error { _, err := os.ReadDir("/"); return err })
	try("exec /bin/true", func() error { return syscall.Exec("/bin/true", []string{"true"}, nil) })
	try("run /bin/true", func() error { return exec.Command("/bin/true").Run() })
	try("ptrace the parent", func() error { return syscall.PtraceAttach(os.Getppid()) })
	try("become uid 0", func() error { return rawErr(syscall.SYS_SETUID, 0, 0, 0) })
	try("become gid 0", func() error { return rawErr(syscall.SYS_SETGID, 0, 0, 0) })
	try("signal the parent", func() error { return syscall.Kill(os.Getppid(), 0) })
	try("unix socket", func() error { return socket(syscall.AF_UNIX) })
	try("netlink socket", func() error { return socket(syscall.AF_NETLINK) })
	try("listen", func() error {
		l, err := net.Listen("tcp", "127.0.0.1:8199")
		if err == nil {
			_ = l.Close()
		}
		return err
	})
	try("bind a port", func() error { return bindPort(8199) })
	try("connect from an address", func() error { return dialFrom(listener.Addr().String()) })
	try("mark a connection", func() error { return mark(syscall.AF_INET, 7) })
	try("take a socket netd made", func() error { return receive(pair) })
	try("ask what waits to be read", func() error { _, err := unix.IoctlGetInt(pair[0], unix.TIOCINQ); return err })
	try("signal itself", func() error { return syscall.Kill(os.Getpid(), 0) })
	close(spin)
	_ = json.NewEncoder(os.Stdout).Encode(a)
}

func read(name string) error { _, err := os.ReadFile(name); return err }

func socket(family int) error {
	fd, err := syscall.Socket(family, syscall.SOCK_DGRAM, 0)
	if err == nil {
		_ = syscall.Close(fd)
	}
	return err
}

func mark(family, value int) error {
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM, syscall.IPPROTO_TCP)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	return syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_MARK, value)
}

// receive passes a TCP socket through the pair.
func receive(pair [2]int) error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, syscall.IPPROTO_TCP)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	if err := syscall.Sendmsg(pair[0], []byte("x"), syscall.UnixRights(fd), nil, 0); err != nil {
		return err
	}
	oob := make([]byte, syscall.CmsgSpace(4))
	_, n, _, _, err := syscall.Recvmsg(pair[1], make([]byte, 1), oob, syscall.MSG_CMSG_CLOEXEC)
	if err == nil && n == 0 {
		return errors.New("no descriptor came")
	}
	return err
}

func bindPort(port int) error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, syscall.IPPROTO_TCP)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	return syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
}

func rawErr(number, a, b, c uintptr) error {
	if _, _, errno := syscall.RawSyscall(number, a, b, c); errno != 0 {
		return errno
	}
	return nil
}

func dialFrom(addr string) error {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}
	c, err := d.Dial("tcp", addr)
	if err == nil {
		_ = c.Close()
	}
	return err
}

// hardened runs the engine's child and returns its attempts.
func hardened(t *testing.T) attempts {
	t.Helper()
	return hardenedAs(t, "engine", nil, folderVariable+"="+rootsFolder(t), serviceVariable+"="+service(t))
}

// hardenedAs runs the child of a role with the capabilities keep and returns its
// attempts.
func hardenedAs(t *testing.T, role string, keep []harden.Capability, env ...string) attempts {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(append(os.Environ(), childVariable+"="+role), env...)
	cmd.Stderr = os.Stderr
	if os.Geteuid() == 0 && role != "netd" {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: childUID, Gid: childUID}}
		for _, c := range keep {
			cmd.SysProcAttr.AmbientCaps = append(cmd.SysProcAttr.AmbientCaps, uintptr(c))
		}
	}
	type result struct {
		out []byte
		err error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if role != "faulty unkept" {
			if err := harden.LimitThread(keep); err != nil {
				done <- result{err: err}
				return
			}
		}
		out, err := cmd.Output()
		done <- result{out, err}
	}()
	r := <-done
	if r.err != nil {
		t.Fatalf("hardened child: %v: %s", r.err, r.out)
	}
	var a attempts
	if err := json.Unmarshal(r.out, &a); err != nil {
		t.Fatalf("hardened child: %v: %s", err, r.out)
	}
	return a
}

func TestHardenedEngineIsSandboxed(t *testing.T) {
	a := hardened(t)
	t.Logf("in force: %s", a.Status)
	open := []string{"connect from an address", "ask what waits to be read", "signal itself", "take a socket netd made"}
	denied := []string{"mark a connection", "read /etc/shadow", "exec /bin/true", "run /bin/true", "ptrace the parent", "become uid 0", "become gid 0"}
	if a.Status.Landlock > 0 || a.Status.Seccomp {
		denied = append(denied, "read /etc/passwd", "write a file", "list a directory")
	} else {
		t.Log("not shown: no Landlock and no seccomp on this kernel, files that everyone may read stay open")
	}
	if a.Status.Landlock >= 4 {
		denied = append(denied, "bind a port")
	} else {
		t.Logf("not shown: binding a port is denied by Landlock ABI 4 only (%s)", a.Status.LandlockMissing)
	}
	if a.Status.Seccomp {
		denied = append(denied, "listen", "signal the parent", "unix socket", "netlink socket")
	} else {
		t.Log("not shown: no seccomp on this kernel, sockets and signals stay open")
	}
	for _, name := range denied {
		if problem, tried := a.Tried[name]; !tried || problem == "" {
			t.Errorf("%s worked", name)
		}
	}
	for _, name := range open {
		if problem, tried := a.Tried[name]; !tried || problem != "" {
			t.Errorf("%s must work: %s", name, problem)
		}
	}
}

func TestHardenedEngineHasNoCapabilityLeft(t *testing.T) {
	st := hardened(t).Status
	if !st.NoNewPrivs || st.Capabilities != 0 {
		t.Errorf("got %+v, want no new privileges and no capabilities", st)
	}
	if os.Geteuid() != 0 {
		t.Skip("the rest needs root: an ordinary user has no uid to leave and no bounding set to cut")
	}
	if st.UID != childUID || st.Bounding != 0 {
		t.Errorf("uid %d, bounding set %#x: want %d and an empty set", st.UID, st.Bounding, childUID)
	}
}

func TestEngineUnderAnotherUidCannotReadShadow(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: an ordinary user cannot read /etc/shadow in the first place")
	}
	if err := read("/etc/shadow"); err != nil {
		t.Skipf("root itself cannot read it here: %v", err)
	}
	got := hardened(t).Tried["read /etc/shadow"]
	if !strings.Contains(got, syscall.EPERM.Error()) && !strings.Contains(got, syscall.EACCES.Error()) {
		t.Errorf("reading /etc/shadow: %q, want a rejection", got)
	}
}
