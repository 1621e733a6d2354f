package rejection

import (
	"net/netip"
	"sync/atomic"
	"time"
)

const (
	// Burst is the number of lines per class that a loop may log at once.
	Burst = 10
	// Every is the interval at which a loop may log one more.
	Every = time.Second
	// ringSize is the maximum number of pending lines per loop. At 152 bytes each that
	// is 19 KiB, room for the bursts of twelve classes.
	ringSize = 128
)

// Class is the kind of a rejected input: an index into the names given to New.
type Class uint8

// Event is one rejected input.
type Event struct {
	Class  Class
	Status uint16 // of the response; 0 if the connection just ended
	Farm   string // name; empty if the farm no longer exists
	// Reason is one of our own texts. It never contains bytes from a peer.
	Reason string
	// Client and Backend are the peers concerned; the zero value means none.
	Client, Backend netip.AddrPort
	// Alias is the operator's name for the backend; empty if there is none.
	Alias string
}

// line is an Event in the ring.
type line struct {
	Event
	at   time.Time // time of the event
	left uint64    // events of the class without a line so far
}

// Recorder collects the events of one loop. Only that loop may call Add.
type Recorder struct {
	buckets []bucket        // by class
	left    []atomic.Uint64 // by class: events without a line
	// Used by the Log, by class: the part of left that has been reported, and whether a
	// line was written since the last call of rest.
	told  []uint64
	shown []bool

	ring [ringSize]line
	// head counts lines put into the ring by the loop, tail lines taken out by the Log.
	// Both wrap around.
	head atomic.Uint32
	_    [60]byte // separate cache lines: the loop writes head, the Log tail
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

// Add records an event, or counts it if its class has no token or the ring is full. now
// is the loop's clock in nanoseconds. Add neither blocks nor allocates.
func (r *Recorder) Add(now int64, e Event) {
	if !r.buckets[e.Class].take(now) || !r.push(&e) {
		r.left[e.Class].Add(1)
	}
}

// Shows reports whether an event of the class would get a line now. Callers use it to
// avoid the cost of composing a suppressed event.
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

// drain passes the lines in the ring to write, which must not retain the pointer.
// suppressed is the number of earlier events of the class not reported yet.
func (r *Recorder) drain(write func(e *line, suppressed uint64)) {
	head := r.head.Load()
	for tail := r.tail.Load(); tail != head; tail++ {
		slot := &r.ring[tail%ringSize]
		r.shown[slot.Class] = true
		write(slot, r.tell(slot.Class, slot.left))
		*slot = line{} // releases the name of the farm
		r.tail.Store(tail + 1)
	}
}

// tell returns how many of the first left events have not been reported, and marks them
// as reported. The result is 0 if rest has already reported more.
func (r *Recorder) tell(class Class, left uint64) uint64 {
	if left <= r.told[class] {
		return 0
	}
	n := left - r.told[class]
	r.told[class] = left
	return n
}

// rest is tell for all events of a class without a recent line, i.e. after its flood
// has ended.
func (r *Recorder) rest(class Class) uint64 {
	if r.shown[class] {
		r.shown[class] = false
		return 0
	}
	return r.tell(class, r.left[class].Load())
}

// bucket holds the tokens of a class, one per line.
type bucket struct {
	tokens int64
	last   int64 // when a token was last added, on the loop's clock
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
		b.last = now // a full bucket gains nothing
	}
	b.tokens--
	return true
}
