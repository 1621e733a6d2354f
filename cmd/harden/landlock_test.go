package harden_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/cmd/harden"
)

// The seccomp filter would hide a missing Landlock restriction from the other tests.
// Builds with cgo, e.g. for the race detector, lack Landlock, so only a build without cgo
// checks it.
func TestLandlockIsUsedWhereSupported(t *testing.T) {
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

// The kernel rejects a ruleset with unknown rights. Omitted rights remain with the
// process. The numbers come from linux/landlock.h.
func TestRulesetUsesSupportedRights(t *testing.T) {
	const bind, connect, abstract, signal, signalsHeldBack = 1, 2, 1, 2, 2
	const errata = ^uintptr(0) &^ signalsHeldBack
	for _, c := range []struct {
		abi                int
		errata             uintptr
		ports              uint64
		files, net, scoped uint64
		size               uintptr
	}{
		{1, 0, bind, 0x1fff, 0, 0, 8},
		{2, 0, bind, 0x3fff, 0, 0, 8},
		{3, 0, bind, 0x7fff, 0, 0, 8},
		{4, 0, bind, 0x7fff, bind, 0, 16},
		{4, 0, connect, 0x7fff, connect, 0, 16},
		{5, signalsHeldBack, bind, 0xffff, bind, 0, 16},
		{6, 0, bind, 0xffff, bind, abstract, 24},
		{6, errata, bind, 0xffff, bind, abstract, 24},
		{6, signalsHeldBack, bind, 0xffff, bind, abstract | signal, 24},
		{8, 0, bind, 0xffff, bind, abstract, 24},
		{9, 0, bind, 0x1ffff, bind, abstract, 24},
	} {
		r, size := harden.Ruleset(c.abi, c.errata, c.ports)
		if r.Handled_access_fs != c.files || r.Handled_access_net != c.net || r.Scoped != c.scoped || size != c.size {
			t.Errorf("ABI %d: got %#x %#x %#x in %d bytes, want %#x %#x %#x in %d",
				c.abi, r.Handled_access_fs, r.Handled_access_net, r.Scoped, size, c.files, c.net, c.scoped, c.size)
		}
	}
	for abi, refused := range map[int]bool{3: false, 4: true} { // ports exist from ABI 4 on
		if err := harden.AllowEphemeral(^uintptr(0), abi); refused != (err != nil) {
			t.Errorf("ABI %d, a port in a ruleset that is none: %v", abi, err)
		}
	}
	if v := harden.LandlockTells(1 << 30); v != 0 {
		t.Errorf("flags of unknown versions: %#x", v)
	}
}
