package table

import (
	"bytes"
	"net/netip"
	"unsafe"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/l7/guard"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/rewrite"
)

// Outcome is the fate of a request.
type Outcome uint8

// The outcomes.
const (
	OutcomeForward   Outcome = iota // to the service's backends
	OutcomeRefuse                   // with an error response
	OutcomeRedirect                 // by the service
	OutcomeChallenge                // ACME challenge, see Challenges
)

// Plan is the outcome of a request, with the reason.
type Plan struct {
	Outcome  Outcome
	Service  *Service        // nil if none matches
	Refused  *rejected.Cause // reason for a refusal
	Lines    []byte          // additional field lines of the response; valid until the next plan
	Wait     int64           // nanoseconds until it would be accepted; 0 if time has no effect
	Location http1.Value     // for a redirect
	// Unchecked means that a password must be verified before the request is forwarded;
	// Digest identifies it.
	Unchecked bool
	Digest    guard.Digest
	Auth      *Protection // that requires the password; may be nil
}

// Query holds a request with a complete head and the inputs of its plan. Each loop has one
// Query for all of its requests.
type Query struct {
	Farm      *Farm            // farm of the request
	Req       *http1.Request   // parsed by http1
	Conn      *loop.Conn       // client connection
	Now       int64            // on the clock shared by all loops, see state.Clock
	Scratch   *rewrite.Scratch // of the loop
	AuthCache *guard.Cache     // verified passwords
	Address   []byte           // scratch: address of the peer as text
	Text      []byte           // scratch: user name or client address, then Location
	Trail     *Trail           // only for explanations

	made    Plan          // latest plan
	passed  []*Service    // services passed for other readings of the path
	forward http1.Forward // additions to the request head
	extra   []byte        // scratch: field lines
	key     []byte        // scratch: session key
}

// Plan decides about the request and reports each step to the trail; new steps do so by
// refuse and pass. Fields removed by the farm's rules are marked in the head.
//
// The result is valid until the next call, because a plan is too large to copy for each
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

// trust accepts the identity fields of trusted peers.
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

// allow applies the farm's checks and reports whether the request passes.
func (q *Query) allow(p *Plan) bool {
	f, r := q.Farm, q.Req
	if !r.Verb.In(f.verbs) {
		p.Refuse(q, stepMethod, refusedMethod)
		return false
	}
	q.pass(stepMethod)
	if f.paths == farm.PathCanonical || f.paths == farm.PathStrict {
		if f.paths == farm.PathStrict && r.Ambiguity != nil {
			p.Refuse(q, StepPath, refusedPaths[r.Ambiguity])
			return false
		}
		if err := r.SendCanonical(); err != nil {
			p.Refuse(q, StepPath, refusedPaths[err])
			return false
		}
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

// route returns the service and the position of the matching rule, or nil and -1.
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

// admit applies a service's rate limit and authentication.
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
			q.admitted(p)
		}
	}
}

// admitted reports that the authentication does not refuse the request.
func (q *Query) admitted(p *Plan) {
	if q.Trail != nil && p.Unchecked {
		q.Trail.Found(StepAuth, "the user and the password would be checked; this explanation does not check them")
		return
	}
	q.pass(StepAuth)
}

// Refuse makes the plan refuse the request at a step.
func (p *Plan) Refuse(q *Query, at Step, no *rejected.Cause) {
	if q.Trail != nil {
		q.Trail.Refuse(at, no.Status, no.Reason)
	}
	p.Outcome, p.Refused = OutcomeRefuse, no
}

// pass reports a passed step to the trail.
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

// Client returns the client's address, see RealClient.
func (q *Query) Client() netip.Addr { return RealClient(q.Farm, q.Conn.Peer(), q.Req).Addr() }

// peer returns the peer's address as text.
func (q *Query) peer() []byte {
	q.Address = q.Conn.Peer().Addr().AppendTo(q.Address[:0])
	return q.Address
}

// refusedMisdirected asks the client to use another connection (RFC 9110, section 15.5.20).
var refusedMisdirected = rejected.Because(rejected.BadHost, 421, "host of another certificate than the connection's")

// misdirected reports whether a request to a strict farm arrived on a connection whose
// server name has another certificate.
func (f *Farm) misdirected(c *loop.Conn, r *http1.Request) bool {
	if f.TLS == nil || f.TLS.names == nil || len(r.Host) == 0 {
		return false
	}
	t := c.TLS()
	if t == nil {
		return false
	}
	host := bytes.Trim(WithoutPort(r.Host), "[]")
	name := unsafe.String(unsafe.SliceData(host), len(host)) // a view, not retained
	return name != t.ServerName && !f.TLS.names.Same(t.ServerName, name)
}

// redirect determines the location of a redirect.
func (q *Query) redirect(p *Plan) {
	q.Text = p.Service.Redirect.appendTo(q.Text[:0], q.Req, q.Scratch)
	var ok bool
	if p.Location, ok = http1.CheckValue(q.Text); !ok {
		p.Refuse(q, stepRedirect, refusedRedirect)
		return
	}
	p.Outcome = OutcomeRedirect
}

// Choice is the selection of a request's backend: the client's identity, failed attempts and
// the result.
type Choice struct {
	hash   uint64        // client hash for consistent hashing
	Cookie int           // position + 1 of the backend in the client's cookie; 0 without one
	Key    []byte        // session key; may be empty
	Tried  balance.Tried // backends to skip for this request
	Held   *balance.Load // reservation by the picker
	Why    accesslog.Why // reason for the selection

	// Full is the position + 1 of the backend of the client's cookie or session if it could
	// serve but has no room, else 0. The client keeps its cookie or session.
	Full   int
	Turned bool // its turn in a queue came, so it need not queue behind others
	Roams  bool // it no longer waits for room at its own backend
}

// identify determines the client identity for the selection.
func (c *Choice) identify(q *Query, s *Service) {
	if s.Cookie != nil {
		c.Cookie = s.Cookie.find(&q.Req.Head) + 1
	}
	if s.Sessions != nil {
		c.Key = append(c.Key[:0], s.sessionKey(q)...)
	}
	if s.hashed || s.QueueLength > 0 { // after waiting it may need the hash in another table
		c.hash = hash(q.Client().AsSlice())
	}
}

// Keyed reports whether the client has a session, or gets one.
func (c *Choice) Keyed(s *Service) bool { return s.Sessions != nil && len(c.Key) > 0 }

// Pick selects the backend: that of the client's cookie or session if it can serve,
// otherwise by the policy. If it fails and Waits is true, the client should wait for room at
// its own backend.
func (c *Choice) Pick(s *Service) (int, bool) {
	c.Full = 0
	if own := c.Belongs(s); own >= 0 {
		if !c.queued(s, own) && c.Claim(s, own) {
			c.Why = accesslog.WhySession
			if c.Cookie > 0 {
				c.Why = accesslog.WhyCookie
			}
			return own, true
		}
		if c.full(s, own) {
			if c.Full = own + 1; c.Waits(s) {
				return -1, false
			}
		}
	}
	i, ok := s.Picker.Pick(c.hash, c.Tried)
	if !ok {
		return -1, false
	}
	c.Held, c.Why = s.Picker.Held(i), accesslog.WhyAlgorithm
	if c.Keyed(s) && c.Full == 0 {
		i = c.remember(s, i)
	}
	return i, true
}

// full reports whether only a lack of room kept a backend from being claimed.
func (c *Choice) full(s *Service, i int) bool {
	return s.Backends[i].Mode != farm.MaintenanceCut && !c.Tried.Has(i) && s.Picker.Up(i)
}

// mayWait reports whether the client would wait for room at its own backend: not after
// another one failed, because the request is late already.
func (c *Choice) mayWait(s *Service) bool {
	return s.QueueLength > 0 && !c.Roams && c.Tried == balance.Tried{}
}

// Waits reports whether the client should wait for room at its own backend.
func (c *Choice) Waits(s *Service) bool { return c.Full > 0 && c.mayWait(s) }

// queued reports whether others wait for the client's own backend and go first.
func (c *Choice) queued(s *Service, own int) bool {
	return c.mayWait(s) && !c.Turned && s.Backends[own].Queue.Len() > 0
}

// Hold makes the client wait for its own backend, if it has one that can serve, without
// trying to claim it.
func (c *Choice) Hold(s *Service) {
	c.Full = 0
	if own := c.Belongs(s); own >= 0 && c.full(s, own) {
		c.Full = own + 1
	}
}

// follow claims the backend of a session.
func (c *Choice) follow(s *Service, id uint32) (int, bool) {
	i := s.Find(id)
	if !c.Claim(s, i) {
		return -1, false
	}
	c.Why = accesslog.WhySession
	return i, true
}

// remember creates a session and returns the backend in effect. If two loops see a new
// client at the same time, the later one follows the earlier.
func (c *Choice) remember(s *Service, i int) int {
	id, now := s.Backends[i].ID, session.Now()
	owner, added := s.Sessions.PutIfAbsent(c.Key, id, now, s.Persist.TTL)
	if added || owner == id {
		return i
	}
	own := c.Held
	if first, ok := c.follow(s, owner); ok {
		own.Done()
		s.Backends[i].Queue.Released()
		s.Queue.Released()
		return first
	}
	if first := s.Find(owner); first >= 0 && c.full(s, first) {
		c.Full = first + 1
		return i
	}
	s.Sessions.Put(c.Key, id, now) // replaces one that cannot be followed
	return i
}

// Claim reserves the backend of a cookie or session if it can serve. Drained backends can;
// cut ones cannot.
func (c *Choice) Claim(s *Service, i int) bool {
	if i < 0 || s.Backends[i].Mode == farm.MaintenanceCut || c.Tried.Has(i) || !s.Picker.Claim(i) {
		return false
	}
	c.Held = s.Picker.Held(i)
	return true
}

// Belongs returns the backend of the client's cookie or session, or -1.
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

// MoveTo converts the choice to the backends of s, the same service in another table.
func (c *Choice) MoveTo(s, old *Service) {
	if c.Cookie > 0 {
		c.Cookie = s.Find(old.Backends[c.Cookie-1].ID) + 1
	}
	if s.Sessions == nil || s.Persist.Kind != old.Persist.Kind || string(s.Persist.Name) != string(old.Persist.Name) {
		c.Key = c.Key[:0]
	}
}

// MayWait reports whether queueing makes sense after no backend was available: the client's
// own backend or a usable one may get room.
func (c *Choice) MayWait(s *Service) bool {
	if c.Waits(s) {
		return true
	}
	free, usable := s.Picker.Room()
	return usable && (!free || c.Tried == balance.Tried{}) // a free backend may have failed this request already
}

// hash returns FNV-1a with a final mix, so that all bits depend on all bytes.
func hash(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>32
}
