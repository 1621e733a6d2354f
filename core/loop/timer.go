package loop

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The timer wheel has 512 slots of 100 ms. Deadlines here are timeouts in whole
// seconds, so this resolution is sufficient. Every request moves a deadline later,
// which costs one store: the entry stays in its slot and is checked again when that
// slot is due.

const (
	tickNanos  = 100_000_000
	wheelSlots = 512
	// If the wheel is more than stallTicks late, the process could not run. Timers then
	// wait for up to mostSpared ticks, so that events that arrived during the stall are
	// handled before their deadlines fire.
	stallTicks = 5
	mostSpared = 10
)

// Timer calls its target once after its deadline. It belongs to one loop. The zero
// value is not usable; see Loop.NewTimer.
type Timer struct {
	next, prev *Timer
	deadline   int64 // nanoseconds on the loop's clock; 0 means not set
	tick       int64 // the wheel position it is linked at
	target     expirer
}

// expirer is the target of a timer: a connection or a function.
type expirer interface{ expire() }

type expireFunc func()

func (f expireFunc) expire() { f() }

func (t *Timer) linked() bool { return t.next != nil }

func (t *Timer) unlink() {
	t.prev.next, t.next.prev = t.next, t.prev
	t.next, t.prev = nil, nil
}

// wheel holds the armed timers of one loop.
type wheel struct {
	slots   [wheelSlots]Timer // list heads
	now     int64             // last tick that was processed
	spared  int64             // ticks left to wait after a stall, plus one; 0 otherwise
	entries int
}

func (w *wheel) init(now int64) {
	for i := range w.slots {
		w.slots[i].next, w.slots[i].prev = &w.slots[i], &w.slots[i]
	}
	w.now = now / tickNanos
}

// set arms t for deadline. An entry whose slot is early enough is not moved.
func (w *wheel) set(t *Timer, deadline int64) {
	t.deadline = deadline
	tick := max(deadline/tickNanos+1, w.now+1)
	if t.linked() {
		if t.tick <= tick {
			return
		}
		t.unlink()
		w.entries--
	}
	w.link(t, tick)
}

func (w *wheel) link(t *Timer, tick int64) {
	// A deadline beyond one rotation is linked to the last slot and moved from there.
	t.tick = min(tick, w.now+wheelSlots-1)
	head := &w.slots[t.tick%wheelSlots]
	t.next, t.prev = head, head.prev
	head.prev.next = t
	head.prev = t
	w.entries++
}

// drop disarms t. It may be called for a timer that is not armed.
func (w *wheel) drop(t *Timer) {
	t.deadline = 0
	if t.linked() {
		t.unlink()
		w.entries--
	}
}

// advance moves to the tick of now and calls expire for each timer that is due. Entries
// whose deadline was moved later are linked again.
func (w *wheel) advance(now int64, expire func(*Timer)) {
	for to := now / tickNanos; w.now < to; {
		w.now++
		head := &w.slots[w.now%wheelSlots]
		for head.next != head {
			t := head.next
			t.unlink()
			w.entries--
			switch {
			case t.deadline == 0:
			case t.deadline > now:
				w.link(t, max(t.deadline/tickNanos+1, w.now+1))
			default:
				t.deadline = 0
				expire(t)
			}
		}
	}
}

// spares reports whether timers must wait because the loop was stalled until now. They
// wait for the length of the stall, up to mostSpared ticks.
func (w *wheel) spares(now int64) bool {
	late := now/tickNanos - w.now
	switch {
	case w.spared == 0 && late > stallTicks:
		w.spared = min(late, mostSpared) + 1
	case w.spared == 0:
		return false
	}
	w.spared--
	if w.spared > 1 {
		return true
	}
	w.spared = 0
	return false
}

// NewTimer returns a timer, not started, that runs fn on the loop.
func (l *Loop) NewTimer(fn func()) *Timer { return &Timer{target: expireFunc(fn)} }

// StartTimer makes t run once, nanos nanoseconds from now, with a resolution of 0.1 s.
// It restarts a timer that is running.
func (l *Loop) StartTimer(t *Timer, nanos int64) {
	if t.linked() {
		l.wheel.drop(t)
	}
	l.setTimer(t, max(1, l.Now()+nanos))
}

// StopTimer disarms t.
func (l *Loop) StopTimer(t *Timer) { l.wheel.drop(t) }

func (l *Loop) setTimer(t *Timer, deadline int64) {
	if l.wheel.entries == 0 {
		l.wheel.now = l.Now() / tickNanos
	}
	l.wheel.set(t, deadline)
	if !l.ticking {
		l.ticking = true
		l.arm(tickNanos)
	}
}

// arm starts the timerfd with the interval in nanoseconds; 0 stops it, so an idle loop
// never wakes.
func (l *Loop) arm(interval int64) {
	spec := unix.NsecToTimespec(interval)
	_ = unix.TimerfdSettime(l.timerFD, 0, &unix.ItimerSpec{Interval: spec, Value: spec}, nil)
}

// tickDue handles an event of the timerfd.
func (l *Loop) tickDue() {
	var ticks uint64
	_, _ = unix.Read(l.timerFD, (*[8]byte)(unsafe.Pointer(&ticks))[:])
	if !l.wheel.spares(l.Now()) {
		l.expire()
	}
}

func (l *Loop) expire() {
	l.wheel.advance(l.Now(), l.fire)
	if l.wheel.entries == 0 && l.ticking {
		l.ticking = false
		l.arm(0)
	}
}

// fire runs one timer. A panic in a connection's handler closes only that connection.
func (l *Loop) fire(t *Timer) {
	if c, ok := t.target.(*Conn); ok {
		defer c.Contain()
		c.expire()
		return
	}
	l.guard(t.target.expire)
}

// SetDeadline makes Handler.Expired run once after deadline (nanoseconds on the loop's
// clock), with a resolution of 0.1 s. 0 clears it. Moving it later costs one store.
func (c *Conn) SetDeadline(deadline int64) {
	if deadline == 0 {
		c.timer.deadline = 0
		return
	}
	c.loop.setTimer(&c.timer, deadline)
}

// SetIdle sets the deadline to nanos nanoseconds from now. It is cheap enough to call
// on every read: if the timer is armed it uses the last value of the clock, which is at
// most a tick old. Expired may then run up to 0.1 s late.
func (c *Conn) SetIdle(nanos int64) {
	if c.timer.linked() {
		c.loop.wheel.set(&c.timer, c.loop.now+tickNanos+nanos)
		return
	}
	c.SetDeadline(c.loop.Now() + nanos)
}

func (c *Conn) expire() {
	switch {
	case c.flags&flagLinger != 0:
		c.Close()
	case c.Connecting():
		h, shakes := c.handler, c.flags&flagHandshake != 0
		c.Close()
		if shakes {
			h.Connected(c, &HandshakeError{ErrTimeout})
			return
		}
		h.Connected(c, ErrTimeout)
	default:
		c.handler.Expired(c)
	}
}
