package table

import (
	"bytes"
	"slices"

	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rejected"
)

// A service is chosen by the canonical path. A backend may read the path in
// another way (http1.Reading), and that reading may be one the farm protects by
// another service: "/admin;x" and "/shop/..%2Fadmin" are "/admin" for many. So a
// request has to pass the services that every reading leads to. It is forwarded
// by the one it was routed to.

var (
	refusedReading = rejected.Because(rejected.NoService, 503, "the path can be read as one of a service without backends")
	refusedClimb   = rejected.Because(rejected.NoService, 503, "no service matches the decoded path")

	// ambiguities are what a strict farm refuses.
	ambiguities = func() map[*http1.Error]*rejected.Cause {
		all := map[*http1.Error]*rejected.Cause{}
		for _, e := range []*http1.Error{http1.ErrTargetHidden, http1.ErrTargetDouble, http1.ErrTargetUTF8, http1.ErrTargetParam} {
			all[e] = rejected.Because(rejected.BadTarget, e.Status, e.Reason)
		}
		return all
	}()
)

// protects reports whether the service keeps some or all of its requests from
// backends.
func (sv *Service) protects() bool {
	return sv.Auth != nil || sv.limit != nil || sv.Redirect != nil || sv.denies()
}

// denies reports whether the service forwards nothing.
func (sv *Service) denies() bool {
	return len(sv.Backends) == 0 && sv.Redirect == nil && sv.DNSFarm == ""
}

// protect has the request pass the services that the other readings of the path
// lead to; matched is the position of the one that the canonical path leads to.
//
// Patterns are searched in path and query, so a query keeps "/admin$" from matching.
// The path is therefore also matched without it, unless it is the query that leads
// to an earlier service.
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

// protectPath enforces the service that a path without its query leads to; with
// is where it leads with the query. It reports whether the request may go on.
func (q *Query) protectPath(p *Plan, path []byte, with int) bool {
	found := q.Farm.routes.Match(q.Req.Host, path, q)
	return found < 0 || with >= 0 && found >= with || q.enforce(p, found, path, false)
}

// enforce has the request pass the service at a position, and those that share
// requests with it. It reports whether the request may go on.
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

// require has the request pass a service that does not forward it. One that stops
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
