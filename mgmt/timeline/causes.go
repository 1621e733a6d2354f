package timeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/sluicelb/sluice/mgmt/eventlog"
	"github.com/sluicelb/sluice/mgmt/timeseries"
)

// mostCauses is how many causes of a step are listed.
const mostCauses = 5

// lookback returns how long before a time a cause may be. It is longer if the data points
// are further apart.
func lookback(q Question) time.Duration { return reach(rowOf(q).Step) }

func reach(row time.Duration) time.Duration { return max(10*time.Minute, 5*row) }

// rowOf returns the resolution in which the numbers of a time are kept.
func rowOf(q Question) timeseries.Resolution {
	for _, r := range timeseries.Resolutions {
		if q.Now.Sub(q.From) <= r.Keeps() {
			return r
		}
	}
	return timeseries.Resolutions[len(timeseries.Resolutions)-1]
}

// numbersFrom returns the start of the numbers to read for a time: as early as there are
// numbers in that resolution.
func numbersFrom(q Question) time.Time {
	from, oldest := q.From.Add(-lookback(q)), q.Now.Add(-rowOf(q).Keeps())
	if from.Before(oldest) && q.From.After(oldest) {
		return oldest
	}
	if from.Before(oldest) {
		return q.From
	}
	return from
}

// before returns possible causes of a step of a farm: events in the time before it, and up
// to two rows later, since that is the precision of its time.
func before(e *Entry, farm uint32, row time.Duration, lists ...[]Entry) []Cause {
	type candidate struct {
		*Entry
		rank int
		away time.Duration
	}
	var found []candidate
	for _, list := range lists {
		for i := range list {
			one := &list[i]
			away := e.Time.Sub(one.Time)
			if away > reach(row) || away < -2*row {
				continue
			}
			found = append(found, candidate{one, rank(one, farm), away.Abs()})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.away, b.away))
	})
	var out []Cause
	for _, c := range found[:min(len(found), mostCauses)] {
		out = append(out, Cause{Time: c.Time, Seconds: int(e.Time.Sub(c.Time).Round(time.Second) / time.Second), Kind: c.Kind,
			Farm: c.Farm, Service: c.Service, Backend: c.Backend, Text: c.Text, Revision: c.Revision})
	}
	return out
}

// rank returns how likely an event is the cause of a farm's step; the likeliest has the
// lowest rank.
func rank(e *Entry, farm uint32) int {
	switch own := slices.Contains(e.farms, farm); {
	case own && e.Kind == Kind(eventlog.Revision):
		return 0
	case own && (e.Kind == Kind(eventlog.Health) || e.Kind == Kind(eventlog.Maintenance)) && e.Backend != "":
		return 1
	case own:
		return 2
	case e.Kind == Kind(eventlog.Engine) || e.Kind == Kind(eventlog.Appliance):
		return 3
	}
	return 4
}
