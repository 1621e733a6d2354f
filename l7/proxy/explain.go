package proxy

import (
	"github.com/sluicelb/sluice/core/explain"
	asked "github.com/sluicelb/sluice/l7/explain"
)

// Explain says what would become of a request if it came now, see l7/explain.
func (e *Engine) Explain(q *explain.Question) (*explain.Explanation, error) {
	x := asked.Engine{Table: e.table.Load(), Segment: e.Segment, Checker: e.checker}
	return x.Explain(q)
}
