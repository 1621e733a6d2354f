package api

import (
	"net/http"
	"os"

	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// sessionPath is where people log in and out.
const sessionPath = "/session"

// isSession reports whether a request is about a session of a person.
func isSession(r *http.Request) bool {
	return r.URL.Path == Base+sessionPath || r.URL.Path == FamilyBase+sessionPath
}

func (s *Server) loginOperations() []*operation {
	return []*operation{
		op(post, sessionPath, rbac.Open, "Log in", s.logIn).asks(),
		op(del, sessionPath, rbac.Open, "Log out", s.logOut).asks(),
	}
}

// LoggedIn is the answer to a log-in.
type LoggedIn struct {
	Host    string `json:"host" doc:"Name of the appliance"`
	User    string `json:"user"`
	Version string `json:"version" doc:"Version of the appliance"`
}

// logIn answers with the cookie of a new session. Browsers add it to requests of our
// own pages only.
func (s *Server) logIn(c *call) (LoggedIn, error) {
	token, ok := s.guard.Begin(c.by)
	if !ok {
		return LoggedIn{}, s.unauthorized(c.r, auth.ErrBadCredential)
	}
	c.cookie = (&http.Cookie{Name: auth.Cookie, Value: token, Path: "/", HttpOnly: true, Secure: c.r.TLS != nil, SameSite: http.SameSiteStrictMode}).String()
	host, _ := os.Hostname()
	s.deps.Log.Info("logged in", "user", c.by.Name, "source", c.by.Source)
	return LoggedIn{Host: host, User: c.by.Name, Version: s.deps.Version}, nil
}

func (s *Server) logOut(c *call) (Done, error) {
	if !s.guard.LogOut(c.r) {
		return Done{}, noSession()
	}
	c.cookie = (&http.Cookie{Name: auth.Cookie, Path: "/", MaxAge: -1, HttpOnly: true, Secure: c.r.TLS != nil, SameSite: http.SameSiteStrictMode}).String()
	return done(c.op.summary, "You are logged out."), nil
}

func noSession() *rejection {
	return badRequest("there is no session to end: send the cookie %s of one that holds", auth.Cookie)
}

// unasked is the answer when nobody could say whether a password is right.
func unasked(err error) *rejection {
	return &rejection{status: http.StatusServiceUnavailable, description: "Authorization", cause: err,
		message: "the password cannot be checked now: see the log of the appliance, or use an API key"}
}

// unlogged is the answer to a log-in that failed, when it is another one than that to
// any wrong credential.
func unlogged(err error) (message, details string) {
	switch err {
	case auth.ErrLoggedIn:
		return "You are logged in already.", "end the session (DELETE " + sessionPath + ") to begin another one"
	case auth.ErrNotAllowed:
		return "The user may not log in.", "the user lacks the permission webgui_permissions"
	}
	return "Authorization required", "send an API key in the header ZAPI_KEY, or user and password (Authorization: Basic) with POST " + sessionPath
}
