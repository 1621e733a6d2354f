package accesslog

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/core/stats"
)

const (
	// RingSize is the size of a loop's ring in bytes, a power of two: some 3,000
	// records of usual size.
	RingSize = 1 << 20
	// MaxRings bounds the loops of one engine.
	MaxRings = stats.MaxShards
	// SegmentSize is the size of a segment in bytes: 64 MiB of addresses. Memory
	// is taken page by page, by loops that write.
	SegmentSize = int(unsafe.Sizeof(memory{}))

	magic    = 0x534c554143434c47 // "SLUACCLG" read as a number
	layout   = 3                  // grows when anything below changes place or meaning
	pageSize = 4096
	align    = 8
	lineSize = 64
)

// ErrSegment occurs when memory does not hold a segment of this layout.
var ErrSegment = errors.New("no access log segment")

// memory is the layout of the segment:
//
//	header, one page: the bits of watched farms are in it
//	MaxRings rings: the words of both sides (one page), then the bytes
type memory struct {
	header
	_     [pageSize - unsafe.Sizeof(header{})%pageSize]byte
	rings [MaxRings]ring
}

type header struct {
	shm.Header
	// used is how many rings were ever in use.
	used atomic.Uint64
	_    [lineSize - 24]byte

	// mgmt's words: records taken out of the rings, and those of them that were
	// written or counted as lost.
	taken, acknowledged atomic.Uint64
	_                   [lineSize - 16]byte

	// watched has one bit for each farm ID.
	watched [(farm.MaxFarmID + 1) / 64]atomic.Uint64
}

// ring is one loop's.
type ring struct {
	// The producer's words: bytes put in, records put in, records dropped.
	head, pushed, dropped atomic.Uint64
	_                     [lineSize - 24]byte
	// The consumer's words: bytes taken out, and whether to be woken.
	tail  atomic.Uint64
	armed atomic.Uint32
	_     [pageSize - lineSize - 12]byte

	bytes [RingSize]byte
}

// Segment is an opened segment. The memory must stay mapped while it, or
// anything it returned, is in use.
type Segment struct {
	mem *memory
}

// OpenSegment returns the segment in mem, at least SegmentSize bytes of shared
// memory mapped for writing. Zeroed memory is a segment nobody has used.
// Anything else is refused with ErrSegment.
func OpenSegment(mem []byte) (*Segment, error) {
	m, err := shm.Create[memory](mem, magic, layout)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSegment, err)
	}
	return &Segment{m}, nil
}

// inUse is the number of rings that may hold anything.
func (s *Segment) inUse() int { return int(min(s.mem.used.Load(), MaxRings)) }

// Watched reports whether somebody watches the farm, of whose ID the low 12
// bits count: its exchanges are to be recorded even if none is logged. Any
// goroutine of any process.
func (s *Segment) Watched(id uint32) bool {
	id &= farm.MaxFarmID
	return s.mem.watched[id/64].Load()>>(id%64)&1 != 0
}

// Watch says whether somebody watches the farm. mgmt calls it.
func (s *Segment) Watch(id uint32, yes bool) {
	id &= farm.MaxFarmID
	if word, bit := &s.mem.watched[id/64], uint64(1)<<(id%64); yes {
		word.Or(bit)
	} else {
		word.And(^bit)
	}
}

// Totals are what the rings have seen since the supervisor started.
type Totals struct {
	// Pushed were put into a ring, Dropped found no room.
	Pushed, Dropped uint64
}

// Totals sums over all rings. Any goroutine of any process.
func (s *Segment) Totals() (t Totals) {
	for i := range s.inUse() {
		t.Pushed += s.mem.rings[i].pushed.Load()
		t.Dropped += s.mem.rings[i].dropped.Load()
	}
	return t
}
