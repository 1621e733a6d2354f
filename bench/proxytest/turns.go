package proxytest

import (
	"cmp"
	"os"
	"slices"
	"testing"
)

// Wanted skips a test that measures unless that is asked for.
func Wanted(t testing.TB) {
	t.Helper()
	if os.Getenv("SLUICE_BENCH") == "" {
		t.Skip("measures for minutes: make bench does it")
	}
}

// Order is in which order n sides have their turns in a round: over the rounds
// each is first as often as last.
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

// Median of a list, which stays as it is.
func Median[T cmp.Ordered](list []T) T {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}
