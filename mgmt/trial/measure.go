package trial

import (
	"fmt"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/farmstate"
)

// Counters sums the counters of all loops; *stats.Segment implements it.
type Counters interface {
	SumFarm(id uint32) stats.Farm
	SumFarmTimes(id uint32) stats.Times
}

// totals holds the counters of a farm, which only grow.
type totals struct {
	Answers  uint64          `json:"answers"`
	Failures uint64          `json:"failures"`
	Times    stats.Histogram `json:"times"`
}

// totalsOf reads the counters of a farm. A farm in the kernel has none here.
func totalsOf(c Counters, f *farm.Farm) totals {
	sum := c.SumFarm(f.ID)
	switch {
	case f.InKernel():
		return totals{}
	case f.Profile.Carries() == farm.TrafficConnections:
		return totals{Answers: sum.Connections, Failures: sum.NoBackend + sum.BackendErrors}
	case f.Profile.Carries() == farm.TrafficQueries:
		return totals{Answers: sum.Queries, Failures: sum.ServFails}
	}
	out := totals{Failures: sum.Responses[4], Times: c.SumFarmTimes(f.ID).Total}
	for _, n := range sum.Responses[1:] {
		out.Answers += n
	}
	return out
}

// since returns the difference to before, or all of t if the counters were reset in
// between.
func (t totals) since(before totals) totals {
	if t.Answers < before.Answers || t.Failures < before.Failures {
		return t
	}
	return totals{t.Answers - before.Answers, t.Failures - before.Failures, t.Times.Since(&before.Times)}
}

func (t totals) plus(other totals) totals {
	t.Answers += other.Answers
	t.Failures += other.Failures
	for i, n := range other.Times.Counts {
		t.Times.Counts[i] += n
	}
	t.Times.Nanos += other.Times.Nanos
	return t
}

// moment holds the counters of each farm at one time, by name.
type moment struct {
	at    time.Time
	farms map[string]totals
}

func (m moment) since(before map[string]totals) (out totals) {
	for name, now := range m.farms {
		out = out.plus(now.since(before[name]))
	}
	return out
}

// The number of answers required to judge. One failed answer alone is never judged.
const (
	EnoughAnswers = 20  // for errors
	EnoughTimes   = 100 // for times
	fewFailures   = 2
)

// verdict is the result of one condition.
type verdict struct {
	condition Condition
	// broken: the condition is not met. judged: there were enough answers.
	broken, judged bool
	// measured is the measured value, e.g. "12.5% (25 of 200 answers)".
	measured string
}

// judge compares counters with a condition.
func judge(c Condition, t totals) verdict {
	v := verdict{condition: c}
	switch share, isTime := quantiles[c.Metric]; {
	case c.Metric == Errors && t.Answers == 0:
		v.measured = "nothing was answered"
	case c.Metric == Errors:
		is := float64(t.Failures) / float64(t.Answers)
		v.measured = fmt.Sprintf("%.3g%% (%d of %d answers)", 100*is, t.Failures, t.Answers)
		v.judged = t.Answers >= EnoughAnswers
		v.broken = v.judged && t.Failures >= fewFailures && !c.holds(is)
	case isTime:
		is, known := t.Times.Quantile(share)
		v.measured = fmt.Sprintf("%v (of %d exchanges)", is.Round(10*time.Microsecond), t.Times.Count())
		v.judged = known && t.Times.Count() >= EnoughTimes
		v.broken = v.judged && !c.holds(is.Seconds())
	}
	return v
}

// fewest returns the farm with the fewest backends up.
func fewest(farms []*farm.Farm, health farmstate.Health) (name string, up int) {
	for i, f := range farms {
		if n := farmstate.Count(f, health).Up; i == 0 || n < up {
			name, up = f.Name, n
		}
	}
	return name, up
}
