//go:build amd64 || arm64

package harden_test

import (
	"encoding/binary"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/cmd/harden"
)

// Results of filters: linux/seccomp.h.
const (
	allow  = unix.SECCOMP_RET_ALLOW
	deny   = unix.SECCOMP_RET_ERRNO | uint32(syscall.EPERM)
	absent = unix.SECCOMP_RET_ERRNO | uint32(syscall.ENOSYS)
)

const ownPID, otherPID = 4711, 4712

// auditArch is the architecture of this machine, x32 the result for x32 calls, which only
// one of the two architectures has.
var auditArch, x32 = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH],
	map[string]uint32{"amd64": deny, "arm64": absent}[runtime.GOARCH]

// filterRows lists the result of calls by role. The attempts of machine, against the real
// kernel, are a subset.
var filterRows = []struct {
	what               string
	call               []uint32 // number and arguments
	engine, netd, mgmt uint32
}{
	{"read", []uint32{unix.SYS_READ}, allow, allow, allow},
	{"open", []uint32{unix.SYS_OPENAT}, deny, allow, allow},
	{"run a program", []uint32{unix.SYS_EXECVE}, deny, allow, deny},
	{"run a program by its descriptor", []uint32{unix.SYS_EXECVEAT}, deny, deny, deny},
	{"remove a file", []uint32{unix.SYS_UNLINKAT}, deny, deny, allow},
	{"listen", []uint32{unix.SYS_LISTEN}, deny, allow, allow},

	{"IPv4 socket", []uint32{unix.SYS_SOCKET, unix.AF_INET}, allow, allow, allow},
	{"IPv6 socket", []uint32{unix.SYS_SOCKET, unix.AF_INET6}, allow, allow, allow},
	{"unix socket", []uint32{unix.SYS_SOCKET, unix.AF_UNIX}, deny, deny, allow},
	{"netlink socket", []uint32{unix.SYS_SOCKET, unix.AF_NETLINK}, deny, allow, allow},
	{"packet socket", []uint32{unix.SYS_SOCKET, unix.AF_PACKET}, deny, allow, deny},
	{"vsock socket", []uint32{unix.SYS_SOCKET, unix.AF_VSOCK}, deny, deny, deny},

	{"a thread", []uint32{unix.SYS_CLONE, unix.CLONE_VM | unix.CLONE_THREAD}, allow, allow, allow},
	{"a process", []uint32{unix.SYS_CLONE, uint32(syscall.SIGCHLD)}, deny, allow, allow},
	{"namespace of mounts", []uint32{unix.SYS_CLONE, unix.CLONE_NEWNS}, deny, deny, deny},
	{"namespace of users", []uint32{unix.SYS_CLONE, unix.CLONE_NEWUSER}, deny, deny, deny},
	{"namespace of networks", []uint32{unix.SYS_CLONE, unix.CLONE_NEWNET}, deny, deny, deny},
	{"clone3", []uint32{unix.SYS_CLONE3}, absent, absent, absent},

	{"signal itself", []uint32{unix.SYS_KILL, ownPID}, allow, allow, allow},
	{"signal another", []uint32{unix.SYS_KILL, otherPID}, deny, allow, allow},
	{"signal its own thread", []uint32{unix.SYS_TGKILL, ownPID, otherPID}, allow, allow, allow},
	{"signal another's thread", []uint32{unix.SYS_TGKILL, otherPID, ownPID}, deny, allow, allow},

	{"ask what waits to be read", []uint32{unix.SYS_IOCTL, 0, unix.TIOCINQ}, allow, allow, allow},
	{"type into the terminal", []uint32{unix.SYS_IOCTL, 0, 0x5412}, deny, deny, deny},
	{"paste into the terminal", []uint32{unix.SYS_IOCTL, 0, 0x541c}, deny, deny, deny},

	{"ptrace", []uint32{unix.SYS_PTRACE}, deny, deny, deny},
	{"read another's memory", []uint32{unix.SYS_PROCESS_VM_READV}, deny, deny, deny},
	{"write another's memory", []uint32{unix.SYS_PROCESS_VM_WRITEV}, deny, deny, deny},
	{"take another's descriptor", []uint32{unix.SYS_PIDFD_GETFD}, deny, deny, deny},
	{"set up io_uring", []uint32{unix.SYS_IO_URING_SETUP}, deny, deny, deny},
	{"enter io_uring", []uint32{unix.SYS_IO_URING_ENTER}, deny, deny, deny},
	{"register with io_uring", []uint32{unix.SYS_IO_URING_REGISTER}, deny, deny, deny},
	{"mount", []uint32{unix.SYS_FSMOUNT}, deny, deny, deny},
	{"change the root", []uint32{unix.SYS_CHROOT}, deny, deny, deny},
	{"open by handle", []uint32{unix.SYS_OPEN_BY_HANDLE_AT}, deny, deny, deny},

	{"the newest call known", []uint32{471}, deny, deny, deny},
	{"the first one after it", []uint32{472}, absent, absent, absent},
	{"the number before x32", []uint32{1<<30 - 1}, absent, absent, absent},
	{"read by x32", []uint32{1 << 30}, x32, x32, x32},
}

func TestSeccompFiltersFollowTheTable(t *testing.T) {
	for i, role := range []string{"engine", "netd", "mgmt"} {
		instructions, whole := bpf.Disassemble(harden.Filter(role, ownPID))
		vm, err := bpf.NewVM(instructions)
		if err != nil || !whole {
			t.Fatalf("%s: %v", role, err)
		}
		for _, row := range filterRows {
			want := []uint32{row.engine, row.netd, row.mgmt}[i]
			if got, err := vm.Run(seccompData(auditArch, row.call)); err != nil || uint32(got) != want {
				t.Errorf("%s, %s: got %#x, %v, want %#x", role, row.what, got, err, want)
			}
		}
		if got, err := vm.Run(seccompData(unix.AUDIT_ARCH_I386, []uint32{unix.SYS_READ})); err != nil || uint32(got) != deny {
			t.Errorf("%s, a call of another architecture: got %#x, %v", role, got, err)
		}
	}
}

// seccompData returns the input of a filter, big-endian for the BPF interpreter used
// here.
func seccompData(arch uint32, call []uint32) []byte {
	b := make([]byte, 64)
	binary.BigEndian.PutUint32(b, call[0])
	binary.BigEndian.PutUint32(b[4:], arch)
	for i, arg := range call[1:] {
		binary.BigEndian.PutUint32(b[16+8*i:], arg)
	}
	return b
}
