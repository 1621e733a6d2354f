package sysnettest

import (
	"testing"
	"time"
)

// Eventually polls ask until ok is true, for kernel state that changes asynchronously
// without an event. After ten seconds the test fails with the last value of seen.
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
