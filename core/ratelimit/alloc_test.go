//go:build !race

package ratelimit_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/ratelimit"
)

func TestTakeAllocatesNothing(t *testing.T) {
	limit, table := ratelimit.New(100, time.Second, 100), ratelimit.NewTable()
	a, path, now := netip.MustParseAddr("2001:db8::1"), []byte("/path"), second
	if n := testing.AllocsPerRun(1000, func() {
		now += second / 200
		table.Take(table.Address(a), now, limit)
		table.Take(table.Text(path), now, limit)
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func BenchmarkTake(b *testing.B) {
	limit, table := ratelimit.New(100, time.Second, 100), ratelimit.NewTable()
	a, now := netip.MustParseAddr("192.0.2.1"), second
	b.ReportAllocs()
	for b.Loop() {
		now += 1000
		table.Take(table.Address(a), now, limit)
	}
}

// BenchmarkTakeManyKeys causes cache misses.
func BenchmarkTakeManyKeys(b *testing.B) {
	limit, table := ratelimit.New(100, time.Second, 100), ratelimit.NewTable()
	var address [4]byte
	now := second
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		now += 1000
		address[0], address[1] = byte(i), byte(i>>8)
		table.Take(table.Address(netip.AddrFrom4(address)), now, limit)
	}
}
