// Package statstest provides counter segments for tests.
package statstest

import (
	"os"
	"testing"

	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/core/stats"
)

// New returns an empty segment for the given number of loops, whose memory is freed
// when the test ends. The memory is sparse. Heap memory is unsuitable because it would
// need all of stats.SegmentSize.
func New(t testing.TB, loops int) *stats.Segment {
	t.Helper()
	_, mem := Memory(t)
	s, err := stats.CreateSegment(mem, loops)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Memory returns zeroed shared memory of a segment's size and its file. Both are
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
