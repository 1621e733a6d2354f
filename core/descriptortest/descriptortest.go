// Package descriptortest limits the file descriptors of a test's process.
package descriptortest

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Limit lets the process open only descriptors below most, until restore is called.
func Limit(t testing.TB, most int) (restore func()) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	low := before
	low.Cur = uint64(most)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
			t.Error(err)
		}
	}
}

// Within calls fn under Limit.
func Within(t testing.TB, most int, fn func()) {
	t.Helper()
	defer Limit(t, most)()
	fn()
}
