package rejection

import (
	"net/netip"
	"sync/atomic"
	"time"
)

const (
	// Burst is how many lines of a class a loop may leave at once.
	Burst = 10
	// Every is how long it takes until a loop may leave another one.
	Every = time.Second
	// ringSize bounds the lines of a loop that are not written yet. At 152
	// bytes each that is 19 KiB a loop, room for the bursts of twelve classes.
	ringSize = 128
)

// Class is the kind of a refused input, an index into the names New was given.
type Class uint8

// Event is one refused input.
type Event struct {
	Class  Class
	Status uint16 // of the answer; 0 when the connection just ended
	Farm   string // its name; empty when it is gone
	// Reason is a text of ours. It never holds bytes of a peer.
	Reason string
	// Client and Backend are the peers concerned; the zero value means none.
	Client, Backend netip.AddrPort
	// Alias is what the operator calls the backend; empty without one.
	Alias string
}

// line is an Event that is to be written.
type line struct {
	Event
	at   time.Time // when it came
	left uint64    // how many of its class got no line until then
}

// Recorder takes the events of one loop. Add is for that loop only.
type Recorder struct {
	buckets []bucket        // by class
	left    []atomic.Uint64 // by class: events that got no line
	// The Log's, by class: of those, how many a line tells of; and whether there
	// was a line since rest last looked.
	told  []uint64
	shown []bool

	ring [ringSize]line
	// head counts what the loop has put into the ring, tail what the Log has
	// taken out; both wrap.
	head atomic.Uint32
	_    [60]byte // the loop writes one, the Log the other
	tail atomic.Uint32
}

func newRecorder(classes int) *Recorder {
	r := &Recorder{
		buckets: make([]bucket, classes), left: make([]atomic.Uint64, classes),
		told: make([]uint64, classes), shown: make([]bool, classes),
	}
	for i := range r.buckets {
		r.buckets[i].tokens = Burst
	}
	return r
}

// Add hands an event over to be written, or counts it when its class has had
// its share. now is the loop's clock in nanoseconds. Add never waits and
// allocates nothing.
func (r *Recorder) Add(now int64, e Event) {
	if !r.buckets[e.Class].take(now) || !r.push(&e) {
		r.left[e.Class].Add(1)
	}
}

// Shows reports whether an event of the class would get a line now: what takes
// work to say is worth it only then.
func (r *Recorder) Shows(now int64, class Class) bool {
	b := r.buckets[class] // a copy
	return b.take(now) && r.head.Load()-r.tail.Load() < ringSize
}

// push puts e into the ring, unless it is full.
func (r *Recorder) push(e *Event) bool {
	head := r.head.Load()
	if head-r.tail.Load() == ringSize {
		return false
	}
	slot := &r.ring[head%ringSize]
	slot.Event, slot.at, slot.left = *e, time.Now(), r.left[e.Class].Load()
	r.head.Store(head + 1)
	return true
}

// drain gives what is in the ring to write, which must not keep the pointer,
// with the number of those that were left out before and no line tells of yet.
func (r *Recorder) drain(write func(e *line, suppressed uint64)) {
	head := r.head.Load()
	for tail := r.tail.Load(); tail != head; tail++ {
		slot := &r.ring[tail%ringSize]
		r.shown[slot.Class] = true
		write(slot, r.tell(slot.Class, slot.left))
		*slot = line{} // holds no name of a farm that may be gone
		r.tail.Store(tail + 1)
	}
}

// tell returns how many of the first left events without a line are not told
// of yet, and takes them for told. rest may have told of more than that.
func (r *Recorder) tell(class Class, left uint64) uint64 {
	if left <= r.told[class] {
		return 0
	}
	n := left - r.told[class]
	r.told[class] = left
	return n
}

// rest is tell for all there are, if the class had no line lately: its flood is
// over, and no line is going to tell.
func (r *Recorder) rest(class Class) uint64 {
	if r.shown[class] {
		r.shown[class] = false
		return 0
	}
	return r.tell(class, r.left[class].Load())
}

// bucket holds the tokens of a class: one is a line.
type bucket struct {
	tokens int64
	last   int64 // when a token was added, on the loop's clock
}

func (b *bucket) take(now int64) bool {
	if b.tokens < Burst {
		if n := (now - b.last) / int64(Every); n > 0 {
			b.tokens = min(Burst, b.tokens+n)
			b.last += n * int64(Every)
		}
	}
	if b.tokens == 0 {
		return false
	}
	if b.tokens == Burst {
		b.last = now // a full bucket gains nothing by waiting
	}
	b.tokens--
	return true
}
