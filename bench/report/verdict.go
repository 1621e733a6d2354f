package report

import "github.com/sluicelb/sluice/bench/cases"

// Verdict lists the targets that were missed and what has no result, as
// "case contestant".
func (r *Report) Verdict() (missed, unfinished []string) {
	for i := range r.Cases {
		c := &r.Cases[i]
		if c.Problem != "" {
			unfinished = append(unfinished, c.Name)
		}
		for _, row := range c.Summary.Rows {
			if c.Problem == "" && row.Value.N == 0 {
				unfinished = append(unfinished, c.Name+" "+row.Contestant)
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
