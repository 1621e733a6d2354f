package harden

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A filter allows a list of calls and denies others with EPERM. A program then continues
// and reports the failure, and the kernel logs the call if it has an audit log. Calls of
// later kernels return ENOSYS, which newer runtimes expect from an older kernel. Calls
// allowed with any arguments cost almost nothing, because the kernel (from 5.11 on)
// caches them in a bitmap.
//
// A filter reads this structure (linux/seccomp.h). Arguments are 64-bit words, and the
// filter reads their low halves:
//
//	0   system call number (32 bit)
//	4   architecture (32 bit)
//	8   instruction pointer (64 bit)
//	16  six arguments (64 bit each)
const (
	offNumber = 0
	offArch   = 4
	offArg0   = 16
	offArg1   = 24
)

const (
	retAllow = unix.SECCOMP_RET_ALLOW
	retDeny  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	// retAbsent makes callers fall back to an older call.
	retAbsent = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// Terminal ioctls that inject input into the operator's terminal, which may be the
// engine's standard error.
const (
	tiocSTI   = 0x5412
	tiocLinux = 0x541c
)

type program []unix.SockFilter

func (p *program) add(i unix.SockFilter) { *p = append(*p, i) }

func (p *program) load(offset uint32) {
	p.add(unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
}

// jump continues with the next instruction if the comparison holds, else it skips n
// instructions.
func (p *program) jump(op uint16, k uint32, n uint8) {
	p.add(unix.SockFilter{Code: unix.BPF_JMP | op | unix.BPF_K, Jf: n, K: k})
}

func (p *program) answer(with uint32) {
	p.add(unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: with})
}

// on returns a fixed result for one system call.
func (p *program) on(number, with uint32) {
	p.jump(unix.BPF_JEQ, number, 1)
	p.answer(with)
}

// onlyArg allows a call only if the argument at offset is one of values.
func (p *program) onlyArg(number, offset uint32, values ...uint32) {
	p.jump(unix.BPF_JEQ, number, uint8(2+2*len(values)))
	p.load(offset)
	for _, v := range values {
		p.jump(unix.BPF_JEQ, v, 1)
		p.answer(retAllow)
	}
	p.answer(retDeny)
}

// neverArg denies a call if the argument at offset is one of values.
func (p *program) neverArg(number, offset uint32, values ...uint32) {
	p.jump(unix.BPF_JEQ, number, uint8(2+2*len(values)))
	p.load(offset)
	for _, v := range values {
		p.jump(unix.BPF_JEQ, v, 1)
		p.answer(retDeny)
	}
	p.answer(retAllow)
}

// onlyThreads allows clone only for threads of this process.
func (p *program) onlyThreads(number uint32) {
	p.jump(unix.BPF_JEQ, number, 4)
	p.load(offArg0)
	p.jump(unix.BPF_JSET, unix.CLONE_THREAD, 1)
	p.answer(retAllow)
	p.answer(retDeny)
}

// noNamespaces allows clone only without new namespaces. A user namespace would expose
// much of the kernel.
func (p *program) noNamespaces(number uint32) {
	p.jump(unix.BPF_JEQ, number, 4)
	p.load(offArg0)
	p.jump(unix.BPF_JSET, newNamespaces, 1)
	p.answer(retDeny)
	p.answer(retAllow)
}

const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// filter defines the allowed calls of a role and its programs.
type filter struct {
	calls    [][]uint32 // allowed with any arguments
	never    []uint32   // denied although in calls
	families []uint32   // of sockets
	alone    bool       // no processes and no signals to others
}

// program builds the filter for the process pid.
func (f *filter) program(pid int) program {
	var p program
	p.load(offArch)
	// Calls of another architecture (32-bit calls on a 64-bit kernel) have other numbers:
	// deny them all.
	p.add(unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, K: auditArch})
	p.answer(retDeny)
	p.load(offNumber)
	if x32Bit != 0 {
		p.jump(unix.BPF_JGE, x32Bit, 1)
		p.answer(retDeny)
	}
	// socket comes first because every connection to a backend uses it. Calls with
	// checked arguments run the filter each time.
	p.onlyArg(unix.SYS_SOCKET, offArg0, f.families...)
	p.on(unix.SYS_CLONE3, retAbsent) // its flags are behind a pointer, which a filter cannot read
	if f.alone {
		p.onlyThreads(unix.SYS_CLONE)
		p.onlyArg(unix.SYS_KILL, offArg0, uint32(pid))
		p.onlyArg(unix.SYS_TGKILL, offArg0, uint32(pid))
	} else {
		p.noNamespaces(unix.SYS_CLONE)
	}
	for _, n := range f.never {
		p.on(n, retDeny)
	}
	p.neverArg(unix.SYS_IOCTL, offArg1, tiocSTI, tiocLinux)
	for _, n := range slices.Concat(f.calls...) {
		p.on(n, retAllow)
	}
	p.jump(unix.BPF_JGT, newest, 1)
	p.answer(retAbsent)
	p.answer(retDeny)
	return p
}

// installFilter applies the filter to all threads. It needs no_new_privs on the calling
// thread and spreads that too. A kernel without seccomp is no error; Status shows it.
func installFilter(f *filter) error { return f.install(unix.SECCOMP_FILTER_FLAG_TSYNC) }

// installOnThread applies the filter to the calling thread and its children.
func (f *filter) installOnThread() error { return f.install(0) }

func (f *filter) install(threads uintptr) error {
	if auditArch == 0 {
		return nil
	}
	p := f.program(os.Getpid())
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	install := func(flags uintptr) (thread uintptr, errno unix.Errno) {
		thread, _, errno = unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, threads|flags, uintptr(unsafe.Pointer(&prog)))
		return thread, errno
	}
	thread, errno := install(unix.SECCOMP_FILTER_FLAG_LOG)
	if errno == unix.EINVAL {
		thread, errno = install(0) // the kernel does not support the log flag
	}
	runtime.KeepAlive(p)
	switch {
	case errno == unix.ENOSYS, errno == unix.EINVAL:
		return nil
	case errno != 0:
		return fmt.Errorf("installing the system call filter: %w", errno)
	case thread != 0:
		return fmt.Errorf("installing the system call filter: thread %d has one of its own", thread)
	}
	return nil
}
