package harden_test

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/cmd/harden"
)

// faultVariable contains the fault of a child as JSON.
const faultVariable = "HARDEN_FAULT"

// fault makes a system call fail with an error, e.g. that of an older kernel or ENOMEM.
type fault struct {
	Number uint32
	Answer syscall.Errno // 0: the normal result
	When   []when        // all must match
	Beside bool          // only on another thread
}

// when compares the low half of an argument.
type when struct {
	Arg, Mask, Value uint32
	Not              bool // inverts the comparison
}

// install installs a filter with the fault on all threads.
func (f fault) install() error {
	if f.Number == 0 {
		return nil
	}
	program := []bpf.Instruction{bpf.LoadAbsolute{Off: 0, Size: 4}, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: f.Number, SkipTrue: uint8(3*len(f.When) + 1)}}
	for i, w := range f.When {
		other := bpf.JumpNotEqual
		if w.Not {
			other = bpf.JumpEqual
		}
		program = append(program, bpf.LoadAbsolute{Off: 16 + 8*w.Arg, Size: 4}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: w.Mask},
			bpf.JumpIf{Cond: other, Val: w.Value, SkipTrue: uint8(3*(len(f.When)-i-1) + 1)})
	}
	answer := uint32(unix.SECCOMP_RET_ALLOW)
	if f.Answer != 0 {
		answer = unix.SECCOMP_RET_ERRNO | uint32(f.Answer)
	}
	raw, err := bpf.Assemble(append(program, bpf.RetConstant{Val: answer}, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}))
	if err != nil {
		return err
	}
	flags := uintptr(unix.SECCOMP_FILTER_FLAG_TSYNC)
	if f.Beside {
		flags = 0
	}
	filter := unix.SockFprog{Len: uint16(len(raw)), Filter: (*unix.SockFilter)(unsafe.Pointer(&raw[0]))}
	return rawErr(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&filter)))
}

// faultyChild becomes the role with the fault and prints the result.
func faultyChild(role string) {
	var f fault
	err := json.Unmarshal([]byte(os.Getenv(faultVariable)), &f)
	if err == nil {
		err = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 64, Max: 128})
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1}) // not 0 yet, so that lowering it can fail
	installed, end := make(chan error), make(chan struct{})
	go func() { // on a thread that stays alive until the end
		runtime.LockOSThread()
		installed <- f.install()
		<-end
	}()
	if err := <-installed; err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	a := attempts{Tried: map[string]string{}}
	switch role {
	case "engine", "unkept":
		a.Status, err = harden.Engine()
	case "netd":
		a.Status, err = harden.Helper()
	case "helper thread":
		err = onThread(func() error { return harden.LimitThread(nil) }, func() {
			held, _ := unix.PrctlRetInt(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_IS_SET, unix.CAP_NET_RAW, 0, 0)
			a.Tried["ambient"] = strconv.Itoa(held)
		})
	case "files":
		err = harden.RaiseFiles()
	case "threads":
		for _, abi := range []int{7, 8} {
			a.Tried[strconv.Itoa(abi)] = fmt.Sprint(harden.RestrictThreads(^uintptr(0), abi))
		}
	}
	close(end)
	var core, files syscall.Rlimit
	_, _ = syscall.Getrlimit(syscall.RLIMIT_CORE, &core), syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files)
	a.Tried["limits"] = fmt.Sprint("core ", core, " files ", files)
	a.Tried["shut in"] = fmt.Sprint(err)
	a.try("ask for priorities", func() error { return rawErr(unix.SYS_GETPRIORITY, 0, 0, 0) })
	_ = json.NewEncoder(os.Stdout).Encode(a)
}

// onThread runs both on one thread.
func onThread(f func() error, then func()) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := f()
	then()
	return err
}

// Missing kernel features are no error, but refusals are: the process must then exit.
func TestFailedHardeningIsAnError(t *testing.T) {
	const all = ^uint32(0)
	prctl := func(option uint32, answer syscall.Errno) fault {
		return fault{unix.SYS_PRCTL, answer, []when{{0, all, option, false}}, false}
	}
	limit := func(of uint32, and ...when) fault {
		return fault{unix.SYS_PRLIMIT64, unix.EPERM, append([]when{{1, all, of, false}}, and...), false}
	}
	for name, c := range map[string]struct {
		role     string
		fault    fault
		says     string
		landlock bool // only if Landlock can be in force
	}{
		"Landlock is not there":       {"engine", fault{Number: unix.SYS_LANDLOCK_CREATE_RULESET, Answer: unix.ENOSYS}, "no landlock: the kernel does not offer it", false},
		"seccomp is not there":        {"engine", fault{Number: unix.SYS_SECCOMP, Answer: unix.ENOSYS}, "", false},
		"seccomp is an older one":     {"engine", fault{Number: unix.SYS_SECCOMP, Answer: unix.EINVAL}, "", false},
		"seccomp does not log":        {"engine", fault{unix.SYS_SECCOMP, unix.EINVAL, []when{{1, unix.SECCOMP_FILTER_FLAG_LOG, 0, true}}, false}, "", false},
		"a ruleset is refused":        {"engine", fault{unix.SYS_LANDLOCK_CREATE_RULESET, unix.EMFILE, []when{{1, all, 0, true}}, false}, "landlock_create_ruleset", true},
		"a rule is refused":           {"engine", fault{Number: unix.SYS_LANDLOCK_ADD_RULE, Answer: unix.ENOMEM}, "landlock_add_rule", true},
		"a rule of netd is refused":   {"netd", fault{Number: unix.SYS_LANDLOCK_ADD_RULE, Answer: unix.ENOMEM}, "landlock_add_rule", true},
		"a path of netd is refused":   {"netd", fault{unix.SYS_OPENAT, unix.EMFILE, []when{{2, unix.O_PATH, 0, true}}, false}, "too many open files", true},
		"Landlock is refused":         {"engine", fault{Number: unix.SYS_LANDLOCK_RESTRICT_SELF, Answer: unix.E2BIG}, "landlock_restrict_self", true},
		"not all threads are covered": {"engine", fault{Number: unix.SYS_LANDLOCK_RESTRICT_SELF, Answer: unix.ENOTSUP}, "no landlock: this program was built with cgo", true},
		"the filter is refused":       {"engine", fault{Number: unix.SYS_SECCOMP, Answer: unix.ENOMEM}, "installing the system call filter", false},
		"a thread has its own filter": {"engine", fault{Number: unix.SYS_ACCT, Beside: true}, "has one of its own", false},
		"nobody kept it from them":    {"unkept", fault{}, "uid", false},
		"privileges stay":             {"engine", prctl(unix.PR_SET_NO_NEW_PRIVS, unix.EINVAL), "giving up new privileges", false},
		"core dumps stay":             {"engine", limit(unix.RLIMIT_CORE), "forbidding core dumps", false},
		"files are not counted":       {"engine", limit(unix.RLIMIT_NOFILE), "reading the limit of open files", false},
		"files stay few":              {"engine", limit(unix.RLIMIT_NOFILE, when{2, all, 0, true}), "raising the limit of open files", false},
		"helper's privileges stay":    {"helper thread", prctl(unix.PR_SET_NO_NEW_PRIVS, unix.EINVAL), "giving up new privileges", false},
		"its ambient set stays":       {"helper thread", prctl(unix.PR_CAP_AMBIENT, unix.EINVAL), "clearing ambient capabilities", false},
		"its bounding set stays":      {"helper thread", prctl(unix.PR_CAPBSET_DROP, unix.EIO), "dropping capability 0", false},
		"it has no right to cut it":   {"helper thread", prctl(unix.PR_CAPBSET_DROP, unix.EPERM), "", false},
	} {
		if c.landlock && (builtWithCgo || harden.LandlockTells(unix.LANDLOCK_CREATE_RULESET_VERSION) == 0) {
			continue
		}
		a := faulty(t, c.role, c.fault)
		got := strings.TrimPrefix(a.Tried["shut in"], "<nil>")
		if got == "" && c.says != "" {
			got = a.Status.String()
		}
		if (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%s: got %q, want %q", name, got, c.says)
		}
		if a.Tried["shut in"] == "<nil>" && c.role == "engine" && (a.Tried["limits"] != "core {0 0} files {128 128}" ||
			(c.fault.Number != unix.SYS_SECCOMP || c.fault.When != nil) && a.Tried["ask for priorities"] != syscall.EPERM.Error()) {
			t.Errorf("%s: in force is %v", name, a.Tried)
		}
	}
}

// faulty runs the child of a role with a fault and ambient capabilities.
func faulty(t *testing.T, role string, f fault, keep ...harden.Capability) attempts {
	t.Helper()
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return hardenedAs(t, "faulty "+role, keep, faultVariable+"="+string(text))
}

// From ABI 8 on, TSYNC covers all threads. Earlier kernels reject the unknown flag before
// they check the ruleset, which is invalid here.
func TestThreadsAreCoveredByTheKernelFromABI8On(t *testing.T) {
	offered := harden.LandlockTells(unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case builtWithCgo:
		t.Skip("not with cgo, as under the race detector")
	case offered == 0:
		t.Skip("not shown: this kernel has no Landlock")
	}
	a := faulty(t, "threads", fault{})
	want := map[bool]error{false: unix.EINVAL, true: unix.EBADF}[offered >= 8]
	if !strings.Contains(a.Tried["7"], unix.EBADF.Error()) || !strings.Contains(a.Tried["8"], want.Error()) {
		t.Errorf("got %q and %q", a.Tried["7"], a.Tried["8"])
	}
}

func TestHelperThreadGivesUpAmbientCapabilities(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: an ordinary user has no capability to give")
	}
	if got := faulty(t, "helper thread", fault{}, harden.HelperCapabilities...).Tried["ambient"]; got != "0" {
		t.Errorf("raw sockets are in the ambient set: got %s, want %s", got, "0")
	}
}

func TestFileLimitFollowsTheCapabilities(t *testing.T) {
	want, keep := uint64(128), []harden.Capability(nil)
	if st, err := harden.Read(); err != nil {
		t.Fatal(err)
	} else if st.Capabilities&(1<<unix.CAP_SYS_RESOURCE) != 0 {
		text, err := os.ReadFile("/proc/sys/fs/nr_open")
		if err != nil {
			t.Fatal(err)
		}
		if want, err = strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err != nil {
			t.Fatal(err)
		}
		want, keep = min(want, 1<<20), []harden.Capability{unix.CAP_SYS_RESOURCE}
	}
	if got, want := faulty(t, "files", fault{}, keep...).Tried["limits"], fmt.Sprintf("files {%d %[1]d}", want); !strings.HasSuffix(got, want) {
		t.Errorf("the limits are %s, want %s", got, want)
	}
}
