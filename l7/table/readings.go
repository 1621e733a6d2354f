package table

import (
	"bytes"
	"slices"

	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rejected"
)

// A service is selected by the canonical path. A backend may read the path differently
// (http1.Reading), and another service may protect that reading: many backends treat
// "/admin;x" and "/shop/..%2Fadmin" as "/admin". A request must therefore pass the services
// of all readings. The service it was routed to forwards it.

var (
	refusedReading = rejected.Because(rejected.NoService, 503, "the path can be read as one of a service without backends")
	refusedClimb   = rejected.Because(rejected.NoService, 503, "no service matches the decoded path")

	// refusedPaths maps the errors of a path that a path policy refuses.
	refusedPaths = func() map[error]*rejected.Cause {
		all := map[error]*rejected.Cause{}
		for _, e := range []*http1.Error{http1.ErrTargetHidden, http1.ErrTargetDouble, http1.ErrTargetUTF8, http1.ErrTargetParam, http1.ErrTargetDots, http1.ErrTargetControl} {
			all[e] = rejected.Because(rejected.BadTarget, e.Status, e.Reason)
		}
		return all
	}()
)

// protects reports whether the service keeps some or all of its requests from backends.
func (sv *Service) protects() bool {
	return sv.Auth != nil || sv.limit != nil || sv.Redirect != nil || sv.denies()
}

// denies reports whether the service never forwards requests.
func (sv *Service) denies() bool {
	return len(sv.Backends) == 0 && sv.Redirect == nil && sv.DNSFarm == ""
}

// protect makes the request pass the services of the other readings of its path. matched is
// the position of the service for the canonical path.
//
// Patterns search path and query, so a query keeps "/admin$" from matching. The path is
// therefore also matched without the query, unless the query itself selects an earlier
// service.
func (q *Query) protect(p *Plan, matched int) {
	r := q.Req
	if n := bytes.IndexByte(r.Path, '?'); n >= 0 && !q.protectPath(p, r.Path[:n], matched) {
		return
	}
	for i := range r.Readings {
		rd := &r.Readings[i]
		found := q.Farm.routes.Match(r.Host, rd.Target, q)
		switch {
		case found < 0 && rd.Climbs:
			p.Refuse(q, stepServices, refusedClimb)
			return
		case found >= 0 && found != matched && !q.enforce(p, found, rd.Target, true),
			rd.Path < len(rd.Target) && !q.protectPath(p, rd.Target[:rd.Path], found):
			return
		}
	}
}

// protectPath enforces the service for a path without its query. with is the position
// selected with the query. It reports whether the request may continue.
func (q *Query) protectPath(p *Plan, path []byte, with int) bool {
	found := q.Farm.routes.Match(q.Req.Host, path, q)
	return found < 0 || with >= 0 && found >= with || q.enforce(p, found, path, false)
}

// enforce makes the request pass the service at a position and those that share requests
// with it. It reports whether the request may continue.
func (q *Query) enforce(p *Plan, at int, reading []byte, redirects bool) bool {
	f := q.Farm
	end := max(at+1, f.Services[at].share.end)
	for i := at; i < end; i++ {
		s := &f.Services[i]
		if s == p.Service || !s.protects() || s.Redirect != nil && !redirects || slices.Contains(q.passed, s) ||
			i > at && !f.routes.Also(i, at, q.Req.Host, reading, q) {
			continue
		}
		if q.passed = append(q.passed, s); q.Trail != nil {
			q.Trail.Found(stepReadings, "the path can be read as %s: service %s", reading, s.Name)
		}
		if !q.require(p, s) {
			return false
		}
	}
	return true
}

// require makes the request pass a service that does not forward it. A service that refuses
// it becomes the service of the plan.
func (q *Query) require(p *Plan, s *Service) bool {
	switch {
	case s.denies():
		p.Refuse(q, stepServices, refusedReading)
	case s.Redirect == nil:
		q.admit(p, s)
	}
	if p.Refused == nil && s.Redirect == nil {
		return true
	}
	if p.Service = s; q.Trail != nil {
		q.Trail.Result.Service = s.Name
	}
	return false
}
