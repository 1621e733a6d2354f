package stats

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/shm"
)

// MaxShards bounds the loops of one engine.
const MaxShards = 64

// SegmentSize is the size of a segment in bytes: 3.3 GiB of addresses. Memory
// is taken page by page as counters are touched.
const SegmentSize = int(unsafe.Sizeof(memory{}))

const (
	magic    = 0x534c55434f554e54 // "SLUCOUNT" read as a number
	layout   = 3                  // grows when any word below changes place or meaning
	pageSize = 4096
)

var (
	// ErrSegment occurs when memory does not hold a segment of this layout.
	ErrSegment = errors.New("no counter segment")
	// ErrLoops occurs when an engine has no loops or more than MaxShards.
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
	// used is how many shards were ever in use: the ones a sum visits.
	used atomic.Uint64
	// loops is how many the present engine runs, at most used.
	loops atomic.Uint64
	// epoch counts the engines that used the segment.
	epoch atomic.Uint64
	// classes are the names of the classes of rejections, as the engine has them.
	classes [MaxClasses][classLength]byte
}

// owner says whose counters the slots of one ID are, and since which epoch.
type owner struct {
	number atomic.Uint64
	epoch  atomic.Uint64
}

// Segment is an opened segment. The memory must stay mapped while it, or
// anything it returned, is in use.
type Segment struct {
	mem *memory
}

// CreateSegment prepares mem, at least SegmentSize bytes of shared memory
// mapped for writing, for an engine of that many loops, and returns it. Memory
// a previous engine left keeps its totals; loop counters start anew, and the
// gauges of a farm or backend are cleared when it is adopted. Only one engine
// may write a segment at a time. Errors: ErrLoops, ErrSegment when the memory
// is neither zeroed nor a segment of this layout.
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

// OpenSegment returns the segment in mem, which is only read. It fails with
// ErrSegment while no engine has created it, and when the layout is another.
func OpenSegment(mem []byte) (*Segment, error) {
	m, err := shm.Open[memory](mem, magic, layout)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSegment, err)
	}
	return &Segment{m}, nil
}

// Loops returns how many loops the present engine runs.
func (s *Segment) Loops() int { return int(min(s.mem.loops.Load(), MaxShards)) }

// inUse is the number of shards that may hold anything.
func (s *Segment) inUse() int { return int(min(s.mem.used.Load(), MaxShards)) }

// Shard returns the shard of loop i, 0 … MaxShards-1. Sums see it only when i
// is below the number of loops the segment was created with.
func (s *Segment) Shard(i int) *Shard { return &s.mem.shards[i] }
