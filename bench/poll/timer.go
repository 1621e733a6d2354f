package poll

import (
	"syscall"
	"time"
	"unsafe"
)

// Timer is a periodic kernel timer (timerfd(2)). The timeout of epoll has millisecond
// resolution, which is too coarse to pace requests.
type Timer struct{ fd int }

type itimerspec struct{ interval, value syscall.Timespec }

// NewTimer starts a timer that becomes readable every period and registers it
// with p under token.
func NewTimer(p *Poller, period time.Duration, token int32) (*Timer, error) {
	const monotonic = 1
	fd, _, errno := syscall.Syscall(syscall.SYS_TIMERFD_CREATE, monotonic, syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if errno != 0 {
		return nil, errno
	}
	t := &Timer{fd: int(fd)}
	every := syscall.NsecToTimespec(int64(period))
	spec := itimerspec{interval: every, value: every}
	if _, _, errno := syscall.Syscall6(syscall.SYS_TIMERFD_SETTIME, fd, 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0); errno != 0 {
		Close(t.fd)
		return nil, errno
	}
	if err := p.AddReader(t.fd, token); err != nil {
		Close(t.fd)
		return nil, err
	}
	return t, nil
}

// Ticks returns the number of periods since the last call, and makes the timer unreadable
// until the next one.
func (t *Timer) Ticks() uint64 {
	var n uint64
	_, _, errno := syscall.RawSyscall(syscall.SYS_READ, uintptr(t.fd), uintptr(unsafe.Pointer(&n)), 8)
	if errno != 0 {
		return 0
	}
	return n
}

// Close stops the timer.
func (t *Timer) Close() { Close(t.fd) }
