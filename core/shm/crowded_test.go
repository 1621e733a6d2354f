package shm_test

import (
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/core/descriptortest"
	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/core/shm/shmtest"
)

// Descriptors in transit count per user, so another process may briefly exhaust the
// limit.
func TestSendWaitsWhileTooManyDescriptorsAreInFlight(t *testing.T) {
	full, reader := shmtest.Pair(t)
	a, b := shmtest.Pair(t)
	f, err := shm.Sealed("test", []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var many []*os.File
	for range 100 {
		many = append(many, f)
	}
	for range 2 {
		if err := shm.Send(full, []byte("many"), many...); err != nil {
			t.Fatal(err)
		}
	}
	restore := sync.OnceFunc(descriptortest.Limit(t, 100))
	defer restore()
	sent := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if err := withoutRights(); err != nil {
			sent <- err
			return
		}
		sent <- shm.Send(a, []byte("late"), f)
	}()
	select {
	case err := <-sent:
		t.Fatalf("there was no room, but Send returned %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	restore() // to receive more than the limit
	buf := make([]byte, shm.MaxMessage)
	for range 2 {
		_, files, err := shm.Receive(reader, buf)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			f.Close()
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	_, files, err := shm.Receive(b, buf)
	if err != nil || len(files) != 1 {
		t.Fatalf("got %d files came, %v, want 1", len(files), err)
	}
	files[0].Close()
}

// withoutRights drops the capabilities of the thread that allow it to exceed the limit.
func withoutRights() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&header, &none[0])
}
