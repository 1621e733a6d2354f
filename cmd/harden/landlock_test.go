package harden_test

import (
	"testing"

	"golang.org/x/sys/unix"
)

// A kernel that offers Landlock and an engine without it is a fault that the
// seccomp filter hides from the other tests. Builds with cgo, those under the
// race detector among them, have none: the run without must show it.
func TestLandlockIsInForceWhereTheKernelOffersIt(t *testing.T) {
	if builtWithCgo {
		t.Skip("not with cgo, as under the race detector: Landlock cannot cover all threads; `make test` shows it")
	}
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		t.Skip("not shown: this kernel has no Landlock:", errno)
	}
	if st := hardened(t).Status; st.Landlock != int(version) {
		t.Errorf("the kernel offers ABI %d, in force is %d: %s", version, st.Landlock, st.LandlockMissing)
	}
}
