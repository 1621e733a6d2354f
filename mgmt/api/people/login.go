package people

import (
	"errors"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strconv"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/people"
)

// SessionPath is the path of login and logout.
const SessionPath = "/session"

func (s *Resource) loginOperations() []*rest.Operation {
	return []*rest.Operation{
		rest.Op(rest.Post, SessionPath, rbac.Open, "Log in", s.logIn).Asks().Audited(),
		rest.Op(rest.Delete, SessionPath, rbac.Open, "Log out", s.logOut).Asks().Audited(),
		rest.Op(rest.Post, ConfirmPath, rbac.Open, "Confirm your password and second factor", s.confirmSession).Asks().Audited().Body(&people.SessionConfirm),
	}
}

// LoggedIn is the response to a login.
type LoggedIn struct {
	Host    string `json:"host" doc:"Name of the appliance"`
	User    string `json:"user"`
	Version string `json:"version" doc:"Version of the appliance"`
}

// sameSite returns the SameSite mode of the session cookie: strict, except for pages under
// development on other origins.
func (s *Resource) sameSite(r *http.Request) http.SameSite {
	if s.deps.Developing(r) {
		return http.SameSiteNoneMode
	}
	return http.SameSiteStrictMode
}

// logIn responds with a session cookie. The user has just proven password and second
// factor.
func (s *Resource) logIn(c *rest.Call) (LoggedIn, error) { return s.enter(c, true) }

// enter responds with the cookie of a new session. It is raised if the user has just proven
// the credentials.
func (s *Resource) enter(c *rest.Call, raised bool) (LoggedIn, error) {
	token, ok := s.deps.Guard.Begin(c.By)
	if !ok {
		return LoggedIn{}, Unauthorized(s.deps.Log, c.Request, auth.ErrBadCredential)
	}
	if raised {
		s.deps.Guard.Raise(token)
	}
	c.Cookie = (&http.Cookie{Name: auth.Cookie, Value: token, Path: "/", HttpOnly: true, Secure: c.Request.TLS != nil, SameSite: s.sameSite(c.Request)}).String()
	host, _ := os.Hostname()
	s.deps.Log.Info("logged in", "user", c.By.Name, "source", c.By.Source)
	return LoggedIn{Host: host, User: c.By.Name, Version: s.deps.Version}, nil
}

func (s *Resource) logOut(c *rest.Call) (rest.Done, error) {
	if !s.deps.Guard.LogOut(c.Request) {
		return rest.Done{}, NoSession()
	}
	c.Cookie = (&http.Cookie{Name: auth.Cookie, Path: "/", MaxAge: -1, HttpOnly: true, Secure: c.Request.TLS != nil, SameSite: s.sameSite(c.Request)}).String()
	return rest.NewDone(c.Summary(), "You are logged out."), nil
}

// wrong lists the errors caused by the caller.
var wrong = []error{auth.ErrNoCredential, auth.ErrBadCredential, auth.ErrLoggedIn, auth.ErrNotAllowed}

// Unauthorized returns the response to an unauthenticated request. It is the same for every
// reason except a lock, which states the waiting time.
func Unauthorized(log *slog.Logger, r *http.Request, err error) *rest.Rejection {
	var locked *auth.LockedError
	if errors.As(err, &locked) {
		wait := strconv.Itoa(int(locked.Wait.Seconds()) + 1)
		return &rest.Rejection{Status: http.StatusTooManyRequests, Description: "Authorization", Cause: err,
			Message: "too many wrong keys or passwords: wait " + wait + " seconds", Header: http.Header{"Retry-After": {wait}}}
	}
	var known *rest.Rejection
	if errors.As(err, &known) {
		return known
	}
	if errors.Is(err, auth.ErrBadCredential) {
		log.Warn("wrong API key or password", "remote", r.RemoteAddr)
	}
	if !slices.ContainsFunc(wrong, func(known error) bool { return errors.Is(err, known) }) {
		return unasked(err)
	}
	message, details := unlogged(err)
	return &rest.Rejection{Status: http.StatusUnauthorized, Description: "Authorization", Cause: err,
		Message: message, Details: details}
}

func NoSession() *rest.Rejection {
	return rest.BadRequest("there is no session to end: send the cookie %s of one that holds", auth.Cookie)
}

// unasked returns the response for a password that could not be verified.
func unasked(err error) *rest.Rejection {
	return &rest.Rejection{Status: http.StatusServiceUnavailable, Description: "Authorization", Cause: err,
		Message: "the password cannot be checked now: see the log of the appliance, or use an API key"}
}

// unlogged returns the texts for a failed login; some failures have texts of their own.
func unlogged(err error) (message, details string) {
	switch err {
	case auth.ErrLoggedIn:
		return "You are logged in already.", "end the session (DELETE " + SessionPath + ") to begin another one"
	case auth.ErrNotAllowed:
		return "The user may not log in.", "the user lacks the permission webgui_permissions"
	}
	return "Authorization required", "send an API key in the header ZAPI_KEY, or user and password (Authorization: Basic) with POST " + SessionPath + ", and with a second factor its code in the header " + auth.CodeHeader
}
