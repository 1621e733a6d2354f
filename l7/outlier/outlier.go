package outlier

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/stats"
)

// Least is by how much more than the others a backend's answers must take to be
// called slow: below it, twice as long is noise.
const Least = 10 * time.Millisecond

// Limits are what a service allows its backends.
type Limits struct {
	Rate     int    // failures in a hundred requests; 0 allows all
	Slow     int    // times as long as the others take; 0 allows any
	Requests uint64 // below which the counts of a backend say nothing
}

// Count is what a backend did in a window of time.
type Count struct {
	Requests  uint64          // answered, and failed without an answer
	Failures  uint64          // of them, see stats.Backend
	FirstByte stats.Histogram // of final answers
}

// CountOf is what a backend did since its counters were wiped. Answers of 501 and 505, which
// say nothing of it, are left out.
func CountOf(b *stats.Backend, t *stats.Times) Count {
	c := Count{Failures: b.Failures, FirstByte: t.FirstByte}
	for _, n := range b.Responses[1:4] { // 2xx to 4xx; those of 5xx are failures
		c.Requests += n
	}
	c.Requests += b.Failures
	return c
}

// Since is what was counted after before; nothing where the counters were wiped between.
func (c *Count) Since(before *Count) Count {
	if c.Requests < before.Requests || c.Failures < before.Failures {
		return Count{}
	}
	return Count{Requests: c.Requests - before.Requests, Failures: c.Failures - before.Failures, FirstByte: c.FirstByte.Since(&before.FirstByte)}
}

// rate is how many of a hundred requests failed.
func (c *Count) rate() float64 { return 100 * float64(c.Failures) / float64(max(c.Requests, 1)) }

// Finding is a backend that stands out.
type Finding struct {
	Index int // among the counts
	Cause health.Cause
	Why   string  // in words, with the numbers
	worse float64 // than the limit, in times
}

// Find lists the backends that stand out, the worst first. Backends that are not to be
// looked at have a zero Count.
func (l *Limits) Find(counts []Count) []Finding {
	var out []Finding
	for i := range counts {
		if counts[i].Requests < max(l.Requests, 1) {
			continue
		}
		if f, is := l.failing(counts, i); is {
			out = append(out, f)
		} else if f, is := l.slow(counts, i); is {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Cause, b.Cause), cmp.Compare(b.worse, a.worse))
	})
	return out
}

// failing reports a backend over the rate, unless all others with requests are too.
func (l *Limits) failing(counts []Count, i int) (Finding, bool) {
	c, limit := &counts[i], float64(l.Rate)
	if l.Rate == 0 || c.rate() <= limit {
		return Finding{}, false
	}
	others, well := 0, 0
	for k := range counts {
		if k == i || counts[k].Requests == 0 {
			continue
		}
		if others++; counts[k].rate() <= limit {
			well++
		}
	}
	if others > 0 && well == 0 {
		return Finding{}, false
	}
	return Finding{
		Index: i, Cause: health.CauseRate, worse: c.rate() / limit,
		Why: fmt.Sprintf("%d of %d requests failed, more than %d %%", c.Failures, c.Requests, l.Rate),
	}, true
}

// slow reports a backend whose median is too far above that of the others.
func (l *Limits) slow(counts []Count, i int) (Finding, bool) {
	own, known := counts[i].FirstByte.Quantile(0.5)
	if l.Slow == 0 || !known {
		return Finding{}, false
	}
	var others []time.Duration
	for k := range counts {
		if k == i || counts[k].Requests < l.Requests {
			continue
		}
		if d, known := counts[k].FirstByte.Quantile(0.5); known {
			others = append(others, d)
		}
	}
	if len(others) == 0 {
		return Finding{}, false
	}
	slices.Sort(others)
	usual := others[(len(others)-1)/2]
	if own < usual+Least || own <= time.Duration(l.Slow)*usual {
		return Finding{}, false
	}
	return Finding{
		Index: i, Cause: health.CauseSlow, worse: float64(own) / float64(usual),
		Why: fmt.Sprintf("half of its answers took more than %s, those of others %s", round(own), round(usual)),
	}, true
}

// round leaves three digits.
func round(d time.Duration) time.Duration {
	for unit := time.Duration(1); ; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit)
		}
	}
}
