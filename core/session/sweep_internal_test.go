package session

import (
	"fmt"
	"testing"
	"time"
)

// A scan holds a lock for a fixed number of sessions, which takes microseconds, and
// none during yield.
func TestScansHoldALockForFewSessions(t *testing.T) {
	const n = 100_000
	table := New(5 << 18)
	buf := make([]byte, 0, 64)
	for i := range n {
		buf = fmt.Appendf(buf[:0], "%0*d", 32+32*(i%2), i)
		table.Put(buf, uint32(i%2), 0)
	}
	table.Range(func(s Session) bool {
		_, ok := table.Get(s.Key, 0, time.Minute)
		return ok
	})
	dropped, swept := 0, 0
	for k := range table.shards {
		s := &table.shards[k]
		for from, gone := s.n, 0; from > 0; dropped += gone {
			next := 0
			if next, gone = s.drop(from, func(e *entry) bool { return e.backend == 1 }); from-next > lockedFor {
				t.Fatalf("%d sessions under one lock", from-next)
			}
			from = next
		}
		for done := false; !done; {
			var looked, gone int
			looked, gone, done = s.sweep(int64(time.Hour), time.Minute, lockedFor)
			if swept += gone; looked > lockedFor {
				t.Fatalf("%d sessions under one lock", looked)
			}
		}
	}
	if dropped != n/2 || swept != n/2 || table.Len() != 0 {
		t.Errorf("%d dropped, %d swept, %d left of %d", dropped, swept, table.Len(), n)
	}
}

// Removing long keys frees their slots, and the limits of all shards add up to that of
// the table.
func TestLongKeysReleaseTheirMemory(t *testing.T) {
	table := New(10_000)
	s := &table.shards[0]
	key := func(i int) []byte { return fmt.Appendf(nil, "%0100d", i) }
	slots := func() (used, blocks int) {
		for c := range s.slabs {
			used, blocks = used+s.slabs[c].used, blocks+len(s.slabs[c].blocks)
		}
		return used, blocks
	}
	insert := func(i int) { s.insert(uint32(i), key(i), 1, 0) }
	insert(0)
	for i := range 100 {
		insert(i + 1)
		s.remove(1)
	}
	if used, _ := slots(); used != 2 {
		t.Errorf("%d slots for two keys at a time", used)
	}
	s.remove(0)
	if used, blocks := slots(); used != 0 || blocks != 0 {
		t.Errorf("%d slots in %d blocks for no key", used, blocks)
	}
	for i := range 20 * blockSize {
		insert(i)
	}
	for range 20 * blockSize {
		s.remove(0)
	}
	if len(s.blocks) > spare {
		t.Errorf("%d blocks for no session", len(s.blocks))
	}
	for _, n := range []int{1, 4097, 10_001} {
		table, all := New(n), 0
		for i := range table.shards {
			all += table.shards[i].limit
		}
		if all != n {
			t.Errorf("a table for %d has room for %d", n, all)
		}
	}
}

// The slot of a long key is the smallest that fits.
func TestSlotsFitTheirKeys(t *testing.T) {
	var table shard
	for length := inline + 1; length <= MaxKey; length++ {
		c, size := class(length)
		if rest := length - begin; rest > size || rest <= size-slotStep || c < 0 || c >= len(table.slabs) {
			t.Fatalf("a key of %d bytes is in slots of class %d with %d bytes, for %d", length, c, size, rest)
		}
	}
}
