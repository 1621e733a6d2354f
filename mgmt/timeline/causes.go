package timeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/sluicelb/sluice/mgmt/eventlog"
	"github.com/sluicelb/sluice/mgmt/timeseries"
)

// mostCauses is how many causes of a step are named.
const mostCauses = 5

// lookback is how long before a time may have been what led to what came then. It is
// longer where numbers are further apart.
func lookback(q Question) time.Duration { return reach(rowOf(q).Step) }

func reach(row time.Duration) time.Duration { return max(10*time.Minute, 5*row) }

// rowOf is how close together the numbers of a time are kept.
func rowOf(q Question) timeseries.Resolution {
	for _, r := range timeseries.Resolutions {
		if q.Now.Sub(q.From) <= r.Keeps() {
			return r
		}
	}
	return timeseries.Resolutions[len(timeseries.Resolutions)-1]
}

// numbersFrom is when the numbers begin that are read for a time: as early as there are
// some as close together.
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

// before is what may have led to a step of a farm: what happened in the time before it,
// up to two rows later, because that is how sure its time is.
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

// rank is how likely something is the cause of what became of a farm, the likeliest is
// the lowest.
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
