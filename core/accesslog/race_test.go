package accesslog_test

import (
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/sluicelb/sluice/core/accesslog"
)

// The race detector does not watch mapped memory, so this test uses the heap.
func TestConcurrentReadsReturnCompleteRecords(t *testing.T) {
	words := make([]uint64, accesslog.SegmentSize/8+16)
	mem := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(words)*8)
	if skip := int(-uintptr(unsafe.Pointer(&mem[0])) & 63); skip != 0 {
		mem = mem[skip:]
	}
	s := open(t, mem)
	const loops, each = 2, 30_000
	var running atomic.Int32
	running.Store(loops)
	for i := range loops {
		w := s.Writer(i, new(bell))
		go func() {
			defer running.Add(-1)
			var e accesslog.Entry
			for n := range uint64(each) {
				fillNumbered(&e, n, int(n%300))
				e.Loop = uint8(i)
				w.Put(&e)
			}
		}()
	}
	r := s.Reader()
	var last [loops]uint64
	got := uint64(0)
	read := func(rec *accesslog.Record) {
		n := check(t, rec) + 1
		if n <= last[rec.Loop] {
			t.Errorf("loop %d: record %d after %d", rec.Loop, n, last[rec.Loop])
		}
		last[rec.Loop] = n
		got++
	}
	for running.Load() > 0 {
		r.Arm()
		r.Drain(read)
	}
	for r.Drain(read) > 0 {
	}
	total := s.Totals()
	if total.Pushed+total.Dropped != loops*each || got != total.Pushed {
		t.Errorf("%+v of %d, %d read", total, loops*each, got)
	}
	if l := r.Lost(); l != (accesslog.Lost{}) {
		t.Errorf("lost %+v", l)
	}
}
