package proxytest

import (
	"cmp"
	"os"
	"slices"
	"testing"
)

// Wanted skips a measurement unless SLUICE_BENCH is set.
func Wanted(t testing.TB) {
	t.Helper()
	if os.Getenv("SLUICE_BENCH") == "" {
		t.Skip("measures for minutes: make bench does it")
	}
}

// Order returns the order of n sides in a round. Over the rounds each is first as often
// as last.
func Order(round, n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = (round/2 + i) % n
		if round%2 == 1 {
			order[i] = n - 1 - order[i]
		}
	}
	return order
}

// Median returns the median of a list, which it does not modify.
func Median[T cmp.Ordered](list []T) T {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}
