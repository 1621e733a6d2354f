package sysnettest

import (
	"testing"
	"time"
)

// Eventually asks until ok, for what the kernel does by itself and announces
// to nobody; after ten seconds the test fails with what was seen last.
func Eventually(t *testing.T, ask func() (seen string, ok bool)) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		seen, ok := ask()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still: %s", seen)
		}
	}
}
