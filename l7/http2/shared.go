package http2

// Buffers lends byte buffers; loop.BufferPool does.
type Buffers interface {
	// Grow returns a buffer that holds b's bytes and has room for n more; b,
	// which may be nil, is given back when it had to move.
	Grow(b []byte, n int) []byte
	// Put gives a buffer back.
	Put(b []byte)
}

// Shared is what the connections of one loop have in common: scratch space,
// buffers, streams that are not in use, limits and counters. It belongs to one
// goroutine. Connections to clients and to backends have one each.
type Shared struct {
	limits  Limits
	buffers Buffers
	now     func() int64

	in     message // the header block at hand
	line   []byte  // a line being put together
	counts []uint64

	free, resting []*Stream
	tables        [][]*Stream
	tableSize     int
}

// NewShared returns a Shared with the given limits. now is a clock in
// nanoseconds that never goes back; it is asked when a stream begins to wait
// and when a bucket is empty.
func NewShared(limits Limits, buffers Buffers, now func() int64) *Shared {
	limits.Window = max(limits.Window, initialWindow)
	limits.ConnWindow = max(limits.ConnWindow, initialWindow)
	sh := &Shared{limits: limits, buffers: buffers, now: now, counts: make([]uint64, len(all)), tableSize: smallTable}
	for sh.tableSize < limits.Streams {
		sh.tableSize *= 2
	}
	return sh
}

// Count is how often the peers of all connections did what e says.
func (sh *Shared) Count(e *Error) uint64 { return sh.counts[e.index] }

// maxFree bounds the idle streams and tables a Shared keeps.
const maxFree = 4096

// stream returns a stream that is not in use.
func (sh *Shared) stream() *Stream {
	if n := len(sh.free); n > 0 {
		s := sh.free[n-1]
		sh.free = sh.free[:n-1]
		return s
	}
	return new(Stream)
}

// put takes back a stream. It rests until the next Receive, because code further
// up the stack may still look at it.
func (sh *Shared) put(s *Stream) { sh.resting = append(sh.resting, s) }

// wake makes the streams that rest ready for use.
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
