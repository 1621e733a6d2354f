package trial

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
)

// guard holds the stored data of a guard, which are part of the change.
type guard struct {
	Conditions string        `json:"conditions"`
	Window     time.Duration `json:"window"`
	// Farms are the watched farms, with the counters of each before the change.
	Farms map[string]totals `json:"farms"`
}

// Guard returns the Trial that makes a guard part of a change.
func (w *Watcher) Guard(s Spec) apply.Trial {
	return apply.Trial{Wait: s.Window, Guard: func(cfg *farm.Config, touched []string) (json.RawMessage, error) {
		watched := s.watchable(cfg, touched)
		if err := measurable(s, watched); err != nil {
			return nil, err
		}
		g := guard{Conditions: s.Text(), Window: s.Window, Farms: map[string]totals{}}
		for _, f := range watched {
			g.Farms[f.Name] = totalsOf(w.options.Counters, f)
		}
		return json.Marshal(g)
	}}
}

// Unmeasurable is the reason why a change cannot be watched with the requested conditions.
type Unmeasurable struct{ Reason string }

// Error returns the reason.
func (e *Unmeasurable) Error() string { return "guard: " + e.Reason }

// watchable returns the farms that a guard watches: running farms affected by the change.
// If there are none, or with All, it returns all running farms that the author sees.
func (s Spec) watchable(cfg *farm.Config, touched []string) (out []*farm.Farm) {
	running := func(watch func(*farm.Farm) bool) {
		for i := range cfg.Farms {
			if f := &cfg.Farms[i]; !f.Stopped && watch(f) {
				out = append(out, f)
			}
		}
	}
	if !s.All {
		running(func(f *farm.Farm) bool { return slices.Contains(touched, f.Name) })
	}
	if len(out) == 0 {
		running(func(f *farm.Farm) bool { return s.Sees == nil || s.Sees(f.ID) })
	}
	return out
}

// measurable refuses conditions that nothing will ever be counted for.
func measurable(s Spec, farms []*farm.Farm) error {
	if len(farms) == 0 {
		return &Unmeasurable{"no farm runs that could be watched: use confirm instead"}
	}
	for _, c := range s.Conditions {
		if !slices.ContainsFunc(farms, func(f *farm.Farm) bool { return measures(f, c.Metric) }) {
			return &Unmeasurable{fmt.Sprintf("%s is not measured of farm %s: of gslb farms and l4xnat farms in userspace there are errors, requests and backends_up, of those in the kernel backends_up only", c.Metric, farms[0].Name)}
		}
	}
	return nil
}

func measures(f *farm.Farm, m Metric) bool {
	switch {
	case m == BackendsUp:
		return true
	case f.InKernel():
		return false
	case quantiles[m] != 0:
		return f.Profile.Carries() == farm.TrafficRequests
	}
	return true
}

// read reads the guard of a pending change.
func read(p *apply.Pending) (g guard, s Spec, err error) {
	if err = json.Unmarshal(p.Guard, &g); err == nil {
		s, err = Parse(g.Conditions)
		s.Window = g.Window
	}
	return g, s, err
}

// Conditions returns the conditions of a pending change's guard; empty without one.
func Conditions(p *apply.Pending) string {
	var g guard
	if len(p.Guard) == 0 || json.Unmarshal(p.Guard, &g) != nil {
		return ""
	}
	return g.Conditions
}
