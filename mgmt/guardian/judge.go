package guardian

import (
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
)

const (
	// soon is in how many intervals a backend that came up may not go down again
	// without being believed less the next time.
	soon = 10
	// mostDoubt bounds that: each time doubles what is asked for to come up.
	mostDoubt = 4
	// mostDamping bounds it in time, with long intervals too: a backend that has failed for
	// a while and works again is needed.
	mostDamping = 6 * time.Minute
)

// judge turns the results of one task into a verdict.
type judge struct {
	verdict health.State
	against int       // results in a row that contradict the verdict
	doubt   int       // how often it came up and went down soon
	since   time.Time // of the verdict
	// provisional: the verdict stands on less than the check asks for, because the
	// appliance was just started. One result that contradicts it turns it.
	provisional bool
	support     int // results in a row that agree with a provisional verdict
}

// take adds a result and reports whether the verdict changed. What nothing is known of
// is up with the first success; one that was down is up after several.
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

// steady reports whether it has been up for long.
func (j *judge) steady(at time.Time, c *farm.Check) bool {
	return j.verdict == health.Up && at.Sub(j.since) >= soon*interval(c)
}

// needed is how many results in a row turn the verdict.
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

// fromNothing is how many results in a row make a verdict where nothing is known.
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
