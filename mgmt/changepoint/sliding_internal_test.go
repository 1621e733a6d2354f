package changepoint

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Windows that were moved have the same score as newly sorted ones, with and without equal
// values.
func TestSlidingScoresEqualSortedScores(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, kinds := range []int{2, 5, 1000} {
		values := make([]float64, 200)
		for i := range values {
			values[i] = float64(r.IntN(kinds))
		}
		for _, w := range []int{16, 48} {
			got := newSliding(values).scores(w)
			for i := range got {
				want := 0.0
				if i >= w && i+w <= len(values) {
					want = math.Abs(byRanks(values[i-w:i], values[i:i+w]))
				}
				if math.Abs(got[i]-want) > 1e-9 {
					t.Fatalf("%d kinds of values, windows of %d at %d: %v, want %v", kinds, w, i, got[i], want)
				}
			}
		}
	}
}

func byRanks(before, after []float64) float64 {
	n, m := float64(len(before)), float64(len(after))
	ranks, ties := ranksOf(slices.Concat(before, after))
	sum := 0.0
	for _, r := range ranks[len(before):] {
		sum += r
	}
	return deviation(sum-m*(m+1)/2, ties, n, m)
}
