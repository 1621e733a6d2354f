package proxy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/ratelimit"
	"github.com/sluicelb/sluice/l7/guard"
	"github.com/sluicelb/sluice/l7/http1"
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

// denial is why somebody is not let in, and what the answer says beside it. A
// field named twice is a reason: the backend could take the other one.
type denial struct {
	*refused
	lines []byte
}

var (
	refusedKey       = &refused{unauthorized, 401, "no key the service knows"}
	refusedStranger  = &refused{unauthorized, 401, "no credentials"}
	refusedMalformed = &refused{unauthorized, 401, "credentials that cannot be read"}
	refusedPassword  = &refused{unauthorized, 401, "wrong user or password"}
	refusedGuesses   = &refused{rateLimited, 429, "too many wrong passwords from one client"}
	refusedBusy      = &refused{rateLimited, 503, "too many passwords to be checked"}
)

// guesses is how many passwords of one client may be wrong or wait to be checked:
// thirty, then one more in half a minute.
var guesses = ratelimit.New(2, time.Minute, 30)

// admit lets the request at hand in (nil, zero), or says why not, or what has
// to be checked first.
func (p *protection) admit(w *worker, cl *client, f *farmTable) (*login, denial) {
	r := &w.req
	if p.keys != nil {
		i := r.Lookup(p.header)
		if i < 0 || r.LookupFrom(p.header, i+1) >= 0 || !p.keys.Holds(r.Value(i)) {
			return nil, denial{refusedKey, p.keyless}
		}
	}
	if p.users == nil {
		return nil, denial{}
	}
	i := r.Find(http1.KnownAuthorization)
	switch {
	case i < 0:
		return nil, denial{refusedStranger, p.challenge}
	case r.LookupFrom("authorization", i+1) >= 0:
		return nil, denial{refusedMalformed, p.challenge}
	}
	verdict, digest := w.gate.Look(p.users, r.Value(i), w.clock())
	switch verdict {
	case guard.Right:
		return nil, denial{}
	case guard.Malformed:
		return nil, denial{refusedMalformed, p.challenge}
	}
	if w.query.trail != nil { // no loop waits for an explanation
		if !w.gate.Job().Right() {
			return nil, denial{refusedPassword, p.challenge}
		}
		return nil, denial{}
	}
	if l := w.logins[digest]; l != nil {
		return l, denial{}
	}
	return w.check(p, cl, f, digest)
}

// strip takes the credentials out, so that backends cannot use them elsewhere.
func (p *protection) strip(h *http1.Head) {
	if p.passes {
		return
	}
	if p.users != nil {
		for i := h.Find(http1.KnownAuthorization); i >= 0 && h.Remove(i); {
			i = h.Find(http1.KnownAuthorization)
		}
	}
	if p.keys != nil {
		for i := h.Lookup(p.header); i >= 0 && h.Remove(i); {
			i = h.Lookup(p.header)
		}
	}
}

// deny answers who is not let in. That a client has not identified itself yet
// is how every visit begins, and no refusal.
func (w *worker) deny(cl *client, f *farmTable, sv *service, no denial, rest []byte) int {
	if no.refused != refusedStranger {
		cl.note(no.class, no.status, no.reason)
	}
	return w.answerWith(cl, f, sv, no.status, no.lines, rest)
}

// retryAfter is the field line that tells a client to wait that many
// nanoseconds. It is good until the next call on the loop.
func (w *worker) retryAfter(wait int64) []byte {
	w.extra = append(w.extra[:0], "Retry-After: "...)
	w.extra = strconv.AppendInt(w.extra, (wait+second-1)/second, 10)
	w.extra = append(w.extra, "\r\n"...)
	return w.extra
}
