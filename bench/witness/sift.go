package witness

import (
	"slices"

	"github.com/sluicelb/sluice/bench/measure"
)

// Sample is one request: when it was due on the monotonic clock, and how many
// nanoseconds later its answer was complete.
type Sample struct {
	Due  int64 `json:"d"`
	Took int64 `json:"t"`
}

// Sift counts the samples that no stall touched; the share of all samples that
// were left out is 0 … 1. What comes right after a stall waits behind what the
// stall held up: each stall casts a shadow of its own length.
func Sift(samples []Sample, stalls []Stall) (kept measure.Histogram, left float64) {
	shadows := shadows(stalls)
	out := 0
	for _, s := range samples {
		if touched(shadows, s.Due, s.Due+s.Took) {
			out++
			continue
		}
		kept.Record(s.Took)
	}
	return kept, float64(out) / float64(max(len(samples), 1))
}

// shadows returns the stalls of all witnesses, lengthened, in order and without
// overlaps.
func shadows(stalls []Stall) []Stall {
	long := make([]Stall, len(stalls))
	for i, s := range stalls {
		long[i] = Stall{From: s.From, To: s.To + (s.To - s.From)}
	}
	slices.SortFunc(long, func(a, b Stall) int { return int(min(max(a.From-b.From, -1), 1)) })
	var out []Stall
	for _, s := range long {
		if n := len(out); n > 0 && s.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, s.To)
			continue
		}
		out = append(out, s)
	}
	return out
}

// touched reports whether any of the ordered, disjoint stalls overlaps from … to.
func touched(ordered []Stall, from, to int64) bool {
	i, _ := slices.BinarySearchFunc(ordered, from, func(s Stall, t int64) int { return int(min(max(s.To-t, -1), 1)) })
	return i < len(ordered) && ordered[i].From <= to
}
