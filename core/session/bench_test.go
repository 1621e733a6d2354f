//go:build !race

package session_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strconv"
	"testing"

	"github.com/sluicelb/sluice/core/session"
)

func TestGetAllocatesNothing(t *testing.T) {
	table := session.New(100_000)
	for i := range 1000 {
		table.Put(key(i), 1, 0)
	}
	short, long, missing := key(1), key(3), key(5000)
	if n := testing.AllocsPerRun(100, func() {
		table.Get(short, 1, ttl)
		table.Get(long, 1, ttl)
		table.Get(missing, 1, ttl)
		table.Put(short, 2, 1)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A session takes at most 200 bytes with a key of up to 132 bytes. This holds for
// tables of many shards with keys of any length, and for a table of a million with the
// longest keys.
func TestSessionsTakeAtMost200BytesEach(t *testing.T) {
	for _, c := range []struct{ length, n int }{{9, 50_000}, {16, 50_000}, {40, 50_000}, {41, 50_000}, {64, 50_000}, {100, 50_000}, {132, 1_000_000}} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		table := session.New(c.n + c.n/4)
		key := bytes.Repeat([]byte{'0'}, c.length)
		for i := range uint64(c.n) {
			copy(key[c.length-9:], strconv.AppendUint(nil, 100_000_000+i, 10))
			table.Put(key, uint32(i%4), int64(i))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		each := float64(after.HeapAlloc-before.HeapAlloc) / float64(c.n)
		t.Logf("%d keys of %d bytes: %.0f bytes each", c.n, c.length, each)
		if kept := table.Len(); each > 200 || kept != c.n {
			t.Errorf("%d keys of %d bytes: %.0f bytes each, %d kept", c.n, c.length, each, kept)
		}
	}
}

func BenchmarkGet(b *testing.B) {
	table := session.New(1_000_000)
	keys := make([][]byte, 1<<14)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "%032d", i)
		table.Put(keys[i], 1, 0)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			if _, ok := table.Get(keys[i%len(keys)], 1, ttl); !ok {
				b.Fatal("lost")
			}
		}
	})
}

// BenchmarkMillion fills a table once per run and reports its memory.
func BenchmarkMillion(b *testing.B) {
	const n = 1_000_000
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		table := session.New(2 * n)
		key := make([]byte, 0, 32)
		for i := range n {
			key = fmt.Appendf(key[:0], "%032d", i)
			table.Put(key, 1, int64(i))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/session")
		if table.Len() != n {
			b.Fatal("sessions were lost")
		}
	}
}
