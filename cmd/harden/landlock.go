package harden

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights by ABI version, from include/uapi/linux/landlock.h. A right the
// kernel does not know must not be asked for.
const (
	filesABI1 = 1<<13 - 1 // execute, read, write, directories, all kinds of creation
	filesABI2 = unix.LANDLOCK_ACCESS_FS_REFER
	filesABI3 = unix.LANDLOCK_ACCESS_FS_TRUNCATE
	filesABI5 = unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	filesABI9 = unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX

	ruleNetPort = 2 // LANDLOCK_RULE_NET_PORT

	// erratumSignals marks kernels where a signal between threads of one
	// process is never held back. Without it the Go runtime, which interrupts
	// its own threads by signals, would stall in a signal scope.
	erratumSignals = 1 << 1
)

// landlockABI is the version the kernel offers, 0 when it has none.
func landlockABI() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// ruleset says everything the given ABI can take away: all rights on files, and
// those on TCP ports that are named.
func ruleset(abi int, ports uint64) unix.LandlockRulesetAttr {
	r := unix.LandlockRulesetAttr{Handled_access_fs: filesABI1}
	if abi >= 2 {
		r.Handled_access_fs |= filesABI2
	}
	if abi >= 3 {
		r.Handled_access_fs |= filesABI3
	}
	if abi >= 4 {
		r.Handled_access_net = ports
	}
	if abi >= 5 {
		r.Handled_access_fs |= filesABI5
	}
	if abi >= 6 {
		r.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
		if errata()&erratumSignals != 0 {
			r.Scoped |= unix.LANDLOCK_SCOPE_SIGNAL
		}
	}
	if abi >= 9 {
		r.Handled_access_fs |= filesABI9
	}
	return r
}

func errata() uintptr {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_ERRATA)
	if errno != 0 {
		return 0
	}
	return v
}

// restrictFiles puts all threads, and programs they start, under the ruleset with
// these exceptions. missing says why it could not, when that is the kernel's or
// the build's doing.
func restrictFiles(ports uint64, allow func(fd uintptr, abi int) error) (missing string, err error) {
	abi := landlockABI()
	if abi == 0 {
		return "the kernel does not offer it", nil
	}
	attr := ruleset(abi, ports)
	size := unsafe.Offsetof(attr.Quiet_access_fs) // the rest is about audit records
	switch {
	case abi < 4:
		size = unsafe.Offsetof(attr.Handled_access_net)
	case abi < 6:
		size = unsafe.Offsetof(attr.Scoped)
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return "", fmt.Errorf("landlock_create_ruleset: %w", errno)
	}
	defer unix.Close(int(fd))
	if err := allow(fd, abi); err != nil {
		return "", err
	}
	err = restrictThreads(fd, abi)
	if errors.Is(err, unix.ENOTSUP) {
		return "this program was built with cgo", nil
	}
	return "", err
}

// restrictThreads covers every thread: by the kernel's own synchronisation
// from ABI 8 on, else one by one through the Go runtime.
func restrictThreads(fd uintptr, abi int) error {
	var errno unix.Errno
	if abi >= 8 {
		_, _, errno = unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, unix.LANDLOCK_RESTRICT_SELF_TSYNC, 0)
	} else {
		_, _, errno = allThreads(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0)
	}
	if errno != 0 {
		return fmt.Errorf("landlock_restrict_self: %w", errno)
	}
	return nil
}

// allowEphemeral keeps binding to port 0 allowed: the engine binds a source
// address before it connects to a backend, and leaves the port to the kernel.
func allowEphemeral(fd uintptr, abi int) error {
	if abi < 4 {
		return nil // ports are not restricted at all
	}
	rule := struct{ access, port uint64 }{access: unix.LANDLOCK_ACCESS_NET_BIND_TCP}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, fd, ruleNetPort, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("landlock_add_rule: %w", errno)
	}
	return nil
}
