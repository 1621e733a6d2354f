package farm_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// unusable holds the number of unusable backends with priority 1, 2, 3 and so on.
func TestLevelsFollowTheContract(t *testing.T) {
	for _, c := range []struct {
		name     string
		unusable []int
		http, l4 int
	}{
		{"all can be used", nil, 1, 1},
		{"one unusable backend opens 2", []int{1}, 2, 2},
		{"two open 3", []int{2}, 3, 3},
		{"of 1 and 2: one after the other, or in one jump", []int{1, 1}, 3, 3},
		{"l4xnat jumps over 2, whose state does not matter", []int{2, 1}, 4, 3},
		{"and what is unusable there opens the next", []int{2, 0, 1}, 4, 4},
		{"a gap ends it", []int{1, 0, 1}, 2, 2},
		{"what is above 1 alone opens nothing", []int{0, 2, 2}, 1, 1},
		{"far", []int{1, 2, 0, 3, 0, 0, 1}, 8, 8},
		{"far, with jumps", []int{3, 9, 9, 2, 9, 1}, 34, 7},
	} {
		var u farm.Unusable
		copy(u[1:], c.unusable)
		if http, l4 := u.Level(), u.LevelL4(); http != c.http || l4 != c.l4 {
			t.Errorf("%s: levels %d and %d, want %d and %d", c.name, http, l4, c.http, c.l4)
		}
	}
}

// There may be more backends than priorities.
func TestLevelsBeyondTheLastPriority(t *testing.T) {
	var u farm.Unusable
	u[1], u[len(u)-1] = len(u)-2, 5
	if http, l4 := u.Level(), u.LevelL4(); http != len(u)+4 || l4 != len(u)+4 {
		t.Errorf("the last priority counts: levels %d and %d", http, l4)
	}
	u[1] = 1000
	if http, l4 := u.Level(), u.LevelL4(); http != 1006 || l4 != 1001 {
		t.Errorf("levels %d and %d", http, l4)
	}
}
