package changepoint

import (
	"math"
	"slices"
)

// Step is a change of level.
type Step struct {
	// At is the position of the first value of the new level.
	At            int
	Before, After float64
	// Window is the number of values on either side on which the step is based.
	Window int
}

// Bounds are the conditions for a step.
type Bounds struct {
	// Level returns the level of a window: Median, or Mean if most values are equal.
	Level func([]float64) float64
	// Ratio is the least ratio of the larger level to the smaller one, Difference their
	// least difference.
	Ratio, Difference float64
}

// windows are the lengths that are tried. Two of the shortest without overlap are just
// unlikely enough not to be chance.
var windows = [...]int{16, 48, 144}

// unlikely is the least deviation of windows with different levels, in standard deviations:
// about 7 in a million by chance, with some thousand tries.
const unlikely = 4.5

// Steps finds the changes of level, in their order. Values must not be NaN. Fewer values
// than two of the shortest windows have no step.
func Steps(values []float64, b Bounds) (found []Step) {
	if len(values) < 2*windows[0] {
		return nil
	}
	slide := newSliding(values)
	for _, w := range windows {
		for _, c := range candidates(slide.scores(w), w) {
			near := func(s Step) bool { return abs(s.At-c) < max(w, s.Window) }
			if slices.ContainsFunc(found, near) {
				continue
			}
			if s, is := b.step(values, c, w); is && !slices.ContainsFunc(found, func(f Step) bool { return abs(f.At-s.At) < max(w, f.Window) }) {
				found = append(found, s)
			}
		}
	}
	slices.SortFunc(found, func(a, b Step) int { return a.At - b.At })
	return found
}

// candidates returns the positions where windows of that length differ most, the most
// unlikely one first.
func candidates(scores []float64, w int) (at []int) {
	for i, score := range scores {
		if score >= unlikely && score >= slices.Max(scores[max(0, i-w):min(i+w, len(scores))]) {
			at = append(at, i)
		}
	}
	slices.SortStableFunc(at, func(a, b int) int {
		switch {
		case scores[a] > scores[b]:
			return -1
		case scores[a] < scores[b]:
			return 1
		}
		return 0
	})
	return at
}

// step returns the step within w values on either side of a position, if there is one.
func (b Bounds) step(values []float64, at, w int) (Step, bool) {
	from := at - w
	at = from + pettitt(values[from:at+w])
	before, after := values[max(0, at-w):at], values[at:min(at+w, len(values))]
	s := Step{At: at, Before: b.Level(before), After: b.Level(after), Window: w}
	return s, b.large(s.Before, s.After) && b.sharp(s, before, after)
}

func (b Bounds) large(x, y float64) bool {
	low, high := min(x, y), max(x, y)
	return high >= low*b.Ratio && high-low >= b.Difference
}

// sharp reports whether more than half of the difference is close to the step.
func (b Bounds) sharp(s Step, before, after []float64) bool {
	near := min(windows[0], len(before), len(after))
	was, is := b.Level(before[len(before)-near:]), b.Level(after[:near])
	return (is-was)*(s.After-s.Before) > 0 && math.Abs(is-was) > math.Abs(s.After-s.Before)/2
}

func abs(n int) int { return max(n, -n) }

// Median returns the median: nearly half of the values may be outliers.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// Mean is the arithmetic mean.
func Mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
