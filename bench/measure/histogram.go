package measure

import (
	"math/bits"
	"time"
)

// Histogram counts durations in buckets whose width grows with the value, as
// HDR histograms do: 128 buckets per power of two, so a reported value is at
// most 0.8 % too high. Recording costs a few nanoseconds and never allocates.
// The zero value is empty and ready. Not safe for concurrent use.
type Histogram struct {
	counts [buckets]uint64
	total  uint64
	max    int64
}

const (
	subBits = 7 // 128 buckets per power of two
	subs    = 1 << subBits
	topBits = 41 // durations from 2^41 ns (37 minutes) on share the last bucket
	buckets = (topBits - subBits + 1) * subs
)

// bucket returns the index for a duration:
//
//	0 … 127          one bucket per nanosecond
//	2^k … 2^(k+1)-1  128 buckets of 2^(k-7) ns each, for k ≥ 7
func bucket(ns int64) int {
	if ns < subs {
		return int(max(ns, 0))
	}
	shift := bits.Len64(uint64(ns)) - subBits - 1
	return min((shift+1)*subs+int(ns>>shift)-subs, buckets-1)
}

// ceiling returns the highest duration of bucket i.
func ceiling(i int) int64 {
	if i < subs {
		return int64(i)
	}
	shift := i/subs - 1
	return int64(i%subs+subs+1)<<shift - 1
}

// Record counts one duration in nanoseconds; negative counts as 0.
func (h *Histogram) Record(ns int64) {
	h.counts[bucket(ns)]++
	h.total++
	h.max = max(h.max, ns)
}

// Count returns the number of recorded durations.
func (h *Histogram) Count() uint64 { return h.total }

// Max returns the exact maximum of the recorded durations.
func (h *Histogram) Max() time.Duration { return time.Duration(h.max) }

// Percentile returns the duration that p percent of the records (0 < p ≤ 100)
// do not exceed; 0 when nothing was recorded.
func (h *Histogram) Percentile(p float64) time.Duration {
	if h.total == 0 {
		return 0
	}
	rank := uint64(p/100*float64(h.total) + 0.999999)
	rank = min(max(rank, 1), h.total)
	var seen uint64
	for i, n := range h.counts {
		if seen += n; seen >= rank {
			return time.Duration(min(ceiling(i), h.max))
		}
	}
	return time.Duration(h.max)
}

// Merge adds the records of o.
func (h *Histogram) Merge(o *Histogram) {
	for i, n := range o.counts {
		h.counts[i] += n
	}
	h.total += o.total
	h.max = max(h.max, o.max)
}

// Sparse is the serialized form of a Histogram: the nonempty buckets as pairs of index
// and count, and the exact maximum in nanoseconds.
type Sparse struct {
	Buckets [][2]uint64 `json:"buckets,omitempty"`
	Max     int64       `json:"max,omitempty"`
}

// Sparse returns the histogram in its compact form.
func (h *Histogram) Sparse() Sparse {
	s := Sparse{Max: h.max}
	for i, n := range h.counts {
		if n > 0 {
			s.Buckets = append(s.Buckets, [2]uint64{uint64(i), n})
		}
	}
	return s
}

// Add adds the counts of a compact histogram. Indices out of range, which Sparse never
// returns, go to the last bucket.
func (h *Histogram) Add(s Sparse) {
	for _, b := range s.Buckets {
		h.counts[min(b[0], buckets-1)] += b[1]
		h.total += b[1]
	}
	h.max = max(h.max, s.Max)
}
