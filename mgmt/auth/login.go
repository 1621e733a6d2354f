package auth

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/sluicelb/sluice/mgmt/rbac"
)

// Cookie is the name of the session cookie.
const Cookie = "CGISESSID"

// CodeHeader is the header with the code of the second factor in a login.
const CodeHeader = "X-OTP"

// LogIn identifies the sender of a request for a session by user and password, and by the
// code of the second factor if the user has one. The error does not reveal which of these is
// wrong. It is counted by source and by user. A source that logs in a user becomes a known
// place of that user. Errors: ErrLoggedIn, ErrNotAllowed, errors of Identify and of the
// service that checks the password.
func (g *Guard) LogIn(r *http.Request) (Principal, error) {
	if _, ok := g.session(r); ok {
		return Principal{}, ErrLoggedIn
	}
	user, password, ok := r.BasicAuth()
	if !ok {
		return Principal{}, ErrNoCredential
	}
	source, text := remote(r)
	epoch, _ := g.book.Epoch(user)
	even := time.After(g.Even)
	err := g.guess(r, user, func(ctx context.Context) error { return g.verify(ctx, r, user, password) })
	switch {
	case err == nil:
	case errors.Is(err, rbac.ErrWrong) || errors.Is(err, rbac.ErrCode):
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
	g.ledger.loggedIn(user, source)
	who, _ := g.book.Identity(user)
	return Principal{Name: user, Source: text, Who: who, epoch: &epoch}, nil
}

// verify checks the password before the code, so that only a client with the password can
// use up a valid code.
func (g *Guard) verify(ctx context.Context, r *http.Request, user, password string) error {
	if _, err := g.book.Verify(ctx, network(r), user, password); err != nil {
		return err
	}
	return g.book.TakeCode(user, r.Header.Get(CodeHeader), g.now())
}

// Begin makes a session for a logged-in user. It returns false if the user was deleted or
// changed since the login began: a check may take seconds, and a password replaced meanwhile
// must not start a session.
func (g *Guard) Begin(by Principal) (token string, ok bool) {
	epoch, ok := g.book.Epoch(by.Name)
	if !ok || by.epoch != nil && *by.epoch != epoch {
		return "", false
	}
	return g.sessions.Begin(by.Name, by.Source, epoch), true
}

// Vouched returns the principal of a user who was authenticated elsewhere.
func (g *Guard) Vouched(r *http.Request, user string) Principal {
	who, _ := g.book.Identity(user)
	return Principal{Name: user, Source: Source(r), Who: who}
}

// LifeOfSessions sets the lifetime of sessions without a request.
func (g *Guard) LifeOfSessions(life func() time.Duration) { g.sessions.life = life }

// Sessions lists the valid sessions.
func (g *Guard) Sessions() []OpenSession { return g.sessions.List(g.book.Epoch) }

// EndSessions ends the selected sessions, and returns their number.
func (g *Guard) EndSessions(which func(OpenSession) bool) int { return g.sessions.EndThose(which) }

// SessionOf returns the number of the session of a request, 0 for none.
func (g *Guard) SessionOf(r *http.Request) uint64 {
	cookies := r.CookiesNamed(Cookie)
	if len(cookies) != 1 || KeyUsed(r) {
		return 0
	}
	return g.sessions.numberOf(cookies[0].Value)
}

// Confirm raises the session of a request if password and code are correct. It has the limits
// of logins. Errors: ErrNoCredential without a session, rbac.ErrWrong, rbac.ErrCode,
// *LockedError, errors of the service that checks the password.
func (g *Guard) Confirm(r *http.Request, password, code string) error {
	user, ok := g.session(r)
	if !ok || KeyUsed(r) {
		return ErrNoCredential
	}
	err := g.guess(r, user, func(ctx context.Context) error {
		if _, err := g.book.Verify(ctx, network(r), user, password); err != nil {
			return err
		}
		return g.book.TakeCode(user, code, g.now())
	})
	if err != nil {
		return err
	}
	cookie, _ := r.Cookie(Cookie)
	g.sessions.Raise(cookie.Value)
	return nil
}

// Raise raises a session whose user has just been authenticated.
func (g *Guard) Raise(token string) { g.sessions.Raise(token) }

// LogOut ends the session of a request; false if the request has no valid session.
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
	if len(cookies) != 1 { // two hops must not read different ones
		return "", false
	}
	return g.sessions.Find(cookies[0].Value, g.book.Epoch)
}
