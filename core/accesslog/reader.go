package accesslog

import (
	"unsafe"
)

// batchSize is the number of bytes copied from a ring at once. Any record fits.
const batchSize = 128 << 10

// Reader is the consumer of all rings of a segment. It belongs to one goroutine, and
// there must be only one.
type Reader struct {
	seg    *Segment
	batch  []uint64 // aligned buffer for copies
	record Record
	expect [MaxRings]uint32 // serial of the next record
	seen   [MaxRings]bool   // expect is valid
	lost   Lost
}

// Lost counts the records that a Reader found missing.
type Lost struct {
	// Unacknowledged were taken by an earlier reader and neither written nor counted.
	Unacknowledged uint64
	// Missing were put into a ring and did not arrive, because an engine died or wrote
	// invalid data. Damaged is the number of times it wrote invalid data.
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
		s.mem.watched[i].Store(0) // watchers are gone with the previous reader
	}
	return r
}

// Lost returns the counts so far.
func (r *Reader) Lost() Lost { return r.lost }

// Acknowledge marks n more records as handled: written or counted as lost. It is safe
// for concurrent use.
func (s *Segment) Acknowledge(n uint64) { s.mem.acknowledged.Add(n) }

// Arm makes the next loop whose ring is a quarter full wake the reader. It returns
// false if a ring is that full already.
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

// Drain passes the records in the rings to use, at most two batches per ring, and
// returns their number. use must retain neither the record nor its texts.
func (r *Reader) Drain(use func(*Record)) (n int) {
	for i := range r.seg.inUse() {
		n += r.drain(i, use)
	}
	return n
}

// drain reads ring i up to its end, then from its beginning.
func (r *Reader) drain(i int, use func(*Record)) (n int) {
	r.seg.mem.rings[i].armed.Store(0)
	n = r.drainPiece(i, use)
	if r.seg.mem.rings[i].tail.Load()%RingSize == 0 {
		n += r.drainPiece(i, use)
	}
	return n
}

// drainPiece copies a piece of ring i to the batch, frees its space and then calls use
// for its records, so a loop never waits for use.
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

// measure returns the number of bytes of b in complete records and the number of these
// records. ok is false if b does not begin with a record.
func measure(b []byte) (whole, n int, ok bool) {
	for len(b)-whole >= align {
		size := sizeAt(b, whole)
		length, isFiller := int(size&^filler), size&filler != 0
		switch {
		case length == 0 || length%align != 0 || !isFiller && (length < fixedSize || length > MaxRecord):
			return whole, n, whole > 0 // the rest is examined next time
		case length > len(b)-whole:
			// A record truncated by the copy will be complete next time. A record that
			// exceeds the maximum is invalid.
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

// handOut calls use for every record in b.
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

// expected counts the records missing before serial. The count is limited to a ring's
// capacity, because a larger gap means damage.
func (r *Reader) expected(i int, serial uint32) {
	if gap := serial - r.expect[i]; r.seen[i] && gap != 0 {
		r.lost.Missing += uint64(min(gap, uint32(RingSize/fixedSize)))
	}
	r.expect[i], r.seen[i] = serial+1, true
}

// skip discards the content of a ring with invalid data.
func (r *Reader) skip(g *ring, i int, head uint64) {
	r.lost.Damaged++
	g.tail.Store(head &^ (align - 1))
}
