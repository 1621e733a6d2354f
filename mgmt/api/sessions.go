package api

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// SessionTable is the persistence sessions the engine keeps. Its errors are
// apply.ErrUnavailable while there is no engine, and ErrSessionRefused.
type SessionTable interface {
	// List gives the sessions of a service and how many there are: the list may
	// be cut.
	List(ctx context.Context, f *farm.Farm, s *farm.Service) (list []Session, total int, err error)
	// Put makes a static session: whoever is recognised by it goes to the
	// backend with that stable number until it is deleted.
	Put(ctx context.Context, s *farm.Service, backend uint32, session string) error
	// Delete forgets a session; false when there was none.
	Delete(ctx context.Context, s *farm.Service, session string) (bool, error)
	// Flush forgets all but the static ones, and says how many.
	Flush(ctx context.Context, s *farm.Service) (int, error)
}

// ErrSessionRefused: the engine does not make a change of sessions. The error
// that wraps it says why, for the client too.
var ErrSessionRefused = errors.New("the sessions were not changed")

func (s *Server) sessionOperations() []*operation {
	if s.deps.SessionTable == nil {
		return nil
	}
	const all = "/farms/{farm}/services/{service}/sessions"
	return []*operation{
		op(get, all, auth.RightRead, "List the sessions of a service", s.listSessions),
		op(post, all, auth.RightOperate, "Create a static session", s.createSession).body(sessionFields{}).created(),
		op(del, all, auth.RightOperate, "Delete all dynamic sessions of a service", s.flushSessions).
			with("session", "Only this one, static or not: for sessions that cannot stand in a path"),
		op(del, all+"/{session}", auth.RightOperate, "Delete a session", s.deleteSession),
	}
}

// SessionList is the answer about the sessions of a service.
type SessionList struct {
	List[Session]
	Total int `json:"total_sessions" doc:"All there are; at most 1000 are listed"`
}

func (s *Server) listSessions(c *call) (SessionList, error) {
	f, v, err := c.service()
	if err != nil {
		return SessionList{}, err
	}
	sessions, total, err := s.deps.SessionTable.List(c.ctx, f, v)
	if err != nil {
		return SessionList{}, sessionRefusal(err)
	}
	return SessionList{list(fmt.Sprintf("List the sessions of service %s of farm %s", v.Name, f.Name), sessions), total}, nil
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

// maxSession is the longest session in bytes: what the engine looks at of what
// a client sends.
const maxSession = 255

func (s *Server) createSession(c *call) (Object[Session], error) {
	f, v, err := c.service()
	if err != nil {
		return Object[Session]{}, err
	}
	body, err := c.object(sessionFields{})
	if err != nil {
		return Object[Session]{}, err
	}
	at, err := sessionBackend(v, body["id"])
	if err != nil {
		return Object[Session]{}, err
	}
	session, err := sessionText(v, body["session"])
	if err != nil {
		return Object[Session]{}, err
	}
	b := &v.Backends[at]
	if err := s.deps.SessionTable.Put(c.ctx, v, b.ID, session); err != nil {
		return Object[Session]{}, sessionRefusal(err)
	}
	return Object[Session]{
		Description: fmt.Sprintf("New session of service %s of farm %s", v.Name, f.Name),
		Params: Session{Client: session, ID: at, Session: session, BackendIP: b.Host, BackendPort: b.Port,
			Service: v.Name, Type: "static"},
		Message: fmt.Sprintf("The session goes to backend %d until it is deleted.", at),
	}, nil
}

// sessionBackend reads the position of a backend, a number or its digits.
func sessionBackend(v *farm.Service, id any) (int, error) {
	text := fmt.Sprint(id)
	if n, ok := id.(float64); ok && n == math.Trunc(n) && math.Abs(n) < 1e6 {
		text = strconv.Itoa(int(n))
	}
	return findBackend(v, text)
}

// sessionText reads a session, in the form in which the engine finds it in
// requests.
func sessionText(v *farm.Service, value any) (string, error) {
	text, ok := value.(string)
	if !ok || text == "" || len(text) > maxSession {
		return "", badRequest("session must be a text of 1 to %d bytes", maxSession)
	}
	if !utf8.ValidString(text) {
		return "", badRequest("session must be a text in UTF-8")
	}
	for _, r := range text {
		if unicode.IsControl(r) {
			return "", badRequest("session must not hold control characters")
		}
	}
	if v.Persistence != farm.PersistIP {
		return text, nil
	}
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return "", badRequest("session must be the address of a client with persistence IP, got %s", quoteName(text))
	}
	return addr.Unmap().String(), nil
}

func (s *Server) deleteSession(c *call) (Done, error) {
	f, v, err := c.service()
	if err != nil {
		return Done{}, err
	}
	return s.deleteOne(c, f, v, c.param("session"))
}

func (s *Server) deleteOne(c *call, f *farm.Farm, v *farm.Service, session string) (Done, error) {
	was, err := s.deps.SessionTable.Delete(c.ctx, v, session)
	if err != nil {
		return Done{}, sessionRefusal(err)
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
	return done(c.op.summary, fmt.Sprintf("%d sessions have been deleted from service %s of farm %s.", n, v.Name, f.Name)), nil
}

// sessionRefusal says why the engine did not do what was asked.
func sessionRefusal(err error) error {
	switch {
	case errors.Is(err, ErrSessionRefused):
		return &refusal{status: http.StatusBadRequest, message: err.Error(), cause: err}
	case errors.Is(err, apply.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return &refusal{status: http.StatusServiceUnavailable, message: "the engine does not answer, and it is what keeps sessions: try again", cause: err}
	}
	return err
}
