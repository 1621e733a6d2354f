package harden

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights by ABI version, from include/uapi/linux/landlock.h. The kernel rejects rulesets
// with unknown rights.
const (
	filesABI1 = 1<<13 - 1 // execute, read, write, directories, all kinds of creation
	filesABI2 = unix.LANDLOCK_ACCESS_FS_REFER
	filesABI3 = unix.LANDLOCK_ACCESS_FS_TRUNCATE
	filesABI5 = unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	filesABI9 = unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX

	ruleNetPort = 2 // LANDLOCK_RULE_NET_PORT

	// erratumSignals marks kernels that never block signals between threads of one
	// process. On others the Go runtime, which preempts its threads with signals, would
	// stall in a signal scope.
	erratumSignals = 1 << 1
)

// landlockABI returns the version of the kernel, or 0 without Landlock.
func landlockABI() int { return int(landlockTells(unix.LANDLOCK_CREATE_RULESET_VERSION)) }

// landlockTells queries Landlock with the flag what. It returns 0 if the kernel does not
// know it.
func landlockTells(what uintptr) uintptr {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, what)
	if errno != 0 {
		return 0
	}
	return v
}

// fileRights returns all rights on files of the ABI.
func fileRights(abi int) uint64 {
	rights := uint64(filesABI1)
	if abi >= 2 {
		rights |= filesABI2
	}
	if abi >= 3 {
		rights |= filesABI3
	}
	if abi >= 5 {
		rights |= filesABI5
	}
	if abi >= 9 {
		rights |= filesABI9
	}
	return rights
}

// ruleset returns all restrictions of the ABI: all rights on files, and the rights ports
// on TCP ports. The size covers the fields that the kernel knows, because older kernels
// reject unknown fields.
func ruleset(abi int, errata uintptr, ports uint64) (r unix.LandlockRulesetAttr, size uintptr) {
	r = unix.LandlockRulesetAttr{Handled_access_fs: fileRights(abi)}
	if abi >= 4 {
		r.Handled_access_net = ports
	}
	if abi >= 6 {
		r.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
		if errata&erratumSignals != 0 {
			r.Scoped |= unix.LANDLOCK_SCOPE_SIGNAL
		}
	}
	switch {
	case abi < 4:
		return r, unsafe.Offsetof(r.Handled_access_net)
	case abi < 6:
		return r, unsafe.Offsetof(r.Scoped)
	}
	return r, unsafe.Offsetof(r.Quiet_access_fs) // the remaining fields configure audit records
}

// restrictFiles is restrict with every scope.
func restrictFiles(ports uint64, allow func(fd uintptr, abi int) error) (missing string, err error) {
	return restrict(ports, ^uint64(0), allow)
}

// restrict applies the ruleset, with the exceptions of allow, to all threads and their
// programs. The mask scope selects IPC scopes. The result missing is the reason if the
// kernel or the build does not support Landlock.
func restrict(ports, scope uint64, allow func(fd uintptr, abi int) error) (missing string, err error) {
	abi := landlockABI()
	if abi == 0 {
		return "the kernel does not offer it", nil
	}
	err = withRuleset(abi, ports, scope, allow, func(fd uintptr) error { return restrictThreads(fd, abi) })
	if errors.Is(err, unix.ENOTSUP) {
		return "this program was built with cgo", nil
	}
	return "", err
}

// restrictThread applies the ruleset, with the exceptions of allow, to the calling thread
// and its programs. Without Landlock it does nothing.
func restrictThread(allow func(fd uintptr, abi int) error) error {
	abi := landlockABI()
	if abi == 0 {
		return nil
	}
	return withRuleset(abi, 0, ^uint64(0), allow, func(fd uintptr) error {
		if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
			return fmt.Errorf("landlock_restrict_self: %w", errno)
		}
		return nil
	})
}

// withRuleset creates a ruleset with the exceptions of allow and calls enforce with it.
func withRuleset(abi int, ports, scope uint64, allow func(fd uintptr, abi int) error, enforce func(fd uintptr) error) error {
	attr, size := ruleset(abi, landlockTells(unix.LANDLOCK_CREATE_RULESET_ERRATA), ports)
	attr.Scoped &= scope
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return fmt.Errorf("landlock_create_ruleset: %w", errno)
	}
	defer unix.Close(int(fd))
	if err := allow(fd, abi); err != nil {
		return err
	}
	return enforce(fd)
}

// restrictThreads restricts every thread: with TSYNC from ABI 8 on, else individually
// through the Go runtime.
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

// allowEphemeral allows bind to port 0. The engine binds a source address before it
// connects to a backend, and the kernel picks the port.
func allowEphemeral(fd uintptr, abi int) error {
	if abi < 4 {
		return nil // ports are not restricted
	}
	rule := struct{ access, port uint64 }{access: unix.LANDLOCK_ACCESS_NET_BIND_TCP}
	return addRule(fd, ruleNetPort, unsafe.Pointer(&rule))
}

func addRule(fd, kind uintptr, rule unsafe.Pointer) error {
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, fd, kind, uintptr(rule), 0, 0, 0); errno != 0 {
		return fmt.Errorf("landlock_add_rule: %w", errno)
	}
	return nil
}
