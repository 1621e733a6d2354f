package accesslog

import (
	"unsafe"
)

// wakeAt is the fill level, in bytes, at which the reader is woken.
const wakeAt = RingSize / 4

// filler is the flag in the size of padding at the end of a ring. Records do not wrap
// around.
const filler = 1

// Waker wakes the reader. It is implemented by *shm.Waker.
type Waker interface{ Wake() }

// Writer is the producer of one ring, used by one loop only.
type Writer struct {
	ring   *ring
	wake   Waker
	head   uint64 // copy of the ring's head
	tail   uint64 // the ring's tail when last read
	serial uint32
}

// Writer returns the producer of ring i, 0 … MaxRings-1, which calls wake to wake the
// reader. A ring must not have two producers. Records of an earlier engine remain in
// the ring.
func (s *Segment) Writer(i int, wake Waker) *Writer {
	for {
		used := s.mem.used.Load()
		if uint64(i) < used || s.mem.used.CompareAndSwap(used, uint64(i+1)) {
			break
		}
	}
	r := &s.mem.rings[i]
	w := &Writer{ring: r, wake: wake, head: r.head.Load(), tail: r.tail.Load(), serial: uint32(r.pushed.Load())}
	if w.head%align != 0 || w.head-w.tail > RingSize { // not written by a valid producer
		w.head = w.tail
		r.head.Store(w.head)
	}
	return w
}

// Writers returns the producers of the first n rings, one for each loop.
func (s *Segment) Writers(n int, wake Waker) []*Writer {
	out := make([]*Writer, n)
	for i := range out {
		out[i] = s.Writer(i, wake)
	}
	return out
}

// Put copies the entry into the ring and reports whether there was room. If not, the
// record is counted as dropped. Put neither blocks nor allocates.
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
	w.ring.head.Store(w.head) // publishes the record
	if w.head-w.tail >= wakeAt {
		w.wakeReader()
	}
	return true
}

// room returns the number of free bytes by the last known tail.
func (w *Writer) room() int { return RingSize - int(w.head-w.tail) }

// wakeReader wakes the reader if it is waiting and the ring is really that full.
func (w *Writer) wakeReader() {
	w.tail = w.ring.tail.Load()
	if w.head-w.tail >= wakeAt && w.ring.armed.Load() != 0 && w.ring.armed.Swap(0) != 0 {
		w.wake.Wake()
	}
}
