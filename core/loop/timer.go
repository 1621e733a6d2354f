package loop

// The timer wheel: 512 slots of 100 ms. Deadlines here are time-outs in whole
// seconds, so a tick is precise enough, and moving a deadline later, which
// every request does, is one store: the entry stays where it is and is looked
// at again when its slot comes round.

const (
	tickNanos  = 100_000_000
	wheelSlots = 512
)

// Timer calls its target once when its deadline passed. It belongs to one
// loop. The zero value is not usable: see Loop.NewTimer.
type Timer struct {
	next, prev *Timer
	deadline   int64 // nanoseconds on the loop's clock; 0 means not set
	tick       int64 // the wheel position it is linked at
	target     expirer
}

// expirer is what a timer wakes: a connection or a plain function.
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
	entries int
}

func (w *wheel) init(now int64) {
	for i := range w.slots {
		w.slots[i].next, w.slots[i].prev = &w.slots[i], &w.slots[i]
	}
	w.now = now / tickNanos
}

// set arms t for deadline. An entry that is linked early enough stays put.
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
	// A deadline beyond one turn is linked a turn ahead and moved on then.
	t.tick = min(tick, w.now+wheelSlots-1)
	head := &w.slots[t.tick%wheelSlots]
	t.next, t.prev = head, head.prev
	head.prev.next = t
	head.prev = t
	w.entries++
}

// drop forgets t whether or not it is armed.
func (w *wheel) drop(t *Timer) {
	t.deadline = 0
	if t.linked() {
		t.unlink()
		w.entries--
	}
}

// advance moves to the tick of now and calls expire for each timer that is
// due. Entries whose deadline was moved later are linked again.
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
