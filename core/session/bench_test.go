//go:build !race

package session_test

import (
	"fmt"
	"runtime"
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

// Sessions take at most 200 bytes each, those with keys of up to 132 bytes.
func TestSessionsAreSmall(t *testing.T) {
	const n = 100_000
	for _, length := range []int{16, 40, 41, 100, 132} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		table := session.New(2 * n)
		key := make([]byte, 0, length)
		for i := range n {
			key = fmt.Appendf(key[:0], "%0*d", length, i)
			table.Put(key, 1, int64(i))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		each := float64(after.HeapAlloc-before.HeapAlloc) / n
		t.Logf("keys of %d bytes: %.0f bytes each", length, each)
		if each > 200 {
			t.Errorf("keys of %d bytes: %.0f bytes each", length, each)
		}
		runtime.KeepAlive(table)
	}
}

// A million sessions by what clients are recognised by in practice.
func TestAMillionSessionsTakeAtMost200BytesEach(t *testing.T) {
	const n = 1_000_000
	for name, key := range map[string]func(dst []byte, i uint64) []byte{
		"addresses": func(dst []byte, i uint64) []byte {
			return fmt.Appendf(dst, "%d.%d.%d.%d", 10+i>>22&127, i>>14&255, i>>6&255, i&63)
		},
		"IPv6 addresses":       func(dst []byte, i uint64) []byte { return fmt.Appendf(dst, "2001:db8::%x:%x", i>>12, i&4095) },
		"cookies of 32 bytes":  func(dst []byte, i uint64) []byte { return fmt.Appendf(dst, "%032x", i*0x9e3779b97f4a7c15) },
		"cookies of 64 bytes":  func(dst []byte, i uint64) []byte { return fmt.Appendf(dst, "%064x", i*0x9e3779b97f4a7c15) },
		"cookies of 128 bytes": func(dst []byte, i uint64) []byte { return fmt.Appendf(dst, "%0128x", i*0x9e3779b97f4a7c15) },
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		table := session.New(5 << 18)
		buf := make([]byte, 0, 128)
		for i := range uint64(n) {
			buf = key(buf[:0], i)
			table.Put(buf, uint32(i%4), int64(i))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		each := float64(after.HeapAlloc-before.HeapAlloc) / n
		t.Logf("%s: %.0f bytes each", name, each)
		if kept := table.Len(); each > 200 || kept != n {
			t.Errorf("%s: %.0f bytes each, %d of %d kept", name, each, kept, n)
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

// BenchmarkMillion fills a table once per run and tells what it takes.
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
