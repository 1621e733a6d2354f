package http2

// Buffers lends byte buffers. loop.BufferPool implements it.
type Buffers interface {
	// Grow returns a buffer with the contents of b and room for n more bytes. b may be nil.
	// If the contents had to move, b is returned to the pool.
	Grow(b []byte, n int) []byte
	// Put returns a buffer.
	Put(b []byte)
}

// Shared is the common state of the connections of one loop: scratch space, buffers, free
// streams, limits and counters. It belongs to one goroutine. Connections to clients and to
// backends have separate ones.
type Shared struct {
	limits  Limits
	buffers Buffers
	now     func() int64

	in     message // the current header block
	line   []byte  // the line being built
	counts []uint64

	free, resting []*Stream
	tables        [][]*Stream
	tableSize     int
}

// NewShared returns a Shared with the given limits. now is a monotonic clock in nanoseconds.
// It is read when a stream begins to wait and when a bucket is empty.
func NewShared(limits Limits, buffers Buffers, now func() int64) *Shared {
	limits.Window = max(limits.Window, initialWindow)
	limits.ConnWindow = max(limits.ConnWindow, initialWindow)
	sh := &Shared{limits: limits, buffers: buffers, now: now, counts: make([]uint64, len(all)), tableSize: smallTable}
	for sh.tableSize < limits.Streams {
		sh.tableSize *= 2
	}
	return sh
}

// Count returns how often e occurred on all connections.
func (sh *Shared) Count(e *Error) uint64 { return sh.counts[e.index] }

// maxFree bounds the free streams and tables of a Shared.
const maxFree = 4096

// stream returns a free stream.
func (sh *Shared) stream() *Stream {
	if n := len(sh.free); n > 0 {
		s := sh.free[n-1]
		sh.free = sh.free[:n-1]
		return s
	}
	return new(Stream)
}

// put frees a stream. It becomes available at the next Receive, because callers up the stack
// may still read it.
func (sh *Shared) put(s *Stream) { sh.resting = append(sh.resting, s) }

// wake makes the streams of put available.
func (sh *Shared) wake() {
	for i, s := range sh.resting {
		*s = Stream{}
		if len(sh.free) < maxFree {
			sh.free = append(sh.free, s)
		}
		sh.resting[i] = nil
	}
	sh.resting = sh.resting[:0]
}

// table returns an empty table for many streams.
func (sh *Shared) table() []*Stream {
	if n := len(sh.tables); n > 0 {
		t := sh.tables[n-1]
		sh.tables = sh.tables[:n-1]
		return t
	}
	return make([]*Stream, sh.tableSize)
}

func (sh *Shared) putTable(t []*Stream) {
	if len(sh.tables) < 64 {
		sh.tables = append(sh.tables, t)
	}
}
