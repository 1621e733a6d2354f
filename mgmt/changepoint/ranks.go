package changepoint

import (
	"math"
	"slices"
)

// deviation returns how far larger is from its expected value if n and m values have the
// same distribution. The unit is standard deviations. The argument larger is the number of
// pairs in which the second value is larger. The result is corrected for equal values; it
// is 0 if all are equal.
func deviation(larger, ties, n, m float64) float64 {
	all := n + m
	variance := n * m / 12 * (all + 1 - ties/(all*(all-1)))
	if variance <= 0 {
		return 0
	}
	return (larger - n*m/2) / math.Sqrt(variance)
}

// ranksOf returns the rank of each value, from 1 on. ties is the sum of t³-t over all
// groups of t equal values.
func ranksOf(values []float64) (ranks []float64, ties float64) {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case values[a] < values[b]:
			return -1
		case values[a] > values[b]:
			return 1
		}
		return 0
	})
	ranks = make([]float64, len(values))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			ranks[i] = float64(from+to+1) / 2
		}
		t := float64(to - from)
		ties += t*t*t - t
		from = to
	}
	return ranks, ties
}

// pettitt returns the position of the clearest change: the index of the first value after
// it, which is never 0.
func pettitt(values []float64) (at int) {
	ranks, _ := ranksOf(values)
	at, most, u := 1, -1.0, 0.0
	for i, r := range ranks[:len(ranks)-1] {
		u += 2*r - float64(len(values)+1)
		if math.Abs(u) > most {
			at, most = i+1, math.Abs(u)
		}
	}
	return at
}
