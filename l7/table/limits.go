package table

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/ratelimit"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/rewrite"
	"github.com/sluicelb/sluice/l7/route"
	"github.com/sluicelb/sluice/l7/state"
)

// Limits holds a farm's limits for well-formed requests. The zero value refuses nothing.
type Limits struct {
	any     bool       // a limit that check evaluates is set
	maxHead int        // bytes; 0: http1's own limit
	MaxBody uint64     // bytes; 0: unlimited
	paths   *route.Set // pattern that paths must match; nil: any path
	Expect  Expect     // handling of Expect: 100-continue
}

// Expect selects the handling of Expect: 100-continue.
type Expect uint8

const (
	expectPass   Expect = iota // forwarded; the backend decides
	ExpectIgnore               // the appliance sends 100 and drops the field
	ExpectSilent               // forwarded; the backend's 100 is dropped
	expectNever                // refused
)

func newLimits(h *farm.HTTP) (l Limits, err error) {
	l = Limits{MaxBody: h.MaxBody, Expect: map[farm.ContinueMode]Expect{
		farm.ContinueIgnore: ExpectIgnore, farm.ContinueSilent: ExpectSilent, farm.ContinueNever: expectNever,
	}[h.Continue]}
	if h.MaxHead < http1.MaxHead {
		l.maxHead = int(h.MaxHead)
	}
	if h.CheckURL != "" {
		if l.paths, err = route.CompileSet([]string{h.CheckURL}, h.IgnoreCase); err != nil {
			return l, fmt.Errorf("checkurl: %w", err)
		}
	}
	l.any = l.maxHead > 0 || l.MaxBody > 0 || l.paths != nil || l.Expect == expectNever
	return l, nil
}

var (
	refusedNoService = rejected.Because(rejected.NoService, 503, "no service matches")
	refusedRate      = rejected.Because(rejected.RateLimited, 429, "more requests than the service takes from one client")
	refusedRedirect  = rejected.Because(rejected.BadTarget, 400, "the redirect made of it is no field value")

	refusedMethod = rejected.Because(rejected.BadMethod, 501, "method not in the set of the farm")
	refusedLine   = rejected.Because(rejected.HeadTooLong, 414, "request line over the limit of the farm")
	refusedHead   = rejected.Because(rejected.HeadTooLong, 431, "head over the limit of the farm")
	refusedPath   = rejected.Because(rejected.BadTarget, 400, "path does not match what the farm accepts")
	refusedExpect = rejected.Because(rejected.BadRequest, 417, "100-continue is not allowed")
	refusedBody   = rejected.Because(rejected.BodyTooLong, 413, "body over the limit of the farm")
)

// check checks a complete head; nil means accepted.
func (l *Limits) check(r *http1.Request) *rejected.Cause {
	switch {
	case l.maxHead > 0 && int(r.Target.End)+len(" HTTP/1.1\r\n") > l.maxHead:
		return refusedLine
	case l.maxHead > 0 && r.Len > l.maxHead:
		return refusedHead
	case l.paths != nil && !l.accepts(r):
		return refusedPath
	case l.MaxBody > 0 && r.ContentLength > 0 && uint64(r.ContentLength) > l.MaxBody:
		return refusedBody
	case l.Expect == expectNever && r.Expect100:
		return refusedExpect
	}
	return nil
}

// accepts reports whether the path pattern matches the canonical path and all other
// readings.
func (l *Limits) accepts(r *http1.Request) bool {
	for i := range r.Readings {
		if l.paths.Match(r.Readings[i].Target) < 0 {
			return false
		}
	}
	return l.paths.Match(r.Path) >= 0
}

// CheckPart checks the beginning of an incomplete head.
func (l *Limits) CheckPart(b []byte) *rejected.Cause {
	if l.maxHead == 0 || len(b) < l.maxHead {
		return nil
	}
	if bytes.IndexByte(bytes.TrimLeft(b[:l.maxHead], "\r\n"), '\n') < 0 {
		return refusedLine
	}
	return refusedHead
}

// conditions are the header conditions of a service; nil without any.
type conditions struct {
	require []*route.Set // each must match at least one line
	deny    *route.Set   // must not match any line; may be nil
}

func newConditions(s *farm.Service) (c *conditions, err error) {
	if len(s.HeadRequire)+len(s.HeadDeny) == 0 {
		return nil, nil
	}
	c = &conditions{}
	for _, p := range s.HeadRequire {
		set, err := route.CompileSet([]string{p}, true)
		if err != nil {
			return nil, fmt.Errorf("headrequire: %w", err)
		}
		c.require = append(c.require, set)
	}
	if len(s.HeadDeny) > 0 {
		if c.deny, err = route.CompileSet(s.HeadDeny, true); err != nil {
			return nil, fmt.Errorf("headdeny: %w", err)
		}
	}
	return c, nil
}

// unmet returns the first condition that fails, as a position in require or deny, or -1.
func (c *conditions) unmet(h *http1.Head, s *rewrite.Scratch) (require, deny int) {
	for i, set := range c.require {
		if found, _ := s.FindLine(h, set); found < 0 {
			return i, -1
		}
	}
	if c.deny != nil {
		if _, rule := s.FindLine(h, c.deny); rule >= 0 {
			return -1, rule
		}
	}
	return -1, -1
}

// rateLimit limits the request rate of each client of a service. The counts are in the
// registry and shared by all loops.
type rateLimit struct {
	limit  ratelimit.Limit
	table  *ratelimit.Table
	key    farm.RateKey
	header string // in lower case
}

// newRateLimit compiles a service's limit, or returns nil if it has none.
func (c *Compiler) newRateLimit(s *farm.Service) *rateLimit {
	limit := state.LimitOf(s)
	if limit == (ratelimit.Limit{}) {
		return nil
	}
	return &rateLimit{
		limit: limit, table: c.registry.Rates.Of(state.RateFor(s)),
		key: s.RateLimit.Key, header: strings.ToLower(s.RateLimit.Header),
	}
}

// whose returns the key that the current request counts for. Requests without the header, or
// with a forgeable one, count by address, so neither brings an advantage.
func (l *rateLimit) whose(q *Query) ratelimit.Key {
	r := q.Req
	switch l.key {
	case farm.RateKeyPath:
		return l.table.Text(plainestPath(r))
	case farm.RateKeyHeader:
		if i := r.Lookup(l.header); i >= 0 && r.Visible(i) && len(r.Value(i)) > 0 {
			return l.table.Text(r.Value(i))
		}
	}
	return l.table.Address(q.Client())
}

// plainestPath returns the path without query, decoded if possible, so that all spellings of
// a path have the same key.
func plainestPath(r *http1.Request) []byte {
	for _, rd := range slices.Backward(r.Readings) {
		if !rd.Dots {
			return rd.Target[:rd.Path]
		}
	}
	path, _, _ := bytes.Cut(r.Path, []byte("?"))
	return path
}

// take counts the current request, or returns the nanoseconds until it would be accepted.
// Explained requests are not counted.
func (l *rateLimit) take(q *Query) (wait int64) {
	if q.Trail != nil {
		return l.table.Peek(l.whose(q), q.Now, l.limit)
	}
	return l.table.Take(l.whose(q), q.Now, l.limit)
}
