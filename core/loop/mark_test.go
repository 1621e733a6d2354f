package loop_test

import (
	"errors"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/core/loop"
)

func TestMarksAreRefusedWithoutTheCapability(t *testing.T) {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends without its capabilities
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		if err := unix.Capset(&header, &none[0]); err != nil {
			t.Error(err)
		}
		done <- loop.CanMark()
	}()
	if err := <-done; !errors.Is(err, syscall.EPERM) {
		t.Errorf("without capabilities: %v", err)
	}
}
