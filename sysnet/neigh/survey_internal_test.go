package neigh

import (
	"errors"
	"testing"

	"github.com/vishvananda/netlink"
)

// If the table changes during every attempt, the result of the last one is used.
func TestATableThatChangesIsReadAgainAFewTimes(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		torn, asked int
		then        error
	}{
		"at once": {0, 1, nil}, "the third time": {2, 3, nil}, "the last time": {4, 5, nil}, "never": {99, 5, nil}, "an error": {0, 1, broken}, "an error later": {3, 4, broken},
	} {
		n := 0
		all, err := whole(func() ([]int, error) {
			if n++; n <= c.torn {
				return []int{n}, netlink.ErrDumpInterrupted
			}
			return []int{n}, c.then
		})
		if n != c.asked || !errors.Is(err, c.then) || c.then == nil && err != nil || len(all) != 1 || all[0] != c.asked {
			t.Errorf("%s: %d queries, %v, %v", name, n, all, err)
		}
	}
}
