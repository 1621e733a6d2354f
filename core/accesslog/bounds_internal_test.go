package accesslog

import (
	"testing"
	"unsafe"
)

func ownMemory(t *testing.T) *Segment {
	t.Helper()
	words := make([]uint64, SegmentSize/8)
	s, err := OpenSegment(unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), SegmentSize))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A record has room for all texts at their maximum lengths, and no more.
func TestTheLongestRecordFitsItsBound(t *testing.T) {
	if MaxHeaders != 8 || MaxText != 32+272+2048+64+512+1024+200+8*(4+64+512) {
		t.Errorf("%d bytes of texts, with %d headers", MaxText, MaxHeaders)
	}
	if over := MaxRecord - fixedSize - MaxText; MaxRecord%align != 0 || over < 0 || over >= align {
		t.Errorf("a record of %d bytes at most has room for %d too many", MaxRecord, over)
	}
}

// Invalid ring positions, e.g. by another program, are reset by both writer and reader,
// which then agree.
func TestInvalidRingPositionsAreReset(t *testing.T) {
	for name, head := range map[string]uint64{"between records": 80 + 3, "beyond the ring": 80 + RingSize + align} {
		s := ownMemory(t)
		g := &s.mem.rings[1]
		g.tail.Store(80)
		g.head.Store(head)
		if w := s.Writer(1, nil); w.head != 80 || g.head.Load() != 80 || w.room() != RingSize {
			t.Errorf("%s: it is written from %d on, read up to %d", name, w.head, g.head.Load())
		}
		g.head.Store(head)
		r := s.Reader()
		if n := r.Drain(func(*Record) { t.Errorf("%s: a record came", name) }); n != 0 || r.Lost().Damaged != 1 {
			t.Errorf("%s: %d records, lost %+v", name, n, r.Lost())
		}
		g.head.Store(g.tail.Load()) // as the next writer starts
		if n := r.Drain(func(*Record) {}); n != 0 || r.Lost().Damaged != 1 {
			t.Errorf("%s: the next look finds %d records, lost %+v", name, n, r.Lost())
		}
	}
}

// Each loop has the ring of its number, and only those are read.
func TestEachLoopHasItsRing(t *testing.T) {
	s := ownMemory(t)
	writers := s.Writers(3, nil)
	for i, w := range writers {
		if w.ring != &s.mem.rings[i] {
			t.Errorf("loop %d has another ring", i)
		}
		for range i {
			w.Put(&Entry{})
		}
	}
	if n := s.Reader().Drain(func(*Record) {}); n != 3 || len(writers) != 3 || s.inUse() != 3 {
		t.Errorf("%d records of %d rings", n, s.inUse())
	}
	s.Writer(1, nil)
	if s.inUse() != 3 {
		t.Errorf("%d rings after one was adopted", s.inUse())
	}
}

// Headers with inconsistent lengths are returned up to the first error.
func TestTruncatedHeadersReturnTheirValidPrefix(t *testing.T) {
	one := append([]byte{1, 0, 2, 0}, "abb"...)
	long := append([]byte{1, 0, 0, 1}, make([]byte, 1+256)...)
	for name, test := range map[string]struct {
		headers []byte
		want    int
		some    bool
	}{
		"none": {nil, 0, false}, "half a front": {one[:3], 0, false}, "a front alone": {make([]byte, 4), 1, true},
		"one": {one, 1, true}, "one cut": {one[:6], 0, true}, "a second cut": {append(one[:7:7], one[:6]...), 1, true},
		"two": {append(one[:7:7], one...), 2, true}, "a long one": {long, 1, true}, "a long one cut": {long[:len(long)-1], 0, true},
	} {
		r := Record{headers: test.headers}
		got := 0
		r.Headers(func(name, value []byte) {
			if got++; len(name)+len(value) == 3 && (string(name) != "a" || string(value) != "bb") {
				t.Errorf("%s: %q: %q", name, name, value)
			}
		})
		if got != test.want || r.HasHeaders() != test.some {
			t.Errorf("%s: %d headers, there are some: %t", name, got, r.HasHeaders())
		}
	}
	if (&Record{}).parse(make([]byte, fixedSize-1)) {
		t.Error("less than a record is one")
	}
	if !(&Record{}).parse(unsafe.Slice((*byte)(unsafe.Pointer(&make([]uint64, fixedSize/8+1)[0])), fixedSize)) {
		t.Error("a record without texts is none")
	}
}
