package loop

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// NewTimer returns a timer that runs fn on the loop; it is not started.
func (l *Loop) NewTimer(fn func()) *Timer { return &Timer{target: expireFunc(fn)} }

// StartTimer makes t run once after the given nanoseconds, to the tenth of a
// second. Starting it again moves it.
func (l *Loop) StartTimer(t *Timer, nanos int64) {
	if t.linked() {
		l.wheel.drop(t)
	}
	l.setTimer(t, max(1, l.Now()+nanos))
}

// StopTimer forgets t's deadline.
func (l *Loop) StopTimer(t *Timer) { l.wheel.drop(t) }

func (l *Loop) setTimer(t *Timer, deadline int64) {
	if l.wheel.entries == 0 {
		// The wheel stood still while it was empty.
		l.wheel.now = l.Now() / tickNanos
	}
	l.wheel.set(t, deadline)
	if !l.ticking {
		l.ticking = true
		l.arm(tickNanos)
	}
}

// arm starts the timerfd, or stops it with 0: an idle loop is never woken.
func (l *Loop) arm(interval int64) {
	spec := unix.NsecToTimespec(interval)
	_ = unix.TimerfdSettime(l.timerFD, 0, &unix.ItimerSpec{Interval: spec, Value: spec}, nil)
}

func (l *Loop) expire() {
	var ticks uint64
	_, _ = unix.Read(l.timerFD, (*[8]byte)(unsafe.Pointer(&ticks))[:])
	l.wheel.advance(l.Now(), l.fire)
	if l.wheel.entries == 0 && l.ticking {
		l.ticking = false
		l.arm(0)
	}
}

// fire runs one timer; a panic in a connection's handler costs only it.
func (l *Loop) fire(t *Timer) {
	if c, ok := t.target.(*Conn); ok {
		defer c.Contain()
		c.expire()
		return
	}
	l.guard(t.target.expire)
}
