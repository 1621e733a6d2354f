package proxytest_test

import (
	"testing"

	"github.com/sluicelb/sluice/bench/proxytest"
)

func TestEachSideIsFirstAsOftenAsLast(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4} {
		first, last := make([]int, n), make([]int, n)
		for round := range 2 * n {
			order, seen := proxytest.Order(round, n), make([]bool, n)
			for _, side := range order {
				if seen[side] {
					t.Errorf("round %d: %v", round, order)
				}
				seen[side] = true
			}
			first[order[0]]++
			last[order[n-1]]++
		}
		for side := range n {
			if first[side] != 2 || last[side] != 2 {
				t.Errorf("%d sides: %v are first, %v last", n, first, last)
			}
		}
	}
}

func TestMedianDoesNotSortTheList(t *testing.T) {
	list := []int64{9, 1, 5, 7}
	if got := proxytest.Median(list); got != 7 || list[0] != 9 {
		t.Errorf("%d of %v", got, list)
	}
}
