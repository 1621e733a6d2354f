package poll

import (
	"runtime"
	"syscall"
	"unsafe"
)

// Background gives the calling goroutine's thread the scheduling class SCHED_IDLE
// (sched(7)), so that any other work on its CPU has priority, and locks the goroutine to
// that thread permanently.
func Background() error {
	const schedIdle = 5
	runtime.LockOSThread()
	var priority int32 // must be 0 for this class
	_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_SETSCHEDULER, 0, schedIdle, uintptr(unsafe.Pointer(&priority)))
	if errno != 0 {
		return errno
	}
	return nil
}
