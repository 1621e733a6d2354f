package outlier

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/stats"
)

// Least is the minimum difference from the other backends' times for a backend to be called
// slow. Below it, a factor of two is noise.
const Least = 10 * time.Millisecond

// Limits are a service's limits for its backends.
type Limits struct {
	Rate     int    // failures in percent of requests; 0: unlimited
	Slow     int    // factor over the time of the others; 0: unlimited
	Requests uint64 // minimum number of requests for a judgement
}

// Count holds a backend's counts in a time window.
type Count struct {
	Requests  uint64          // with a response, or failed without one
	Failures  uint64          // see stats.Backend
	FirstByte stats.Histogram // of final responses
}

// CountOf returns a backend's counts since its counters were reset. It omits 501 and 505
// responses, which do not indicate its quality.
func CountOf(b *stats.Backend, t *stats.Times) Count {
	c := Count{Failures: b.Failures, FirstByte: t.FirstByte}
	for _, n := range b.Responses[1:4] { // 2xx to 4xx; 5xx count as failures
		c.Requests += n
	}
	c.Requests += b.Failures
	return c
}

// Since returns the counts since before, or zero if the counters were reset in between.
func (c *Count) Since(before *Count) Count {
	if c.Requests < before.Requests || c.Failures < before.Failures {
		return Count{}
	}
	return Count{Requests: c.Requests - before.Requests, Failures: c.Failures - before.Failures, FirstByte: c.FirstByte.Since(&before.FirstByte)}
}

// rate returns the percentage of failed requests.
func (c *Count) rate() float64 { return 100 * float64(c.Failures) / float64(max(c.Requests, 1)) }

// Finding is an outlier.
type Finding struct {
	Index int // index in the counts
	Cause health.Cause
	Why   string  // in words, with the numbers
	worse float64 // factor over the limit
}

// Find returns the outliers, worst first. Backends with a zero Count are ignored.
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

// failing reports a backend above the rate, unless all others with requests are, too.
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

// slow reports a backend whose median is too far above the others'.
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

// round rounds to three digits.
func round(d time.Duration) time.Duration {
	for unit := time.Duration(1); ; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit)
		}
	}
}
