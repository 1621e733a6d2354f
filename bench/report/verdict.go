package report

import (
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/bench/cases"
)

// Verdict returns the missed targets and the missing results, as "case contestant: reason".
// A contestant without the feature that a case measures needs no result.
func (r *Report) Verdict() (missed, unfinished []string) {
	for i := range r.Cases {
		c := &r.Cases[i]
		if c.Problem != "" {
			unfinished = append(unfinished, c.Name+": "+c.Problem)
		}
		for _, row := range c.Summary.Rows {
			if c.Problem == "" && row.Value.N == 0 && !row.Unsupported {
				unfinished = append(unfinished, fmt.Sprintf("%s %s: %s", c.Name, row.Contestant, strings.Join(row.Reasons, ", ")))
			}
			if row.Contestant == Subject && c.misses(row) {
				missed = append(missed, c.Name)
			}
		}
	}
	return missed, unfinished
}

func (c *Case) misses(r Row) bool {
	for ref, limit := range c.Targets {
		if ratio := r.Ratios[ref]; ratio.N > 0 && ratio.Median > limit {
			return true
		}
	}
	if extra := r.Extra[Plain]; c.Extra > 0 && extra.N > 0 && extra.Median > c.Extra {
		return true
	}
	return c.Kind == cases.Slow && r.Value.N > 0 && r.Value.Median > c.Limit
}

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
