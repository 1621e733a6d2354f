package auth

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/sluicelb/sluice/mgmt/rbac"
)

// Cookie is the name of the cookie a session is known by.
const Cookie = "CGISESSID"

// CodeHeader is where a log-in carries the code of the second factor.
const CodeHeader = "X-OTP"

// LogIn identifies the sender of a request for a session by user and password, and the
// code of the second factor where the user has one. What is wrong of these is said to
// nobody, and counted by source and by user. Errors: those of Identify, ErrLoggedIn,
// ErrNotAllowed, and what the service says that knows the password.
func (g *Guard) LogIn(r *http.Request) (Principal, error) {
	if _, ok := g.session(r); ok {
		return Principal{}, ErrLoggedIn
	}
	user, password, ok := r.BasicAuth()
	if !ok {
		return Principal{}, ErrNoCredential
	}
	source, text := remote(r)
	if wait := max(g.throttle.Wait(source), g.nameWait(user, source)); wait > 0 {
		return Principal{}, &LockedError{Wait: wait}
	}
	even := time.After(g.Even)
	switch err := g.verify(r, user, password); {
	case err == nil:
	case errors.Is(err, rbac.ErrWrong) || errors.Is(err, rbac.ErrCode):
		g.throttle.Failed(source)
		g.names.Failed(user)
		select {
		case <-even:
		case <-r.Context().Done():
		}
		return Principal{}, ErrBadCredential
	case errors.Is(err, rbac.ErrNotAllowed):
		return Principal{}, ErrNotAllowed
	default:
		return Principal{}, err
	}
	g.throttle.Succeeded(source)
	g.names.Succeeded(user)
	g.places.add(user, source)
	who, _ := g.book.Identity(user)
	return Principal{Name: user, Source: text, Who: who}, nil
}

// verify checks the password, then the code: one that is right is used up only by who
// knows the password.
func (g *Guard) verify(r *http.Request, user, password string) error {
	ctx, cancel := context.WithTimeout(r.Context(), logInTime)
	defer cancel()
	if _, err := g.book.Verify(ctx, user, password); err != nil {
		return err
	}
	return g.book.TakeCode(user, r.Header.Get(CodeHeader), g.now())
}

// nameWait is how long a user must wait that others guessed at; not where it logged
// in from before, so that a stranger keeps nobody out.
func (g *Guard) nameWait(user string, source netip.Addr) time.Duration {
	if g.places.has(user, source) {
		return 0
	}
	return g.names.Wait(user)
}

// maxPlaces bounds the places that are remembered.
const maxPlaces = 4096

// places are where users logged in from, an IPv6 one its /64.
type places struct {
	mu   sync.Mutex
	seen map[place]struct{}
}

type place struct {
	user   string
	source netip.Prefix
}

func (p *places) add(user string, source netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen == nil {
		p.seen = map[place]struct{}{}
	}
	for old := range p.seen { // any one goes: it waits like others then
		if len(p.seen) < maxPlaces {
			break
		}
		delete(p.seen, old)
	}
	p.seen[place{user, block(source)}] = struct{}{}
}

func (p *places) has(user string, source netip.Addr) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, is := p.seen[place{user, block(source)}]
	return is
}

// Begin makes a session of who logged in.
func (g *Guard) Begin(by Principal) (token string, ok bool) {
	epoch, ok := g.book.Epoch(by.Name)
	if !ok { // deleted since
		return "", false
	}
	return g.sessions.Begin(by.Name, by.Source, epoch), true
}

// Vouched is the principal of a user whom somebody else vouched for.
func (g *Guard) Vouched(r *http.Request, user string) Principal {
	who, _ := g.book.Identity(user)
	return Principal{Name: user, Source: Source(r), Who: who}
}

// LifeOfSessions says how long sessions live without a request, from now on.
func (g *Guard) LifeOfSessions(life func() time.Duration) { g.sessions.life = life }

// Sessions lists the sessions that hold.
func (g *Guard) Sessions() []OpenSession { return g.sessions.List(g.book.Epoch) }

// EndSessions ends those, and says how many these were.
func (g *Guard) EndSessions(which func(OpenSession) bool) int { return g.sessions.EndThose(which) }

// SessionOf is the number of the session of a request, 0 where it has none.
func (g *Guard) SessionOf(r *http.Request) uint64 {
	cookies := r.CookiesNamed(Cookie)
	if len(cookies) != 1 || KeyUsed(r) {
		return 0
	}
	return g.sessions.numberOf(cookies[0].Value)
}

// LogOut ends the session of a request; false when it has none that holds.
func (g *Guard) LogOut(r *http.Request) bool {
	if _, ok := g.session(r); !ok {
		return false
	}
	cookie, _ := r.Cookie(Cookie)
	return g.sessions.End(cookie.Value)
}

// session returns the user of the session of a request.
func (g *Guard) session(r *http.Request) (user string, ok bool) {
	cookies := r.CookiesNamed(Cookie)
	if len(cookies) != 1 { // two hops must not be able to read two different ones
		return "", false
	}
	return g.sessions.Find(cookies[0].Value, g.book.Epoch)
}

// Right reports whether a password is that of a user who asks for something it is
// needed for. Wrong ones are counted like those of log-ins. Errors: *LockedError, and
// what the service says that knows the password.
func (g *Guard) Right(r *http.Request, user, password string) (bool, error) {
	source, _ := remote(r)
	if wait := g.nameWait(user, source); wait > 0 {
		return false, &LockedError{Wait: wait}
	}
	ctx, cancel := context.WithTimeout(r.Context(), logInTime)
	defer cancel()
	switch _, err := g.book.Verify(ctx, user, password); err {
	case nil, rbac.ErrNotAllowed:
		g.names.Succeeded(user)
		return true, nil
	case rbac.ErrWrong:
		g.names.Failed(user)
		return false, nil
	default:
		return false, err
	}
}

// Code reports whether a code is that of the user's second factor, and takes it. Wrong
// ones are counted like passwords. Errors: *LockedError, and why it could not be checked.
func (g *Guard) Code(r *http.Request, user, code string) (bool, error) {
	source, _ := remote(r)
	if wait := g.nameWait(user, source); wait > 0 {
		return false, &LockedError{Wait: wait}
	}
	switch err := g.book.TakeCode(user, code, g.now()); {
	case err == nil:
		return true, nil
	case errors.Is(err, rbac.ErrCode):
		g.names.Failed(user)
		return false, nil
	default:
		return false, err
	}
}
