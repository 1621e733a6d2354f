package accesslog_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/shm"
)

// segment returns an empty segment in memory that processes share.
func segment(t testing.TB) *accesslog.Segment {
	t.Helper()
	return open(t, memory(t))
}

func memory(t testing.TB) []byte {
	t.Helper()
	f, err := shm.Shared("accesslog", accesslog.SegmentSize)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := shm.MapShared(f, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m.Bytes()
}

func open(t testing.TB, mem []byte) *accesslog.Segment {
	t.Helper()
	s, err := accesslog.OpenSegment(mem)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// bell counts wake-ups.
type bell int

func (b *bell) Wake() { *b++ }
