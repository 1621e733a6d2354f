package stats

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/shm"
)

// MaxShards is the maximum number of loops of an engine.
const MaxShards = 64

// SegmentSize is the size of a segment in bytes: 3.3 GiB of address space. Memory is
// allocated page by page as counters are touched.
const SegmentSize = int(unsafe.Sizeof(memory{}))

const (
	magic    = 0x534c55434f554e54 // "SLUCOUNT" as a number
	layout   = 3                  // incremented when any word below changes its place or meaning
	pageSize = 4096
)

var (
	// ErrSegment means that memory does not hold a segment of this layout.
	ErrSegment = errors.New("no counter segment")
	// ErrLoops means that the number of loops is not in 1 … MaxShards.
	ErrLoops = errors.New("number of loops out of range")
)

// memory is the layout of the segment:
//
//	header, one page
//	owners of farm IDs, then of backend IDs, 16 bytes each
//	MaxShards shards: loop counters (one page), backends and rejections (256 bytes
//	each), farms, times of farms and backends (512 bytes each)
type memory struct {
	header
	_        [pageSize - unsafe.Sizeof(header{})]byte
	farms    [farm.MaxFarmID + 1]owner
	backends [farm.MaxBackendID + 1]owner
	shards   [MaxShards]Shard
}

type header struct {
	shm.Header
	// used is the number of shards ever in use, which sums visit.
	used atomic.Uint64
	// loops is the number of loops of the current engine, at most used.
	loops atomic.Uint64
	// epoch counts the engines that have used the segment.
	epoch atomic.Uint64
	// classes are the names of the engine's classes of rejections.
	classes [MaxClasses][classLength]byte
}

// owner identifies the owner of one ID's counters, and the epoch in which it adopted
// them.
type owner struct {
	number atomic.Uint64
	epoch  atomic.Uint64
}

// Segment is an opened segment. The memory must stay mapped while the segment or
// anything it returned is in use.
type Segment struct {
	mem *memory
}

// CreateSegment prepares mem for an engine with the given number of loops and returns
// the segment. mem must have at least SegmentSize bytes of shared memory, mapped for
// writing. Totals of a previous engine are kept, loop counters are cleared, and the
// gauges of a farm or backend are cleared when it is adopted. Only one engine may write
// a segment at a time. It returns ErrLoops, or ErrSegment if the memory is neither
// zeroed nor a segment of this layout.
func CreateSegment(mem []byte, loops int) (*Segment, error) {
	if loops < 1 || loops > MaxShards {
		return nil, fmt.Errorf("%w: %d, allowed are 1 to %d", ErrLoops, loops, MaxShards)
	}
	m, err := shm.Create[memory](mem, magic, layout)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSegment, err)
	}
	s, h := &Segment{m}, &m.header
	h.epoch.Add(1)
	for i := range s.inUse() {
		wipe(s.mem.shards[i].loop.words())
	}
	h.used.Store(uint64(max(loops, s.inUse())))
	h.loops.Store(uint64(loops))
	return s, nil
}

// OpenSegment returns the segment in mem for reading. It fails with ErrSegment if no
// engine has created it or the layout differs.
func OpenSegment(mem []byte) (*Segment, error) {
	m, err := shm.Open[memory](mem, magic, layout)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSegment, err)
	}
	return &Segment{m}, nil
}

// Loops returns the number of loops of the current engine.
func (s *Segment) Loops() int { return int(min(s.mem.loops.Load(), MaxShards)) }

// inUse returns the number of shards that may contain counts.
func (s *Segment) inUse() int { return int(min(s.mem.used.Load(), MaxShards)) }

// Shard returns the shard of loop i, 0 … MaxShards-1. Sums include it only if i is
// below the number of loops given to CreateSegment.
func (s *Segment) Shard(i int) *Shard { return &s.mem.shards[i] }
