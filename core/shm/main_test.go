package shm_test

import (
	"fmt"
	"net"
	"os"
	"testing"
)

// TestMain fails if tests leave a descriptor open.
func TestMain(m *testing.M) {
	// The runtime's own poller descriptors appear with the first socket.
	if l, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
		l.Close()
	}
	before := descriptors()
	code := m.Run()
	if after := descriptors(); code == 0 && after != before {
		fmt.Fprintf(os.Stderr, "descriptors: %d before the tests, %d after\n", before, after)
		code = 1
	}
	os.Exit(code)
}

func descriptors() int {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err)
	}
	return len(names)
}

// noLeak runs what and fails if the number of open descriptors has changed.
func noLeak(t *testing.T, what func()) {
	t.Helper()
	before := descriptors()
	what()
	if after := descriptors(); after != before {
		t.Errorf("descriptors: %d before, %d after", before, after)
	}
}

func closing(t testing.TB, f *os.File, err error) *os.File {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
