package report

import (
	"fmt"

	"github.com/sluicelb/sluice/bench/cases"
)

// Follow sets the target of a case that is bound to another one of the same run:
// no more than cases.LikeMargin above the ratio to HAProxy measured there.
func (c *Case) Follow(earlier []Case) {
	for i := range earlier {
		if c.Like == "" || earlier[i].Name != c.Like {
			continue
		}
		for _, row := range earlier[i].Summary.Rows {
			if ratio := row.Ratios[yardstick]; row.Contestant == Subject && ratio.N > 0 {
				c.Targets = map[string]float64{yardstick: ratio.Median + cases.LikeMargin}
			}
		}
	}
}

// yardstick is the contestant ratios of like cases are compared by.
const yardstick = "haproxy"

// unbound says why a case that is like another has no target.
func (c *Case) unbound() []string {
	if c.Like == "" || len(c.Targets) > 0 {
		return nil
	}
	return []string{fmt.Sprintf("the target is the ratio of %s in the same run and %.2f: run both", c.Like, cases.LikeMargin)}
}
