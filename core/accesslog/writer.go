package accesslog

import (
	"unsafe"
)

// wakeAt is how full a ring is when its reader is woken.
const wakeAt = RingSize / 4

// filler marks the size of what only fills the end of a ring: records lie in
// one piece.
const filler = 1

// Waker wakes the reader; *shm.Waker is one.
type Waker interface{ Wake() }

// Writer is the producer of one ring: one loop, and only that.
type Writer struct {
	ring   *ring
	wake   Waker
	head   uint64 // as in the ring
	tail   uint64 // as it was when last looked at
	serial uint32
}

// Writer returns the producer of ring i, 0 … MaxRings-1, which wakes its reader
// by wake. A ring must not have two producers. What an earlier engine put into
// it is still there.
func (s *Segment) Writer(i int, wake Waker) *Writer {
	for {
		used := s.mem.used.Load()
		if uint64(i) < used || s.mem.used.CompareAndSwap(used, uint64(i+1)) {
			break
		}
	}
	r := &s.mem.rings[i]
	w := &Writer{ring: r, wake: wake, head: r.head.Load(), tail: r.tail.Load(), serial: uint32(r.pushed.Load())}
	if w.head%align != 0 || w.head-w.tail > RingSize { // nobody of ours left that
		w.head = w.tail
		r.head.Store(w.head)
	}
	return w
}

// Writers returns the producers of the first n rings, one for each loop: all who
// put records on that loop share it.
func (s *Segment) Writers(n int, wake Waker) []*Writer {
	out := make([]*Writer, n)
	for i := range out {
		out[i] = s.Writer(i, wake)
	}
	return out
}

// Put copies the entry into the ring and reports whether there was room; if
// not, the record is counted as dropped. It neither waits nor allocates.
func (w *Writer) Put(e *Entry) bool {
	size := (fixedSize + len(e.text) + align - 1) &^ (align - 1)
	at := int(w.head % RingSize)
	need := size
	if RingSize-at < size {
		need += RingSize - at
	}
	if w.room() < need {
		w.tail = w.ring.tail.Load()
		if w.room() < need {
			w.ring.dropped.Store(w.ring.dropped.Load() + 1)
			w.wakeReader()
			return false
		}
	}
	if need != size {
		*(*uint32)(unsafe.Pointer(&w.ring.bytes[at])) = uint32(RingSize-at) | filler
		at = 0
	}
	f := (*fixed)(unsafe.Pointer(&w.ring.bytes[at]))
	f.size, f.serial, f.Exchange, f.texts = uint32(size), w.serial, e.Exchange, e.texts
	copy(w.ring.bytes[at+fixedSize:], e.text)
	w.serial++
	w.head += uint64(need)
	w.ring.pushed.Store(w.ring.pushed.Load() + 1)
	w.ring.head.Store(w.head) // from here on the record is there
	if w.head-w.tail >= wakeAt {
		w.wakeReader()
	}
	return true
}

// room is how many bytes are free, as far as is known.
func (w *Writer) room() int { return RingSize - int(w.head-w.tail) }

// wakeReader wakes the reader if that is waiting and the ring really is that
// full.
func (w *Writer) wakeReader() {
	w.tail = w.ring.tail.Load()
	if w.head-w.tail >= wakeAt && w.ring.armed.Load() != 0 && w.ring.armed.Swap(0) != 0 {
		w.wake.Wake()
	}
}
