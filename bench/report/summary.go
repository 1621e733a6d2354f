package report

import (
	"slices"

	"github.com/sluicelb/sluice/bench/cases"
	"github.com/sluicelb/sluice/bench/measure"
)

const (
	// ForeignLimit is the maximum foreign load of a clean round, in CPUs.
	ForeignLimit = 0.15
	// enoughClean is the number of clean rounds from which the others are ignored.
	enoughClean = 5
)

// Spread is the median of N rounds with their range.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	N      int     `json:"n"`
}

// NewSpread returns the spread of values; the zero Spread if there are none.
func NewSpread(values []float64) Spread {
	n := len(values)
	if n == 0 {
		return Spread{}
	}
	s := slices.Sorted(slices.Values(values))
	median := s[n/2]
	if n%2 == 0 {
		median = (s[n/2-1] + s[n/2]) / 2
	}
	return Spread{Median: median, Min: s[0], Max: s[n-1], N: n}
}

// Summary is the summary of the rounds of a case.
type Summary struct {
	Unit string `json:"unit"` // of the values
	// Used and Total count rounds: loaded ones are ignored if enough clean ones remain.
	// Contended is true if loaded rounds had to be used.
	Used      int   `json:"used"`
	Total     int   `json:"total"`
	Contended bool  `json:"contended,omitempty"`
	Rows      []Row `json:"rows"`
}

// Row is one contestant over the used rounds.
type Row struct {
	Contestant string `json:"contestant"`
	Value      Spread `json:"value"`
	// Ratios are value ÷ value of the named contestant, computed per round.
	Ratios map[string]Spread `json:"ratios,omitempty"`
	// Extra is value − value of the named contestant, computed per round.
	Extra   map[string]Spread `json:"extra,omitempty"`
	Rate    Spread            `json:"requests_per_second"`
	Proxy   Spread            `json:"proxy_cpus"`  // share of the proxy's CPU
	Client  Spread            `json:"client_cpus"` // load generator
	Backend Spread            `json:"backend_cpus"`
	User    Spread            `json:"user_us"`        // user time per request
	Kernel  Spread            `json:"kernel_us"`      // kernel time per request
	Calls   Spread            `json:"calls,omitzero"` // system calls per request
	Latency Latency           `json:"latency"`        // all rounds together
	Quiet   Latency           `json:"quiet,omitzero"`
	Raw     Latency           `json:"raw,omitzero"`
	LeftOut Spread            `json:"left_out,omitzero"` // share of excluded requests
	Memory  Spread            `json:"pss_after"`         // bytes
	Before  Spread            `json:"pss_before"`        // bytes
	Invalid int               `json:"invalid_slices,omitempty"`
	Reasons []string          `json:"reasons,omitempty"`
	// Unsupported is true if the contestant has no feature for the case.
	Unsupported bool `json:"unsupported,omitempty"`
	Disagree    int  `json:"disagree,omitempty"`
}

// Clean reports whether the round had almost no foreign load.
func (r *Round) Clean() bool { return r.Foreign <= ForeignLimit }

// Summarize sets c.Summary. references are the contestants to compare with; order is the
// order of the rows.
func (c *Case) Summarize(order, references []string) {
	used, contended := choose(c.Rounds)
	s := Summary{Unit: c.ValueUnit(), Used: len(used), Total: len(c.Rounds), Contended: contended}
	for _, name := range order {
		s.Rows = append(s.Rows, c.sum(name, references, used))
	}
	c.Summary = s
}

// ValueUnit returns the unit of the values of the case.
func (c *Case) ValueUnit() string {
	switch c.Case.Kind {
	case cases.Idle:
		return "B/connection"
	case cases.Rest:
		return "MiB"
	case cases.Slow:
		return "× quiet p99"
	}
	return "µs/" + c.Unit
}

// choose returns the rounds to use: the clean ones if there are enough of them, else all.
// contended is true if any used round was not clean.
func choose(rounds []Round) (used []Round, contended bool) {
	for _, r := range rounds {
		if r.Clean() {
			used = append(used, r)
		}
	}
	if len(used) == len(rounds) || len(used) >= enoughClean {
		return used, false
	}
	return rounds, true
}

// find returns the slice of a contestant in a round if it counts, else nil.
func (r *Round) find(name string) *Slice {
	for i := range r.Slices {
		if s := &r.Slices[i]; s.Contestant == name && s.Reason == "" {
			return s
		}
	}
	return nil
}

func (c *Case) sum(name string, references []string, used []Round) Row {
	out := Row{Contestant: name, Ratios: map[string]Spread{}, Extra: map[string]Spread{}}
	counted := collect(name, used)
	of := func(f func(*Slice) float64) Spread { return spread(counted, f) }
	perSecond := func(f func(*Slice) float64) Spread {
		return of(func(s *Slice) float64 { return f(s) / max(s.Seconds, 1e-9) })
	}
	out.Value = of(func(s *Slice) float64 { return s.Value })
	out.Rate = perSecond(func(s *Slice) float64 { return float64(s.Requests) })
	out.Proxy = perSecond(func(s *Slice) float64 { return s.Proxy })
	out.Client = perSecond(func(s *Slice) float64 { return s.Client })
	out.Backend = perSecond(func(s *Slice) float64 { return s.Backend })
	out.User = of(func(s *Slice) float64 { return s.User * 1e6 / max(float64(s.Requests), 1) })
	out.Kernel = of(func(s *Slice) float64 { return s.System * 1e6 / max(float64(s.Requests), 1) })
	out.Calls = spread(with(collect(name, c.Rounds), func(s *Slice) bool { return s.Calls > 0 }), func(s *Slice) float64 { return s.Calls })
	out.Memory = spread(with(counted, func(s *Slice) bool { return s.After > 0 }), func(s *Slice) float64 { return float64(s.After) })
	out.Before = spread(with(counted, func(s *Slice) bool { return s.Before > 0 }), func(s *Slice) float64 { return float64(s.Before) })
	out.Latency = latency(counted)
	out.Quiet = medians(counted, func(s *Slice) Latency { return s.Quiet })
	out.Raw = medians(counted, func(s *Slice) Latency { return s.Raw })
	if c.Kind == cases.Slow {
		out.LeftOut = of(func(s *Slice) float64 { return (s.LeftOut + s.QuietLeftOut) / 2 })
	}
	for _, ref := range references {
		if ref != name {
			out.Ratios[ref], out.Extra[ref] = against(name, ref, used)
		}
	}
	for _, r := range c.Rounds {
		for _, s := range r.Slices {
			if s.Contestant != name {
				continue
			}
			if s.Disagree {
				out.Disagree++
			}
			out.Unsupported = out.Unsupported || s.Unsupported
			if s.Reason != "" {
				out.Invalid++
				if !slices.Contains(out.Reasons, s.Reason) {
					out.Reasons = append(out.Reasons, s.Reason)
				}
			}
		}
	}
	return out
}

// against compares two contestants within each round, because the machine drifts by a
// quarter between rounds.
func against(name, ref string, rounds []Round) (ratio, extra Spread) {
	var ratios, extras []float64
	for i := range rounds {
		a, b := rounds[i].find(name), rounds[i].find(ref)
		if a == nil || b == nil || b.Value <= 0 {
			continue
		}
		ratios = append(ratios, a.Value/b.Value)
		extras = append(extras, a.Value-b.Value)
	}
	return NewSpread(ratios), NewSpread(extras)
}

func collect(name string, rounds []Round) []*Slice {
	var out []*Slice
	for i := range rounds {
		if s := rounds[i].find(name); s != nil {
			out = append(out, s)
		}
	}
	return out
}

func with(in []*Slice, keep func(*Slice) bool) []*Slice {
	return slices.DeleteFunc(slices.Clone(in), func(s *Slice) bool { return !keep(s) })
}

func spread(in []*Slice, f func(*Slice) float64) Spread {
	values := make([]float64, len(in))
	for i, s := range in {
		values[i] = f(s)
	}
	return NewSpread(values)
}

// latency adds up the histograms of all slices. If the client reports only percentiles,
// it returns the median of each.
func latency(in []*Slice) Latency {
	var h measure.Histogram
	for _, s := range in {
		h.Add(s.Buckets)
	}
	if h.Count() > 0 {
		return NewLatency(&h)
	}
	return medians(in, func(s *Slice) Latency { return s.Latency })
}

// medians returns the median of each percentile over the slices.
func medians(in []*Slice, of func(*Slice) Latency) Latency {
	m := func(f func(Latency) float64) float64 {
		return spread(in, func(s *Slice) float64 { return f(of(s)) }).Median
	}
	return Latency{
		P50: m(func(l Latency) float64 { return l.P50 }), P90: m(func(l Latency) float64 { return l.P90 }),
		P99: m(func(l Latency) float64 { return l.P99 }), P999: m(func(l Latency) float64 { return l.P999 }),
		Max: m(func(l Latency) float64 { return l.Max }),
	}
}
