package findings

import (
	"context"
	"math"
	"path"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/farmstate"
	"github.com/sluicelb/sluice/mgmt/lint"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/recorder"
	"github.com/sluicelb/sluice/mgmt/timeseries"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// evidence collects the evidence about a part of the configuration.
func (s *Resource) evidence(c *rest.Call, cfg *farm.Config, allCertificates bool) lint.Evidence {
	counted := s.counted(c.Context, cfg)
	return lint.Evidence{
		Now:       s.deps.Now(),
		Hits:      counted.hits,
		Logins:    func(backend uint32) uint64 { return s.deps.Counters.SumBackend(backend).Logins },
		Redirects: func(f *farm.Farm) uint64 { return s.deps.Counters.SumFarm(f.ID).Redirects },
		Recorded:  s.recorded,
		Status:    func(g farm.Group, position int) farm.Status { return farmstate.In(g, position, s.deps.Health) },
		Since: func(backend uint32) time.Time {
			if s.deps.Since == nil {
				return time.Time{}
			}
			return s.deps.Since(backend)
		},
		Unable: func(backend uint32) string {
			if s.deps.Checked == nil {
				return ""
			}
			return s.deps.Checked(backend)
		},
		HostName:     s.hostName,
		Program:      startedBy,
		Certificates: s.certificates(c.Config, cfg, allCertificates),
		Warnings:     s.warnings(c, cfg),
	}
}

// hostName returns the resolver's state for the host name of a backend.
func (s *Resource) hostName(g farm.Group, b *farm.Backend) (out lint.HostName) {
	if s.deps.Resolved == nil {
		return out
	}
	state, known := s.deps.Resolved.Look(apply.QuestionOf(b))
	if !known {
		return out
	}
	if state.Gone {
		out.Problem, out.GoneSince = state.Problem, state.GoneSince
		out.Withdrawn = state.Withdrawn && g.Farm.Carries() == farm.TrafficQueries
		return out
	}
	out.Unused = apply.Unused(g, b, state.Targets)
	out.Cut = state.Cut && b.Spreads()
	return out
}

// startedBy returns the program that a check command starts, and the reason why new checks
// may not start it.
func startedBy(command string) (program string, unfit error) {
	if program = probe.Started(command); program == "" {
		return "", nil
	}
	return path.Base(program), probe.Unfit(command)
}

// warnings returns the warnings for part. Warnings may name other farms, so farms hidden
// from the caller are removed first.
func (s *Resource) warnings(c *rest.Call, part *farm.Config) []field.Error {
	if c.SeesAll() {
		return s.deps.Rules.Warnings(c.Config)
	}
	return s.deps.Rules.Warnings(&farm.Config{Farms: part.Farms, System: c.Config.System})
}

// counted is the source of backend counters.
type counted struct {
	*Resource
	kernel stats.Traffic
	failed bool // the kernel's counters are unavailable
}

func (s *Resource) counted(ctx context.Context, cfg *farm.Config) counted {
	out := counted{Resource: s}
	if !slices.ContainsFunc(cfg.Farms, func(f farm.Farm) bool { return f.InKernel() }) {
		return out
	}
	if out.failed = s.deps.Traffic == nil; !out.failed {
		var err error
		if out.kernel, err = s.deps.Traffic(ctx); err != nil {
			s.deps.Log.Debug("counters of the kernel not known", "cause", err)
			out.failed = true
		}
	}
	return out
}

// hits returns the number of requests or connections forwarded to a backend.
func (n counted) hits(f *farm.Farm, backend uint32) (uint64, bool) {
	switch {
	case f.InKernel():
		return n.kernel.Backends[backend].Connects, !n.failed
	case f.Profile.Carries() == farm.TrafficQueries:
		return 0, false // clients connect to it directly
	case f.Profile.Carries() == farm.TrafficRequests:
		return n.deps.Counters.SumBackend(backend).Requests, true
	}
	return n.deps.Counters.SumBackend(backend).Connects, true
}

// recorded returns the start of the backends' recorded history, and whether it has any
// requests. It reads the hourly values of a year and the finer ones of the last hour, which
// may be the only ones.
func (s *Resource) recorded(f *farm.Farm, backends []uint32) (out lint.Record) {
	if s.deps.Numbers == nil {
		return out
	}
	var series []string
	for _, id := range backends {
		series = append(series, recorder.OfBackend(id, "requests"))
	}
	now := s.deps.Now()
	for _, back := range []time.Duration{time.Hour, timeseries.Resolutions[len(timeseries.Resolutions)-1].Keeps()} {
		points, err := s.deps.Numbers.Read(recorder.Farm(f.ID), now.Add(-back), now, now, series...)
		if err != nil {
			continue // no data, or unreadable
		}
		since, hit := begun(points)
		if !since.IsZero() && (out.Since.IsZero() || since.Before(out.Since)) {
			out.Since = since
		}
		out.Hit = out.Hit || hit
	}
	return out
}

// begun returns the time of the first known value of any series, and whether any value is
// above zero.
func begun(p timeseries.Points) (since time.Time, hit bool) {
	first := -1
	for _, values := range p.Values {
		for i, v := range values {
			if math.IsNaN(v) {
				continue
			}
			if first < 0 || i < first {
				first = i
			}
			hit = hit || v > 0
		}
	}
	if first >= 0 {
		since = p.Start.Add(time.Duration(first) * p.Step)
	}
	return since, hit
}

// certificates returns the certificates used by farms of part, or all of them. Whether
// clients see a certificate (Running) depends on the whole configuration.
func (s *Resource) certificates(whole, part *farm.Config, all bool) (out []lint.Certificate) {
	running := &farm.Config{System: whole.System}
	for _, f := range whole.Farms {
		if !f.Stopped {
			running.Farms = append(running.Farms, f)
		}
	}
	for _, v := range s.deps.Certificates.List() {
		users := certs.CertificateUsers(part, v.Name)
		if all {
			users = certs.CertificateUsers(whole, v.Name)
		}
		if v.CSR || v.NotAfter.IsZero() || v.Appliance && len(users) == 0 || len(users) == 0 && !all {
			continue
		}
		one := lint.Certificate{Name: v.Name, Names: v.Names, KeyType: v.KeyType, NotAfter: v.NotAfter, Users: users, MissingIssuer: v.MissingIssuer, Appliance: v.Appliance,
			Running: v.Appliance || len(certs.CertificateUsers(running, v.Name)) > 0}
		if len(one.Names) == 0 {
			one.Names = []string{v.CN}
		}
		if v.Previous != nil {
			one.Before, one.Replaced = v.Previous.Names, v.Added
		}
		if s.deps.ACME != nil {
			order, err := s.deps.ACME.Get(v.Name)
			one.Renewed = err == nil && order.Renewal.Auto
		}
		out = append(out, one)
	}
	return out
}
