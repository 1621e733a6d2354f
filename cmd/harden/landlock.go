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
func landlockABI() int { return int(landlockTells(unix.LANDLOCK_CREATE_RULESET_VERSION)) }

// landlockTells asks the kernel about its Landlock, 0 when it does not know the
// question.
func landlockTells(what uintptr) uintptr {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, what)
	if errno != 0 {
		return 0
	}
	return v
}

// fileRights are all rights on files that the given ABI knows.
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

// ruleset says everything the given ABI can take away: all rights on files, and
// those on TCP ports that are named. The kernel is told no more of it than size
// bytes: an older one refuses fields it does not know.
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
	return r, unsafe.Offsetof(r.Quiet_access_fs) // the rest is about audit records
}

// restrictFiles is restrict with every scope.
func restrictFiles(ports uint64, allow func(fd uintptr, abi int) error) (missing string, err error) {
	return restrict(ports, ^uint64(0), allow)
}

// restrict puts all threads, and programs they start, under the ruleset with
// these exceptions, and of what the kernel can keep inside only the scope. missing
// says why it could not, when that is the kernel's or the build's doing.
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

// restrictThread puts the calling thread, and programs it starts, under the ruleset with
// these exceptions, where the kernel has Landlock.
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

// withRuleset makes a ruleset with these exceptions and has it put in force.
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
	return addRule(fd, ruleNetPort, unsafe.Pointer(&rule))
}

func addRule(fd, kind uintptr, rule unsafe.Pointer) error {
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, fd, kind, uintptr(rule), 0, 0, 0); errno != 0 {
		return fmt.Errorf("landlock_add_rule: %w", errno)
	}
	return nil
}
