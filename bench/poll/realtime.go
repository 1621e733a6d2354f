package poll

import (
	"runtime"
	"syscall"
	"unsafe"
)

// Realtime locks the calling goroutine to its thread permanently and gives that thread
// priority over ordinary work on its CPU (SCHED_FIFO, sched(7)). It needs CAP_SYS_NICE.
func Realtime() error {
	const (
		schedFIFO = 1
		middle    = 50 // of 1 … 99
	)
	runtime.LockOSThread()
	priority := int32(middle)
	_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_SETSCHEDULER, 0, schedFIFO, uintptr(unsafe.Pointer(&priority)))
	if errno != 0 {
		return errno
	}
	return nil
}

const (
	clockMonotonic = 1
	absolute       = 1 // TIMER_ABSTIME
)

// Monotonic returns the kernel's monotonic clock in nanoseconds (clock_gettime(2)). It is
// the same for all processes; Now counts from the start of this one.
func Monotonic() int64 {
	var t syscall.Timespec
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

// SleepUntil sleeps until the monotonic clock reaches ns. It bypasses the Go scheduler,
// so that only the kernel determines the wake-up.
func SleepUntil(ns int64) {
	t := syscall.NsecToTimespec(ns)
	for {
		_, _, errno := syscall.RawSyscall6(syscall.SYS_CLOCK_NANOSLEEP, clockMonotonic, absolute, uintptr(unsafe.Pointer(&t)), 0, 0, 0)
		if errno != syscall.EINTR {
			return
		}
	}
}

// Readable reports whether fd has bytes or has ended, without waiting.
func Readable(fd int) bool {
	const pollIn = 1
	one := struct {
		fd             int32
		events, result int16
	}{fd: int32(fd), events: pollIn}
	n, _, errno := syscall.RawSyscall(syscall.SYS_POLL, uintptr(unsafe.Pointer(&one)), 1, 0)
	return errno == 0 && n == 1
}
