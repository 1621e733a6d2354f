package witness

import (
	"slices"

	"github.com/sluicelb/sluice/bench/measure"
)

// Sample is one request: its due time on the monotonic clock, and its latency in ns.
type Sample struct {
	Due  int64 `json:"d"`
	Took int64 `json:"t"`
}

// Sift returns the samples that no stall affected, and the share of those left out, 0 …
// 1. Requests right after a stall queue behind the delayed ones, so each stall counts for
// twice its length.
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

// shadows returns the stalls of all witnesses, doubled in length, sorted and without
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
