// Package statstest gives tests a counter segment of their own.
package statstest

import (
	"os"
	"testing"

	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/core/stats"
)

// New returns an empty segment for that many loops in memory that is removed
// when the test ends. The memory is sparse; do not use the heap instead, which
// would have to provide all of stats.SegmentSize.
func New(t testing.TB, loops int) *stats.Segment {
	t.Helper()
	_, mem := Memory(t)
	s, err := stats.CreateSegment(mem, loops)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Memory returns zeroed shared memory of a segment's size and its file, both
// removed when the test ends.
func Memory(t testing.TB) (*os.File, []byte) {
	t.Helper()
	f, err := shm.Shared("stats", stats.SegmentSize)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	m, err := shm.MapShared(f, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return f, m.Bytes()
}
