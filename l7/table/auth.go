package table

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/guard"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rejected"
)

// Protection holds the authentication rules of a service.
type Protection struct {
	users         *guard.Users // nil without basic authentication
	Keys          *guard.Keys  // nil without API keys
	Header        string       // name of the field with the key, in lower case
	passes        bool         // credentials are forwarded to backends
	UserChallenge []byte       // field line of a 401 without a valid user
	keyless       []byte       // field line of a 401 without a valid key
}

// newProtection compiles the authentication of a service, or returns nil if it has none.
func newProtection(s *farm.Service) (*Protection, error) {
	a := s.Auth
	if a == nil {
		return nil, nil
	}
	p := &Protection{users: guard.NewUsers(a.Users), Keys: guard.NewKeys(a.Keys), Header: strings.ToLower(a.Header), passes: a.Pass}
	switch {
	case p.users == nil && p.Keys == nil:
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
	p.UserChallenge = fmt.Appendf(nil, "WWW-Authenticate: Basic realm=\"%s\", charset=\"UTF-8\"\r\n", realm)
	p.keyless = fmt.Appendf(nil, "WWW-Authenticate: Key realm=\"%s\"\r\n", realm)
	return p, nil
}

// Refusals of the loop. Wrong passwords, rate-limited guesses and passwords that cannot be
// verified now are reported by the worker that verifies them.
var (
	refusedKey       = rejected.Because(rejected.Unauthorized, 401, "no key the service knows")
	refusedUsers     = rejected.Because(rejected.BadTarget, 400, "the path can be read as one of two services with different users")
	refusedMalformed = rejected.Because(rejected.Unauthorized, 401, "credentials that cannot be read")
	RefusedStranger  = rejected.Because(rejected.Unauthorized, 401, "no credentials")
	RefusedPassword  = rejected.Because(rejected.Unauthorized, 401, "wrong user or password")
	RefusedGuesses   = rejected.Because(rejected.RateLimited, 429, "too many wrong passwords from one client")
	RefusedBusy      = rejected.Because(rejected.RateLimited, 503, "too many passwords to be checked")
)

// admit accepts or refuses the request, or records that a password must be verified first. A
// repeated field is refused, because the backend could use the other value.
func (a *Protection) admit(q *Query, p *Plan) {
	r := q.Req
	if a.Keys != nil {
		i := r.Lookup(a.Header)
		if i < 0 || r.LookupFrom(a.Header, i+1) >= 0 || !a.Keys.Holds(r.Value(i)) {
			p.Lines = a.keyless
			p.Refuse(q, StepAuth, refusedKey)
			return
		}
	}
	if a.users == nil || p.Auth != nil && p.Auth.users.Same(a.users) {
		return
	}
	if p.Auth != nil {
		p.Refuse(q, StepAuth, refusedUsers)
		return
	}
	p.Auth = a
	if no := a.password(q, p); no != nil {
		p.Lines = a.UserChallenge
		p.Refuse(q, StepAuth, no)
	}
}

// password checks the credentials of the request.
func (a *Protection) password(q *Query, p *Plan) *rejected.Cause {
	r := q.Req
	i := r.Find(http1.KnownAuthorization)
	switch {
	case i < 0:
		return RefusedStranger
	case r.LookupFrom("authorization", i+1) >= 0:
		return refusedMalformed
	}
	var verdict guard.Verdict
	verdict, p.Digest = q.AuthCache.Look(a.users, r.Value(i), q.Now)
	switch {
	case verdict == guard.Right:
	case verdict == guard.Malformed:
		return refusedMalformed
	case verdict == guard.Wrong:
		return RefusedPassword
	default: // also in explanations, which anybody who sees the farm may ask for without limit
		p.Unchecked = true
	}
	return nil
}

// strip removes the credentials, so that backends cannot use them elsewhere.
func (a *Protection) strip(h *http1.Head) {
	if a.passes {
		return
	}
	if a.users != nil {
		for i := h.Find(http1.KnownAuthorization); i >= 0 && h.Remove(i); {
			i = h.Find(http1.KnownAuthorization)
		}
	}
	if a.Keys != nil {
		for i := h.Lookup(a.Header); i >= 0 && h.Remove(i); {
			i = h.Lookup(a.Header)
		}
	}
}
