package table

import (
	"bytes"
	"net/netip"
	"unsafe"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/ports"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/l7/guard"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/rewrite"
)

// Outcome is what happens to a request.
type Outcome uint8

// The outcomes.
const (
	OutcomeForward   Outcome = iota // the service's backends serve it
	OutcomeRefuse                   // it is answered with an error
	OutcomeRedirect                 // the service redirects it
	OutcomeChallenge                // it is a certification authority's, see Challenges
)

// Farm is the one behind a port; nil when there is none.
func (t *Table) Farm(p *ports.Port) *Farm {
	if p.Number < len(t.byPort) {
		return t.byPort[p.Number]
	}
	return nil
}

// Plan is what happens to a request, and why.
type Plan struct {
	Outcome  Outcome
	Service  *Service        // nil when none was found
	Refused  *rejected.Cause // why it is refused
	Lines    []byte          // field lines of that answer; good until the next plan
	Wait     int64           // after how many nanoseconds it would pass; 0 when time changes nothing
	Location http1.Value     // of a redirect
	// Unchecked says that a password is to be checked before the request is
	// forwarded; Digest stands for it.
	Unchecked bool
	Digest    guard.Digest
	Auth      *Protection // that asks for the password; nil when none does
}

// Query is a request a plan is made for, and what that needs. The head must be
// whole. One belongs to a loop and is used for all of its requests.
type Query struct {
	Farm      *Farm            // it is for
	Req       *http1.Request   // as http1 read it
	Conn      *loop.Conn       // of the client
	Now       int64            // on the clock all loops share, see state.Clock
	Scratch   *rewrite.Scratch // of the loop
	AuthCache *guard.Cache     // knows passwords that were checked
	Address   []byte           // scratch: of the client, as text
	Text      []byte           // scratch: the user, then the Location
	Trail     *Trail           // nil but where the request is explained

	made    Plan          // the last
	passed  []*Service    // which protect other readings of the path
	forward http1.Forward // what is added to the head of the request
	extra   []byte        // scratch: field lines
}

// Plan finds what happens to the request. What it finds on the way it tells the
// trail: a new step does so by refuse and pass. The fields the farm's rules take
// out are marked as removed in the head.
//
// The result is good until the next call: a plan is too large to be copied for each
// request.
func (q *Query) Plan() *Plan {
	f, r, p := q.Farm, q.Req, &q.made
	p.Outcome, p.Service, p.Refused, p.Lines, p.Wait, p.Unchecked, p.Auth = OutcomeForward, nil, nil, nil, 0, false, nil
	q.passed = q.passed[:0]
	if f.Challenges != nil && f.Challenges.asks(r) {
		p.Outcome = OutcomeChallenge
		return p
	}
	q.trust()
	switch {
	case f.misdirected(q.Conn, r):
		p.Refuse(q, stepHost, refusedMisdirected)
		return p
	case !q.allow(p):
		return p
	}
	var matched int
	p.Service, matched = q.route()
	if p.Service == nil {
		p.Refuse(q, stepServices, refusedNoService)
		return p
	}
	if q.Trail != nil {
		q.Trail.Result.Service = p.Service.Name
	}
	if q.admit(p, p.Service); p.Refused == nil && f.protects && p.Service.Redirect == nil {
		q.protect(p, matched)
	}
	if p.Refused == nil && p.Service.Redirect != nil {
		q.redirect(p)
	}
	return p
}

// trust takes the word of a peer the farm trusts.
func (q *Query) trust() {
	f := q.Farm
	if len(f.Trusted) == 0 || !Trusts(f.Trusted, q.Conn.Peer().Addr()) {
		return
	}
	q.Req.Trust()
	if f.TLS != nil && f.TLS.asksClients {
		q.Req.Distrust(http1.KnownXSSL)
	}
}

// allow asks the farm, and reports whether it takes the request.
func (q *Query) allow(p *Plan) bool {
	f, r := q.Farm, q.Req
	if !r.Verb.In(f.verbs) {
		p.Refuse(q, stepMethod, refusedMethod)
		return false
	}
	q.pass(stepMethod)
	if f.paths == farm.PathCanonical || f.paths == farm.PathStrict {
		if f.paths == farm.PathStrict && r.Ambiguity != nil {
			p.Refuse(q, stepPath, ambiguities[r.Ambiguity])
			return false
		}
		r.SendCanonical()
	}
	if f.Limits.any {
		if no := f.Limits.check(r); no != nil {
			p.Refuse(q, stepLimits, no)
			return false
		}
		q.pass(stepLimits)
	}
	return true
}

// route finds the service and the position of the rule that matched; nil and -1
// when none does.
func (q *Query) route() (*Service, int) {
	f, r := q.Farm, q.Req
	if f.Remove != nil {
		f.Remove.Remove(&r.Head, q.Scratch)
	}
	i := f.routes.Match(r.Host, r.Path, q)
	if q.Trail != nil {
		q.Trail.routed(q, i)
	}
	if i < 0 {
		return nil, i
	}
	s := &f.Services[i]
	if s.share.end > 0 {
		s = q.draw(s)
	}
	return s, i
}

// admit asks a service: its limit, and which clients it lets in.
func (q *Query) admit(p *Plan, s *Service) {
	if l := s.limit; l != nil {
		if p.Wait = l.take(q); p.Wait > 0 {
			p.Refuse(q, stepRate, refusedRate)
			return
		}
		q.pass(stepRate)
	}
	if a := s.Auth; a != nil {
		if a.admit(q, p); p.Refused == nil {
			q.pass(StepAuth)
		}
	}
}

// Refuse makes the plan not to take the request, for what was found at a step.
func (p *Plan) Refuse(q *Query, at Step, no *rejected.Cause) {
	if q.Trail != nil {
		q.Trail.Refuse(at, no.Status, no.Reason)
	}
	p.Outcome, p.Refused = OutcomeRefuse, no
}

// pass tells the trail that a step was passed.
func (q *Query) pass(at Step) {
	if q.Trail != nil {
		q.Trail.Pass(at)
	}
}

// Holds implements route.Conditions.
func (q *Query) Holds(rule int) bool {
	require, deny := q.Farm.Services[rule].conditions.unmet(&q.Req.Head, q.Scratch)
	return require < 0 && deny < 0
}

// Client is the address the request came from, see RealClient.
func (q *Query) Client() netip.Addr { return RealClient(q.Farm, q.Conn.Peer(), q.Req).Addr() }

// peer is the client's address as text.
func (q *Query) peer() []byte {
	q.Address = q.Conn.Peer().Addr().AppendTo(q.Address[:0])
	return q.Address
}

// refusedMisdirected tells a client to come back on another connection
// (RFC 9110, section 15.5.20).
var refusedMisdirected = rejected.Because(rejected.BadHost, 421, "host of another certificate than the connection's")

// misdirected reports whether a request of a strict farm came on a connection
// that was made for a name with another certificate.
func (f *Farm) misdirected(c *loop.Conn, r *http1.Request) bool {
	if f.TLS == nil || f.TLS.names == nil || len(r.Host) == 0 {
		return false
	}
	t := c.TLS()
	if t == nil {
		return false
	}
	host := bytes.Trim(WithoutPort(r.Host), "[]")
	name := unsafe.String(unsafe.SliceData(host), len(host)) // a view: nothing keeps it
	return name != t.ServerName && !f.TLS.names.Same(t.ServerName, name)
}

// redirect finds where the service redirects the request to.
func (q *Query) redirect(p *Plan) {
	q.Text = p.Service.Redirect.appendTo(q.Text[:0], q.Req, q.Scratch)
	var ok bool
	if p.Location, ok = http1.CheckValue(q.Text); !ok {
		p.Refuse(q, stepRedirect, refusedRedirect)
		return
	}
	p.Outcome = OutcomeRedirect
}

// Choice is how the backend of a request is found: what tells its client from
// others, what was tried, and what came of it.
type Choice struct {
	hash   uint64        // of the client, for consistent hashing
	Cookie int           // the backend the client's cookie names, its position + 1; 0 for none
	Key    []byte        // of the client's session; empty for none
	Tried  balance.Tried // backends that are of no use to the request
	Held   *balance.Load // what the picker reserved for it
	Why    accesslog.Why // how the backend was found
}

// identify finds what tells the client of the request from others.
func (c *Choice) identify(q *Query, s *Service) {
	if s.Cookie != nil {
		c.Cookie = s.Cookie.find(&q.Req.Head) + 1
	}
	if s.Sessions != nil {
		c.Key = append(c.Key[:0], s.sessionKey(q)...)
	}
	if s.hashed {
		c.hash = hash(q.Conn.Peer().Addr().AsSlice())
	}
}

// Keyed reports whether the client has, or will have, a session.
func (c *Choice) Keyed(s *Service) bool { return s.Sessions != nil && len(c.Key) > 0 }

// Pick chooses the backend: the one of the client's cookie or session while it
// can serve, else what the policy says.
func (c *Choice) Pick(s *Service) (int, bool) {
	if c.Cookie > 0 && c.Claim(s, c.Cookie-1) {
		c.Why = accesslog.WhyCookie
		return c.Cookie - 1, true
	}
	if c.Keyed(s) {
		if id, ok := s.Sessions.Get(c.Key, session.Now(), s.Persist.TTL); ok {
			if i, ok := c.follow(s, id); ok {
				return i, true
			}
		}
	}
	i, ok := s.Picker.Pick(c.hash, c.Tried)
	if !ok {
		return -1, false
	}
	c.Held, c.Why = s.Picker.Held(i), accesslog.WhyAlgorithm
	if c.Keyed(s) {
		i = c.remember(s, i)
	}
	return i, true
}

// follow claims the backend a session names.
func (c *Choice) follow(s *Service, id uint32) (int, bool) {
	i := s.Find(id)
	if !c.Claim(s, i) {
		return -1, false
	}
	c.Why = accesslog.WhySession
	return i, true
}

// remember makes a session of a choice and returns what became of that: of two
// loops that see a new client at once the later one follows the other.
func (c *Choice) remember(s *Service, i int) int {
	id, now := s.Backends[i].ID, session.Now()
	owner, added := s.Sessions.PutIfAbsent(c.Key, id, now, s.Persist.TTL)
	if added || owner == id {
		return i
	}
	own := c.Held
	if first, ok := c.follow(s, owner); ok {
		own.Done()
		return first
	}
	s.Sessions.Put(c.Key, id, now) // instead of one that cannot be kept
	return i
}

// Claim reserves a backend a client belongs to, if it can serve: drained ones
// do, those that were cut do not.
func (c *Choice) Claim(s *Service, i int) bool {
	if i < 0 || s.Backends[i].Mode == farm.MaintenanceCut || c.Tried.Has(i) || !s.Picker.Claim(i) {
		return false
	}
	c.Held = s.Picker.Held(i)
	return true
}

// Belongs is the backend the client's cookie or session names; -1 for none.
func (c *Choice) Belongs(s *Service) int {
	if c.Cookie > 0 {
		return c.Cookie - 1
	}
	if c.Keyed(s) {
		if id, ok := s.Sessions.Get(c.Key, session.Now(), s.Persist.TTL); ok {
			return s.Find(id)
		}
	}
	return -1
}

// MoveTo makes the choice one among the backends of s, which is the service of
// another table.
func (c *Choice) MoveTo(s, old *Service, client netip.Addr) {
	if c.Cookie > 0 {
		c.Cookie = s.Find(old.Backends[c.Cookie-1].ID) + 1
	}
	if s.Sessions == nil || s.Persist.Kind != old.Persist.Kind || string(s.Persist.Name) != string(old.Persist.Name) {
		c.Key = c.Key[:0]
	}
	if s.hashed {
		c.hash = hash(client.AsSlice())
	}
}

// MayWait reports whether there is something to wait for in the queue, when no
// backend was to be had: room at one that is usable.
func (c *Choice) MayWait(s *Service) bool {
	free, usable := s.Picker.Room()
	return usable && (!free || c.Tried == balance.Tried{}) // what is free may have failed it already
}

// hash is FNV-1a, finished so that all bits depend on all bytes.
func hash(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>32
}
