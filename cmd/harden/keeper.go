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

// lastCapability bounds the search for the kernel's highest capability.
const lastCapability = 63

// Keeper strips the calling thread, and so every process it will start, of
// all ways to gain privileges: no_new_privs is set, the bounding set is cut to
// keep (what a process of uid 0 may still have after exec), and with an empty
// keep the ambient set is cleared too. The rights of the thread itself stay,
// so it can still switch the user of a child.
//
// The caller must have locked its goroutine to the thread and must keep the
// thread alive as long as its children: their parent-death signal is bound to
// it. Without CAP_SETPCAP the bounding set cannot be cut; then there is
// nothing in it to be gained either, and that is no error.
func Keeper(keep []Capability) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up new privileges: %w", err)
	}
	if len(keep) == 0 {
		if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
			return fmt.Errorf("clearing ambient capabilities: %w", err)
		}
	}
	for c := Capability(0); c <= lastCapability; c++ {
		if slices.Contains(keep, c) {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0)
		switch {
		case errors.Is(err, unix.EINVAL): // past the kernel's last one
			return nil
		case errors.Is(err, unix.EPERM):
			return nil
		case err != nil:
			return fmt.Errorf("dropping capability %d: %w", c, err)
		}
	}
	return nil
}

// noNewPrivs sets the flag on every thread. In a cgo build only the calling
// thread gets it, which the caller must have locked; the seccomp filter's
// thread synchronisation then spreads it.
func noNewPrivs() error {
	_, _, errno := allThreads(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0)
	if errno == unix.ENOTSUP {
		return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	}
	if errno != 0 {
		return errno
	}
	return nil
}

// onOneThread runs f with its goroutine locked to a thread.
func onOneThread(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return f()
}
