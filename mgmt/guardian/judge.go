package guardian

import (
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
)

const (
	// soon is a number of intervals. A backend that goes down again within them after it
	// came up needs more successes the next time.
	soon = 10
	// mostDoubt limits that: each time doubles the number of successes required to come up.
	mostDoubt = 4
	// mostDamping limits it in time, also for long intervals, since a backend that works
	// again is needed.
	mostDamping = 6 * time.Minute
)

// judge turns the results of one task into a verdict.
type judge struct {
	verdict health.State
	against int       // results in a row that contradict the verdict
	doubt   int       // how often it came up and went down soon
	since   time.Time // of the verdict
	// provisional: the verdict is based on fewer results than the check requires, because
	// the appliance was just started. One contradicting result changes it.
	provisional bool
	support     int // results in a row that agree with a provisional verdict
}

// take adds a result and reports whether the verdict changed. An unknown backend is up
// after the first success; one that was down is up after several.
func (j *judge) take(healthy bool, at time.Time, c *farm.Check) bool {
	if healthy == (j.verdict == health.Up) && j.verdict != health.Undefined {
		j.against = 0
		j.support++
		j.provisional = j.provisional && j.support < j.fromNothing(healthy, c)
		if j.steady(at, c) {
			j.doubt = 0
		}
		return false
	}
	if j.against++; j.against < j.needed(healthy, c) {
		return false
	}
	provisional := j.provisional && j.fromNothing(healthy, c) > 1
	defer func() { j.provisional, j.support = provisional, 1 }()
	switch {
	case healthy:
		j.turn(health.Up, at)
	case j.provisional:
		j.turn(health.Down, at)
	case j.verdict == health.Up && !j.steady(at, c):
		j.doubt = min(j.doubt+1, mostDoubt)
		j.turn(health.Down, at)
	default:
		j.turn(health.Down, at)
	}
	return true
}

// steady reports whether the backend has been up for long.
func (j *judge) steady(at time.Time, c *farm.Check) bool {
	return j.verdict == health.Up && at.Sub(j.since) >= soon*interval(c)
}

// needed returns how many results in a row change the verdict.
func (j *judge) needed(healthy bool, c *farm.Check) int {
	switch {
	case j.provisional:
		return 1
	case !healthy, j.verdict == health.Undefined:
		return j.fromNothing(healthy, c)
	}
	rise := int(c.EffectiveRise())
	return min(rise<<j.doubt, max(rise, int(mostDamping/interval(c))))
}

// fromNothing returns how many results in a row make a verdict if there is none.
func (j *judge) fromNothing(healthy bool, c *farm.Check) int {
	if healthy {
		return 1
	}
	return int(c.EffectiveFall())
}

func (j *judge) turn(to health.State, at time.Time) {
	j.verdict, j.against, j.since = to, 0, at
}

func interval(c *farm.Check) time.Duration {
	return time.Duration(c.EffectiveInterval()) * time.Second
}

func timeout(c *farm.Check) time.Duration {
	return time.Duration(c.EffectiveTimeout()) * time.Second
}
