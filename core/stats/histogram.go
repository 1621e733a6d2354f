package stats

import (
	"math/bits"
	"time"
)

// The buckets of a histogram end at powers of two: 32.768 µs, twice as much,
// and so on to 68.7 s; the last one holds what is longer.
const (
	// Buckets is the number of buckets that have an end.
	Buckets = 22
	// firstBits is the length of the first bound's exponent: 1<<15 ns.
	firstBits = 15
)

// Bound is where bucket i, 0 … Buckets-1, ends: durations up to it, itself
// included, are in the buckets up to i.
func Bound(i int) time.Duration { return 1 << (firstBits + i) }

// Histogram counts durations by size. 192 bytes.
type Histogram struct {
	// Counts is by bucket; the last is what is longer than all bounds.
	Counts [Buckets + 1]uint64
	// Nanos is the sum of all.
	Nanos uint64
}

// Observe counts a duration in nanoseconds. A clock that went back counts as 0.
func (h *Histogram) Observe(nanos int64) {
	n := uint64(max(nanos, 1))
	h.Counts[min(bits.Len64((n-1)>>firstBits), Buckets)]++
	h.Nanos += n
}

// Count is how many durations there are.
func (h *Histogram) Count() (n uint64) {
	for _, c := range h.Counts {
		n += c
	}
	return n
}

// Times are how long the exchanges of a farm or a backend took on one loop. For
// a farm they begin with the complete request head, for a backend when the
// request is sent. Tunnels have a first byte, but no total. 512 bytes: a
// multiple of the cache line that divides the page.
type Times struct {
	FirstByte Histogram // to the head of the final response
	Total     Histogram // to the last byte of the response
	_         [16]uint64
}
