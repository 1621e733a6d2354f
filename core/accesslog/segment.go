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
	// RingSize is the size of a loop's ring in bytes, a power of two. It holds about
	// 3,000 typical records.
	RingSize = 1 << 20
	// MaxRings is the maximum number of loops of an engine.
	MaxRings = stats.MaxShards
	// SegmentSize is the size of a segment in bytes: 64 MiB of address space. Memory is
	// allocated page by page as loops write.
	SegmentSize = int(unsafe.Sizeof(memory{}))

	magic    = 0x534c554143434c47 // "SLUACCLG" as a number
	layout   = 3                  // incremented when anything below changes its place or meaning
	pageSize = 4096
	align    = 8
	lineSize = 64
)

// ErrSegment means that memory does not hold a segment of this layout.
var ErrSegment = errors.New("no access log segment")

// memory is the layout of the segment:
//
//	header, one page, with the bits of watched farms
//	MaxRings rings: the words of both sides (one page), then the bytes
type memory struct {
	header
	_     [pageSize - unsafe.Sizeof(header{})%pageSize]byte
	rings [MaxRings]ring
}

type header struct {
	shm.Header
	// used is the number of rings ever in use.
	used atomic.Uint64
	_    [lineSize - 24]byte

	// Words of mgmt: records taken from the rings, and how many of these were written
	// or counted as lost.
	taken, acknowledged atomic.Uint64
	_                   [lineSize - 16]byte

	// watched has one bit for each farm ID.
	watched [(farm.MaxFarmID + 1) / 64]atomic.Uint64
}

// ring is the ring of one loop.
type ring struct {
	// Words of the producer: bytes written, records written, records dropped.
	head, pushed, dropped atomic.Uint64
	_                     [lineSize - 24]byte
	// Words of the consumer: bytes read, and whether to wake it.
	tail  atomic.Uint64
	armed atomic.Uint32
	_     [pageSize - lineSize - 12]byte

	bytes [RingSize]byte
}

// Segment is an opened segment. The memory must stay mapped while the segment or
// anything it returned is in use.
type Segment struct {
	mem *memory
}

// OpenSegment returns the segment in mem, at least SegmentSize bytes of shared memory
// mapped for writing. Zeroed memory is an unused segment. Other content fails with
// ErrSegment.
func OpenSegment(mem []byte) (*Segment, error) {
	m, err := shm.Create[memory](mem, magic, layout)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSegment, err)
	}
	return &Segment{m}, nil
}

// inUse returns the number of rings that may hold records.
func (s *Segment) inUse() int { return int(min(s.mem.used.Load(), MaxRings)) }

// Watched reports whether the farm (low 12 bits of id) is watched. Its exchanges are
// then recorded even if they are not logged. It may be called in any goroutine of any
// process.
func (s *Segment) Watched(id uint32) bool {
	id &= farm.MaxFarmID
	return s.mem.watched[id/64].Load()>>(id%64)&1 != 0
}

// Watch sets whether the farm is watched. It is called by mgmt.
func (s *Segment) Watch(id uint32, yes bool) {
	id &= farm.MaxFarmID
	if word, bit := &s.mem.watched[id/64], uint64(1)<<(id%64); yes {
		word.Or(bit)
	} else {
		word.And(^bit)
	}
}

// Totals counts records since the supervisor started.
type Totals struct {
	// Pushed were put into a ring, Dropped found no room.
	Pushed, Dropped uint64
}

// Totals returns the sums over all rings. It may be called in any goroutine of any
// process.
func (s *Segment) Totals() (t Totals) {
	for i := range s.inUse() {
		t.Pushed += s.mem.rings[i].pushed.Load()
		t.Dropped += s.mem.rings[i].dropped.Load()
	}
	return t
}
