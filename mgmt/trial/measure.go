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

// totals are what of a farm only grows.
type totals struct {
	Answers  uint64          `json:"answers"`
	Failures uint64          `json:"failures"`
	Times    stats.Histogram `json:"times"`
}

// totalsOf reads those of a farm. Of one the kernel carries nothing is known here.
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

// since is what came after before; all of it where that is of another time.
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

// moment is what was counted of each farm when it was looked at, by name.
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

// How many answers are enough to judge. One failed answer alone is never judged.
const (
	EnoughAnswers = 20  // for errors
	EnoughTimes   = 100 // for times
	fewFailures   = 2
)

// verdict is what became of one condition.
type verdict struct {
	condition Condition
	// broken: it does not hold. judged: it could be told.
	broken, judged bool
	// measured is what was found, as "12.5% (25 of 200 answers)".
	measured string
}

// judge compares what was counted in a time with a condition about it.
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

// fewest is the farm with the fewest backends up.
func fewest(farms []*farm.Farm, health farmstate.Health) (name string, up int) {
	for i, f := range farms {
		if n := farmstate.Count(f, health).Up; i == 0 || n < up {
			name, up = f.Name, n
		}
	}
	return name, up
}
