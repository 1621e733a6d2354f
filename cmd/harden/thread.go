package harden

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// Capability is a Linux capability number.
type Capability uintptr

// HelperCapabilities is what netd keeps: addresses, routes and packet rules,
// ports below 1024, raw sockets for ARP.
var HelperCapabilities = []Capability{unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE, unix.CAP_NET_RAW}

// LimitThread strips the calling thread, and so every process it will start, of
// all ways to gain privileges: no_new_privs is set, the bounding set is cut to
// keep (what a process of uid 0 may still have after exec), and with an empty
// keep the ambient set is cleared too. The rights of the thread itself stay,
// so it can still switch the user of a child.
//
// The caller must have locked its goroutine to the thread and must keep the
// thread alive as long as its children: their parent-death signal is bound to
// it. Without CAP_SETPCAP the bounding set cannot be cut; then there is
// nothing in it to be gained either, and that is no error.
func LimitThread(keep []Capability) error {
	if err := prctl(unix.PR_SET_NO_NEW_PRIVS, 1); err != nil {
		return fmt.Errorf("giving up new privileges: %w", err)
	}
	if len(keep) == 0 {
		if err := prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL); err != nil {
			return fmt.Errorf("clearing ambient capabilities: %w", err)
		}
	}
	for c := Capability(0); ; c++ {
		if slices.Contains(keep, c) {
			continue
		}
		err := prctl(unix.PR_CAPBSET_DROP, uintptr(c))
		switch {
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EPERM): // past the kernel's last one, or without the right
			return nil
		case err != nil:
			return fmt.Errorf("dropping capability %d: %w", c, err)
		}
	}
}

// noNewPrivs sets the flag on every thread. In a cgo build only the calling
// thread gets it, which the caller must have locked; the seccomp filter's
// thread synchronisation then spreads it.
func noNewPrivs() error {
	_, _, errno := allThreads(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0)
	switch errno {
	case 0:
		return nil
	case unix.ENOTSUP:
		return prctl(unix.PR_SET_NO_NEW_PRIVS, 1)
	}
	return errno
}

func prctl(option int, arg uintptr) error { return unix.Prctl(option, arg, 0, 0, 0) }

// onOneThread runs f with its goroutine locked to a thread.
func onOneThread(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return f()
}
