package timeline

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/changepoint"
	"github.com/sluicelb/sluice/mgmt/eventlog"
	"github.com/sluicelb/sluice/mgmt/recorder"
	"github.com/sluicelb/sluice/mgmt/timeseries"
)

// The least difference of a step: for latency, a factor of 1.5 and a millisecond; for
// errors, a factor of 1.5 and one request in a hundred.
var (
	ofLatency = changepoint.Bounds{Level: changepoint.Median, Ratio: 1.5, Difference: 0.001}
	ofErrors  = changepoint.Bounds{Level: changepoint.Mean, Ratio: 1.5, Difference: 0.01}
)

// fewest is how many requests both sides of a step must have: three say nothing.
const fewest = 50

// dense is the least share of a time with requests: windows that span hours with few
// requests have no step.
const dense = 0.25

// curve is one measured number of a farm or a backend, where it is known.
type curve struct {
	timeseries.Points
	rows   []int // in the points
	values []float64
	asked  []float64 // requests of the row
}

// curveOf returns a curve of the rows with requests.
func curveOf(p timeseries.Points, requests []float64, value func(row int) float64) (c curve) {
	c.Points = p
	for row, rate := range requests {
		n := rate * p.Step.Seconds()
		if v := value(row); n > 0 && !math.IsNaN(v) {
			c.rows, c.values, c.asked = append(c.rows, row), append(c.values, v), append(c.asked, n)
		}
	}
	return c
}

// step is a step of a curve.
type step struct {
	at            time.Time
	before, after float64
}

func (c *curve) steps(b changepoint.Bounds) (out []step) {
	for _, s := range changepoint.Steps(c.values, b) {
		from, to := max(0, s.At-s.Window), min(len(c.rows), s.At+s.Window)
		span := c.rows[to-1] - c.rows[from] + 1
		if c.count(from, s.At) < fewest || c.count(s.At, to) < fewest || float64(to-from) < dense*float64(span) {
			continue
		}
		out = append(out, step{c.Start.Add(time.Duration(c.rows[s.At]) * c.Step).UTC(), s.Before, s.After})
	}
	return out
}

func (c *curve) count(from, to int) (n float64) {
	for _, asked := range c.asked[from:to] {
		n += asked
	}
	return n
}

// withSteps adds the steps of farms, each with the events before it.
func (s Sources) withSteps(q Question, happened []Entry) ([]Entry, error) {
	out := happened
	for _, f := range q.farms() {
		of, backends, err := s.stepsOf(q, &f)
		if err != nil {
			return nil, err
		}
		for _, e := range of {
			e.Before = before(&e, f.ID, rowOf(q).Step, happened, backends)
			out = append(out, e)
		}
		for _, e := range backends {
			e.Before = before(&e, f.ID, rowOf(q).Step, happened, nil)
			out = append(out, e)
		}
	}
	return out, nil
}

// stepsOf returns the steps of a farm and of its backends.
func (s Sources) stepsOf(q Question, f *farm.Farm) (of, backends []Entry, err error) {
	names, asks := []string{"connections", "errors"}, "connections"
	switch f.Profile.Carries() {
	case farm.TrafficRequests:
		names, asks = []string{"requests", "errors", "p50"}, "requests"
	case farm.TrafficQueries:
		names, asks = []string{"requests", "errors"}, "requests"
	}
	for _, g := range f.Groups() {
		for _, b := range g.Backends() {
			names = append(names, recorder.OfBackend(b.ID, "requests"), recorder.OfBackend(b.ID, "errors"))
		}
	}
	// Windows need values on both sides, so values before the time are read as well.
	p, err := s.Numbers.Read(recorder.Farm(f.ID), numbersFrom(q), q.To, q.Now, names...)
	if errors.Is(err, timeseries.ErrNone) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	rows := map[string][]float64{}
	for i, name := range names {
		rows[name] = p.Values[i]
	}
	entry := Entry{Farm: f.Name, farms: []uint32{f.ID}}
	if p50 := rows["p50"]; p50 != nil {
		c := curveOf(p, rows[asks], func(row int) float64 { return p50[row] })
		of = entry.latency(of, c.steps(ofLatency))
	}
	of = entry.errors(of, shares(p, rows[asks], rows["errors"]))
	for _, g := range f.Groups() {
		for k, b := range g.Backends() {
			about := eventlog.About(g, k, "")
			one := Entry{Farm: f.Name, Service: about.Service, Backend: about.Backend, farms: entry.farms}
			backends = one.errors(backends, shares(p, rows[recorder.OfBackend(b.ID, "requests")], rows[recorder.OfBackend(b.ID, "errors")]))
		}
	}
	return of, backends, nil
}

// shares returns the steps in the share of failed requests.
func shares(p timeseries.Points, requests, failures []float64) []step {
	c := curveOf(p, requests, func(row int) float64 { return min(1, failures[row]/requests[row]) })
	return c.steps(ofErrors)
}

func (e Entry) latency(list []Entry, steps []step) []Entry {
	return e.each(list, steps, Latency, eventlog.Warning, "half of all requests took %s, and take %s since", shown)
}

func (e Entry) errors(list []Entry, steps []step) []Entry {
	return e.each(list, steps, Errors, eventlog.Error, "%s of requests failed, and %s do since", percent)
}

// each adds an entry for each step. An increase has the severity worse.
func (e Entry) each(list []Entry, steps []step, kind Kind, worse eventlog.Severity, text string, shown func(float64) string) []Entry {
	for _, s := range steps {
		e.Time, e.Kind, e.Severity = s.at, kind, eventlog.Info
		e.Text = fmt.Sprintf(text, shown(s.before), shown(s.after))
		if s.after > s.before {
			e.Severity = worse
		}
		list = append(list, e)
	}
	return list
}

func shown(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < 10*time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + " %" }
