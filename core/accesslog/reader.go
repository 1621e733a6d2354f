package accesslog

import (
	"unsafe"
)

// batchSize is how much is copied out of a ring at once. It holds any record.
const batchSize = 128 << 10

// Reader is the consumer of all rings of a segment. It belongs to one
// goroutine, and there must be only one.
type Reader struct {
	seg    *Segment
	batch  []uint64 // aligned space for a copy
	record Record
	expect [MaxRings]uint32 // serial of the next record
	seen   [MaxRings]bool   // expect is known
	lost   Lost
}

// Lost is what a Reader found missing.
type Lost struct {
	// Unacknowledged were taken by an earlier reader and neither written nor counted.
	Unacknowledged uint64
	// Missing were put into a ring and never came: an engine died, or wrote
	// what is none of ours. Damaged is how often the latter happened.
	Missing, Damaged uint64
}

// Reader returns the consumer of the segment.
func (s *Segment) Reader() *Reader {
	r := &Reader{seg: s, batch: make([]uint64, batchSize/8)}
	if taken, acknowledged := s.mem.taken.Load(), s.mem.acknowledged.Load(); taken > acknowledged {
		r.lost.Unacknowledged = taken - acknowledged
	}
	s.mem.acknowledged.Store(s.mem.taken.Load())
	for i := range s.mem.watched {
		s.mem.watched[i].Store(0) // whoever watched is gone with the last reader
	}
	return r
}

// Lost returns what is missing so far.
func (r *Reader) Lost() Lost { return r.lost }

// Acknowledge says that n more of the records that were handed out need not be
// remembered: they were written, or counted as lost. Any goroutine.
func (s *Segment) Acknowledge(n uint64) { s.mem.acknowledged.Add(n) }

// Arm makes the next loop whose ring is a quarter full wake the reader. It
// reports false, and arms nothing, when a ring is that full already.
func (r *Reader) Arm() bool {
	for i := range r.seg.inUse() {
		r.seg.mem.rings[i].armed.Store(1)
	}
	for i := range r.seg.inUse() {
		if g := &r.seg.mem.rings[i]; g.head.Load()-g.tail.Load() >= wakeAt {
			return false
		}
	}
	return true
}

// Drain hands out what is in the rings, at most one batch of each, and returns
// how many records that were. use must keep neither the record nor its texts.
func (r *Reader) Drain(use func(*Record)) (n int) {
	for i := range r.seg.inUse() {
		n += r.drain(i, use)
	}
	return n
}

// drain takes what ring i has up to its end, and what it has at its beginning.
func (r *Reader) drain(i int, use func(*Record)) (n int) {
	r.seg.mem.rings[i].armed.Store(0)
	n = r.drainPiece(i, use)
	if r.seg.mem.rings[i].tail.Load()%RingSize == 0 {
		n += r.drainPiece(i, use)
	}
	return n
}

// drainPiece empties a piece of ring i into the batch, gives the room back, and
// hands out what it has: a loop never waits for use.
func (r *Reader) drainPiece(i int, use func(*Record)) (n int) {
	g := &r.seg.mem.rings[i]
	tail, head := g.tail.Load(), g.head.Load()
	if head == tail {
		return 0
	}
	if head%align != 0 || tail%align != 0 || head-tail > RingSize {
		r.skip(g, i, head)
		return 0
	}
	at := int(tail % RingSize)
	b := unsafe.Slice((*byte)(unsafe.Pointer(&r.batch[0])), batchSize)
	b = b[:copy(b, g.bytes[at:at+min(int(head-tail), RingSize-at)])]
	whole, n, ok := measure(b)
	if !ok || whole == 0 {
		r.skip(g, i, head)
		return 0
	}
	r.seg.mem.taken.Add(uint64(n))
	g.tail.Store(tail + uint64(whole))
	r.handOut(i, b[:whole], use)
	return n
}

// measure finds how many bytes of b are whole records, and how many those are.
// It reports false when b does not begin with one.
func measure(b []byte) (whole, n int, ok bool) {
	for len(b)-whole >= align {
		size := sizeAt(b, whole)
		length, isFiller := int(size&^filler), size&filler != 0
		switch {
		case length == 0 || length%align != 0 || !isFiller && (length < fixedSize || length > MaxRecord):
			return whole, n, whole > 0 // what follows is looked at next time
		case length > len(b)-whole:
			// A record that the copy cut is whole next time; what claims to be
			// longer than what may follow is none.
			return whole, n, whole > 0
		}
		whole += length
		if !isFiller {
			n++
		}
	}
	return whole, n, true
}

func sizeAt(b []byte, at int) uint32 { return *(*uint32)(unsafe.Pointer(&b[at])) }

// handOut gives every record in b to use.
func (r *Reader) handOut(i int, b []byte, use func(*Record)) {
	for len(b) > 0 {
		size := sizeAt(b, 0)
		length := int(size &^ filler)
		if size&filler == 0 {
			r.expected(i, (*fixed)(unsafe.Pointer(&b[0])).serial)
			if r.record.parse(b[:length]) {
				use(&r.record)
			} else {
				r.lost.Damaged++
				r.seg.Acknowledge(1)
			}
		}
		b = b[length:]
	}
}

// expected counts what is missing before the record with that serial. A jump
// that is larger than a ring is no count but damage.
func (r *Reader) expected(i int, serial uint32) {
	if gap := serial - r.expect[i]; r.seen[i] && gap != 0 {
		r.lost.Missing += uint64(min(gap, uint32(RingSize/fixedSize)))
	}
	r.expect[i], r.seen[i] = serial+1, true
}

// skip gives up what is in a ring that holds something else than records.
func (r *Reader) skip(g *ring, i int, head uint64) {
	r.lost.Damaged++
	g.tail.Store(head &^ (align - 1))
}
