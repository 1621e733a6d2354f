package proxy

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/ratelimit"
	"github.com/sluicelb/sluice/l7/guard"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/refused"
)

// protection is whom a service lets in.
type protection struct {
	users     *guard.Users // nil asks for none
	keys      *guard.Keys  // nil asks for none
	header    string       // of the key, in lower case
	passes    bool         // backends get the credentials, too
	challenge []byte       // field line of the 401 for who is no user
	keyless   []byte       // field line of the 401 for who has no key
}

// newProtection compiles what a service asks of clients; nil when it is nothing.
func newProtection(s *farm.Service) (*protection, error) {
	a := s.Auth
	if a == nil {
		return nil, nil
	}
	p := &protection{users: guard.NewUsers(a.Users), keys: guard.NewKeys(a.Keys), header: strings.ToLower(a.Header), passes: a.Pass}
	switch {
	case p.users == nil && p.keys == nil:
		return nil, errors.New("protection: neither users nor keys are let in")
	case s.Redirect != "":
		return nil, errors.New("protection: a redirect cannot be protected")
	}
	realm := a.Realm
	if realm == "" {
		realm = farm.DefaultRealm
	}
	if strings.ContainsAny(realm, "\r\n") {
		return nil, errors.New("protection: the realm is more than a line")
	}
	realm = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(realm)
	p.challenge = fmt.Appendf(nil, "WWW-Authenticate: Basic realm=\"%s\", charset=\"UTF-8\"\r\n", realm)
	p.keyless = fmt.Appendf(nil, "WWW-Authenticate: Key realm=\"%s\"\r\n", realm)
	return p, nil
}

var (
	refusedKey       = refused.Because(refused.Unauthorized, 401, "no key the service knows")
	refusedStranger  = refused.Because(refused.Unauthorized, 401, "no credentials")
	refusedMalformed = refused.Because(refused.Unauthorized, 401, "credentials that cannot be read")
	refusedPassword  = refused.Because(refused.Unauthorized, 401, "wrong user or password")
	refusedGuesses   = refused.Because(refused.RateLimited, 429, "too many wrong passwords from one client")
	refusedBusy      = refused.Because(refused.RateLimited, 503, "too many passwords to be checked")
)

// guesses is how many passwords of one client may be wrong or wait to be checked:
// thirty, then one more in half a minute.
var guesses = ratelimit.New(2, time.Minute, 30)

// admit lets the request in, or has the plan say why not, or that a password has
// to be checked first. A field named twice is a reason: the backend could take the
// other one.
func (a *protection) admit(q *query, p *plan) {
	r := q.req
	if a.keys != nil {
		i := r.Lookup(a.header)
		if i < 0 || r.LookupFrom(a.header, i+1) >= 0 || !a.keys.Holds(r.Value(i)) {
			p.lines = a.keyless
			p.refuse(q, stepAuth, refusedKey)
			return
		}
	}
	if a.users == nil {
		return
	}
	if no := a.password(q, p); no != nil {
		p.lines = a.challenge
		p.refuse(q, stepAuth, no)
	}
}

// password judges the credentials of the request.
func (a *protection) password(q *query, p *plan) *refused.Cause {
	r := q.req
	i := r.Find(http1.KnownAuthorization)
	switch {
	case i < 0:
		return refusedStranger
	case r.LookupFrom("authorization", i+1) >= 0:
		return refusedMalformed
	}
	var verdict guard.Verdict
	verdict, p.digest = q.gate.Look(a.users, r.Value(i), q.now)
	switch {
	case verdict == guard.Right:
	case verdict == guard.Malformed:
		return refusedMalformed
	case q.trail == nil:
		p.unchecked = true
	case !q.gate.Job().Right(): // no loop waits for an explanation
		return refusedPassword
	}
	return nil
}

// strip takes the credentials out, so that backends cannot use them elsewhere.
func (a *protection) strip(h *http1.Head) {
	if a.passes {
		return
	}
	if a.users != nil {
		for i := h.Find(http1.KnownAuthorization); i >= 0 && h.Remove(i); {
			i = h.Find(http1.KnownAuthorization)
		}
	}
	if a.keys != nil {
		for i := h.Lookup(a.header); i >= 0 && h.Remove(i); {
			i = h.Lookup(a.header)
		}
	}
}
