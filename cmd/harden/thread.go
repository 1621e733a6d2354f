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

// HelperCapabilities are the capabilities of netd: addresses, routes, packet rules, ports
// below 1024, and raw sockets for ARP.
var HelperCapabilities = []Capability{unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE, unix.CAP_NET_RAW}

// LimitThread removes all ways to gain privileges from the calling thread and its future
// children. It sets no_new_privs and reduces the bounding set to keep, which bounds the
// capabilities of uid 0 after exec. If keep is empty, it also clears the ambient set. The
// thread keeps its own privileges, so it can still switch the user of a child.
//
// The caller must have locked its goroutine to the thread and must keep the thread alive
// as long as its children, because Pdeathsig depends on it. Without CAP_SETPCAP the
// bounding set cannot be reduced. That is harmless, because nothing can be gained from it
// either.
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
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EPERM): // after the last capability, or without CAP_SETPCAP
			return nil
		case err != nil:
			return fmt.Errorf("dropping capability %d: %w", c, err)
		}
	}
}

// noNewPrivs sets the flag on every thread. In a cgo build it sets it on the calling
// thread only, which the caller must have locked; TSYNC of the seccomp filter then
// spreads it.
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
