package people

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

func (s *Resource) openSessionOperations() []*rest.Operation {
	const all = "/rbac/sessions"
	return []*rest.Operation{
		rest.Op(rest.Get, all, rbac.Open, "List active sessions", s.listOpen),
		rest.Op(rest.Delete, all, rbac.Open, "End sessions", s.endOpen).With("user", "Only sessions of this user"),
		rest.Op(rest.Delete, all+"/{session}", rbac.Open, "End a session", s.endOne),
	}
}

// OpenSession describes a session. Only the browser knows its token.
type OpenSession struct {
	Session uint64    `json:"session" doc:"Name"`
	User    string    `json:"user"`
	Source  string    `json:"source" doc:"Source address of the login"`
	Began   time.Time `json:"began"`
	Used    time.Time `json:"used" doc:"Time of the last use"`
	Own     string    `json:"own" enum:"true,false" doc:"true for the session of this request"`
}

// seen reports whether the caller may see and end a session: root all, others their own.
func seen(c *rest.Call, o auth.OpenSession) bool { return c.By.Who.Root() || o.User == c.By.Who.Name() }

func (s *Resource) listOpen(c *rest.Call) (rest.List[OpenSession], error) {
	own := s.deps.Guard.SessionOf(c.Request)
	var out []OpenSession
	for _, o := range s.deps.Guard.Sessions() {
		if seen(c, o) {
			out = append(out, OpenSession{o.Number, o.User, o.Source, o.Began, o.Used, rest.Truth(o.Number == own)})
		}
	}
	return rest.NewList(c.Summary(), out), nil
}

func (s *Resource) endOpen(c *rest.Call) (rest.Done, error) {
	user := c.Query("user")
	if user != "" && user != c.By.Who.Name() && !c.By.Who.Root() {
		return rest.Done{}, rest.Refuse(http.StatusForbidden, "user: you may end your own sessions only")
	}
	if _, err := s.deps.Users.User(user); user != "" && err != nil {
		return rest.Done{}, rbacRejection(err)
	}
	if err := c.Act(); err != nil {
		return rest.Done{}, err
	}
	n := s.deps.Guard.EndSessions(func(o auth.OpenSession) bool { return seen(c, o) && (user == "" || o.User == user) })
	s.log(c, "sessions ended", "user", user, "number", n)
	return rest.NewDone(c.Summary(), fmt.Sprintf("%d sessions have been ended.", n)), nil
}

func (s *Resource) endOne(c *rest.Call) (rest.Done, error) {
	text := c.Param("session")
	number, err := strconv.ParseUint(text, 10, 63)
	missing := rest.NotFound("the session %s does not exist", rest.Quote(text))
	if err != nil || strconv.FormatUint(number, 10) != text {
		return rest.Done{}, missing
	}
	known := false
	for _, o := range s.deps.Guard.Sessions() {
		known = known || o.Number == number && seen(c, o)
	}
	if !known {
		return rest.Done{}, missing
	}
	if err := c.Act(); err != nil {
		return rest.Done{}, err
	}
	s.deps.Guard.EndSessions(func(o auth.OpenSession) bool { return o.Number == number })
	s.log(c, "session ended", "session", number)
	return rest.NewDone(c.Summary(), fmt.Sprintf("The session %d has been ended.", number)), nil
}
