package api

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"slices"
	"strconv"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// SessionTable is the persistence sessions the engine keeps. Static ones are
// configuration: they are made and deleted like a backend is, and the engine
// has them from there. Its errors are apply.ErrUnavailable while there is no
// engine, and ErrSessionRefused.
type SessionTable interface {
	// List gives at most limit sessions of a service, static ones first, and how
	// many there are.
	List(ctx context.Context, f *farm.Farm, s *farm.Service, limit int) (list []Session, total int, err error)
	// Find gives one of them; false when there is none.
	Find(ctx context.Context, s *farm.Service, session string) (Session, bool, error)
	// Delete forgets a dynamic session; false when there was none.
	Delete(ctx context.Context, s *farm.Service, session string) (bool, error)
	// Flush forgets all dynamic ones, and says how many.
	Flush(ctx context.Context, s *farm.Service) (int, error)
}

// ErrSessionRefused: the engine does not make a change of sessions. The error
// that wraps it says why, for the client too.
var ErrSessionRefused = errors.New("the sessions were not changed")

// maxListed bounds the sessions of one answer.
const maxListed = 1000

func (s *Server) sessionOperations() []*operation {
	if s.deps.SessionTable == nil {
		return nil
	}
	const all = "/farms/{farm}/services/{service}/sessions"
	return []*operation{
		op(get, all, auth.RightRead, "List the sessions of a service", s.listSessions).
			with("limit", "How many to list at most, 1 to 1000; 1000 when not sent").
			with("session", "Only this one"),
		op(post, all, auth.RightOperate, "Create a static session", s.createSession).body(sessionFields{}).created(),
		op(del, all, auth.RightOperate, "Delete all dynamic sessions of a service", s.flushSessions).
			with("session", "Only this one, static or not: for sessions that cannot stand in a path"),
		op(del, all+"/{session}", auth.RightOperate, "Delete a session", s.deleteSession),
	}
}

// SessionList is the answer about the sessions of a service.
type SessionList struct {
	List[Session]
	Total int `json:"total_sessions" doc:"All there are; at most 1000 are listed, static ones first"`
}

func (s *Server) listSessions(c *call) (SessionList, error) {
	f, v, err := c.service()
	if err != nil {
		return SessionList{}, err
	}
	limit, err := c.number("limit", maxListed, 1, maxListed)
	if err != nil {
		return SessionList{}, err
	}
	description := fmt.Sprintf("List the sessions of service %s of farm %s", v.Name, f.Name)
	if session := c.query("session"); session != "" {
		found, err := s.findSession(c, v, session)
		return SessionList{list(description, found), len(found)}, err
	}
	sessions, total, err := s.deps.SessionTable.List(c.ctx, f, v, int(limit))
	if err != nil {
		return SessionList{}, sessionRefusal(err)
	}
	return SessionList{list(description, sessions), total}, nil
}

func (s *Server) findSession(c *call, v *farm.Service, session string) ([]Session, error) {
	session = keptAs(v, session)
	if at := staticAt(v, session); at >= 0 {
		return []Session{staticSession(v, at, session)}, nil
	}
	found, ok, err := s.deps.SessionTable.Find(c.ctx, v, session)
	if err != nil || !ok {
		return nil, sessionRefusal(err)
	}
	return []Session{found}, nil
}

// keptAs is the form a session that a request names is kept in.
func keptAs(v *farm.Service, session string) string {
	if addr, err := netip.ParseAddr(session); err == nil && v.Persistence == farm.PersistIP {
		return addr.Unmap().String()
	}
	return session
}

// staticAt is the position of the backend a static session goes to, -1 when
// there is no such session.
func staticAt(v *farm.Service, session string) int {
	return slices.IndexFunc(v.Backends, func(b farm.Backend) bool { return slices.Contains(b.Sessions, session) })
}

func staticSession(v *farm.Service, at int, session string) Session {
	b := &v.Backends[at]
	return Session{Client: session, ID: at, Session: session, BackendIP: b.Host, BackendPort: b.Port, Service: v.Name, Type: "static"}
}

// sessionFields is the body of the creation of a session.
type sessionFields struct{}

// Params lists the fields for the document.
func (sessionFields) Params() []validate.Param {
	return []validate.Param{
		{Name: "id", Options: []string{"required", "non_blank"}, Description: "Position of the backend in its service."},
		{Name: "session", Options: []string{"required", "non_blank"}, Description: "What the client is recognised by: its address, cookie, header, parameter or user."},
	}
}

func (s *Server) createSession(c *call) (Object[Session], error) {
	f, v, err := c.service()
	if err != nil {
		return Object[Session]{}, err
	}
	body, err := c.object(sessionFields{})
	if err != nil {
		return Object[Session]{}, err
	}
	position, err := sessionBackend(v, body["id"])
	if err != nil {
		return Object[Session]{}, err
	}
	session, err := validate.StaticSession(v, body["session"])
	if err != nil {
		return Object[Session]{}, badRequest("%v", err)
	}
	at := backendAt{farm: f.Name, service: v.Name, position: position, id: v.Backends[position].ID}
	_, err = c.change(fmt.Sprintf("add a static session to %s", at), func(cfg *farm.Config) error {
		v, b, err := at.in(cfg)
		if err != nil {
			return err
		}
		dropStatic(v, session)
		b.Sessions = append(b.Sessions, session)
		return nil
	})
	if err != nil {
		return Object[Session]{}, err
	}
	return Object[Session]{
		Description: fmt.Sprintf("New session of service %s of farm %s", v.Name, f.Name),
		Params:      staticSession(v, position, session),
		Message:     fmt.Sprintf("The session goes to backend %d until it is deleted.", position),
	}, nil
}

// dropStatic takes a static session out and reports whether there was one.
func dropStatic(v *farm.Service, session string) (was bool) {
	for i := range v.Backends {
		b := &v.Backends[i]
		if at := slices.Index(b.Sessions, session); at >= 0 {
			b.Sessions, was = slices.Delete(b.Sessions, at, at+1), true
		}
		if len(b.Sessions) == 0 {
			b.Sessions = nil
		}
	}
	return was
}

// sessionBackend reads the position of a backend, a number or its digits.
func sessionBackend(v *farm.Service, id any) (int, error) {
	text := fmt.Sprint(id)
	if n, ok := id.(float64); ok && n == math.Trunc(n) && math.Abs(n) < 1e6 {
		text = strconv.Itoa(int(n))
	}
	return findBackend(v, text)
}

func (s *Server) deleteSession(c *call) (Done, error) {
	f, v, err := c.service()
	if err != nil {
		return Done{}, err
	}
	return s.deleteOne(c, f, v, c.param("session"))
}

func (s *Server) deleteOne(c *call, f *farm.Farm, v *farm.Service, session string) (Done, error) {
	session = keptAs(v, session)
	was := staticAt(v, session) >= 0
	var err error
	if was {
		_, err = c.change(fmt.Sprintf("delete a static session of service %s of farm %s", v.Name, f.Name), func(cfg *farm.Config) error {
			_, v, err := findService(cfg, f.Name, v.Name)
			if err == nil {
				was = dropStatic(v, session)
			}
			return err
		})
	} else if was, err = s.deps.SessionTable.Delete(c.ctx, v, session); err != nil {
		err = sessionRefusal(err)
	}
	if err != nil {
		return Done{}, err
	}
	if !was {
		return Done{}, notFound("the session %s does not exist in the service %s of farm %s", quoteName(session), v.Name, f.Name)
	}
	return done("Delete a session", fmt.Sprintf("The session has been deleted from service %s of farm %s.", v.Name, f.Name)), nil
}

func (s *Server) flushSessions(c *call) (Done, error) {
	f, v, err := c.service()
	if err != nil {
		return Done{}, err
	}
	if session := c.query("session"); session != "" {
		return s.deleteOne(c, f, v, session)
	}
	n, err := s.deps.SessionTable.Flush(c.ctx, v)
	if err != nil {
		return Done{}, sessionRefusal(err)
	}
	return done(c.op.summary, fmt.Sprintf("%d dynamic sessions have been deleted from service %s of farm %s.", n, v.Name, f.Name)), nil
}

// sessionRefusal says why the engine did not do what was asked.
func sessionRefusal(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrSessionRefused):
		return &refusal{status: http.StatusBadRequest, message: err.Error(), cause: err}
	case errors.Is(err, apply.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return &refusal{status: http.StatusServiceUnavailable, message: "the engine does not answer, and it is what keeps sessions: try again", cause: err}
	}
	return err
}
