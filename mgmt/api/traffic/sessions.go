package traffic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// SessionTable holds the persistence sessions of the engine, or of the kernel for kernel
// farms. Static sessions are configuration: they are created and deleted like backends, and
// the engine reads them from there. It returns apply.ErrUnavailable if the owner does not
// respond, and ErrSessionRefused.
type SessionTable interface {
	// List returns at most limit sessions of a group, static ones first, and their total
	// number.
	List(ctx context.Context, g farm.Group, limit int) (list []state.Session, total int, err error)
	// Find returns one session; false if it does not exist.
	Find(ctx context.Context, g farm.Group, session string) (state.Session, bool, error)
	// Delete removes a dynamic session; false if there was none.
	Delete(ctx context.Context, g farm.Group, session string) (bool, error)
	// Flush removes all dynamic sessions and returns their number.
	Flush(ctx context.Context, g farm.Group) (int, error)
	// Learn creates a dynamic session, as if the client had connected and then been idle
	// until ttl is left. It replaces a dynamic session of the client. It returns false if
	// the backend (by stable ID) accepts none.
	Learn(ctx context.Context, g farm.Group, session string, backend uint32, ttl time.Duration) (bool, error)
}

// ErrSessionRefused means that the engine or netd refused to change the sessions. The
// wrapping error gives the reason, which is also shown to the client.
var ErrSessionRefused = errors.New("the sessions were not changed")

// maxListed bounds the sessions in one response, maxSearched those that filters examine.
const (
	maxListed   = 1000
	maxSearched = 16_000 // the maximum that the engine sends at once
)

func (s *Resource) sessionOperations() []*rest.Operation {
	if s.deps.SessionTable == nil {
		return nil
	}
	return append(s.sessionsOf(rest.ServicePath, "a service"), s.sessionsOf(rest.FarmPath, "an l4xnat farm")...)
}

func (s *Resource) sessionsOf(group, whose string) []*rest.Operation {
	all := group + "/sessions"
	return []*rest.Operation{
		rest.Op(rest.Get, all, rbac.Open, "List the sessions of "+whose, s.listSessions).CutsItself().
			With("limit", "Maximum number of entries, 1 to 1000; defaults to 1000").
			With("session", "Only this session"),
		rest.Op(rest.Post, all, rbac.FarmModify, "Create a session of "+whose, s.createSession).Body(sessionFields{}).Created().Edits(),
		rest.Op(rest.Delete, all, rbac.FarmModify, "Delete all dynamic sessions of "+whose, s.flushSessions).
			With("session", "Only this session, static or not; for sessions that cannot be part of a path").Edits(),
		rest.Op(rest.Delete, all+"/{session}", rbac.FarmModify, "Delete a session of "+whose, s.deleteSession).Edits(),
	}
}

// SessionList is the response about the sessions of a group.
type SessionList struct {
	rest.List[state.Session]
	Total int `json:"total_sessions" doc:"Total number; with filters, matches among the first 16000. At most 1000 are listed, static sessions first"`
}

func (s *Resource) listSessions(c *rest.Call) (SessionList, error) {
	g, err := c.Group()
	if err != nil {
		return SessionList{}, err
	}
	limit, err := c.Number("limit", maxListed, 1, maxListed)
	if err != nil {
		return SessionList{}, err
	}
	description := fmt.Sprintf("List the sessions of %s", g)
	if session := c.Query("session"); session != "" {
		found, err := s.findSession(c, g, session)
		return SessionList{rest.NewList(description, found), len(found)}, err
	}
	most := int(limit)
	if c.Filtered() {
		most = maxSearched
	}
	sessions, total, err := s.deps.SessionTable.List(c.Context, g, most)
	if err != nil {
		return SessionList{}, sessionRejection(g, err)
	}
	if c.Filtered() {
		sessions = rest.Matching(c, sessions)
		sessions, total = sessions[:min(len(sessions), int(limit))], len(sessions)
	}
	return SessionList{rest.NewList(description, sessions), total}, nil
}

func (s *Resource) findSession(c *rest.Call, g farm.Group, session string) ([]state.Session, error) {
	session = keptAs(g, session)
	if at := staticAt(g, session); at >= 0 {
		return []state.Session{state.StaticSession(g, at, session)}, nil
	}
	found, ok, err := s.deps.SessionTable.Find(c.Context, g, session)
	if err != nil || !ok {
		return nil, sessionRejection(g, err)
	}
	return []state.Session{found}, nil
}

// keptAs returns the stored form of a session named in a request.
func keptAs(g farm.Group, session string) string {
	if kept, err := sessionOf(g, session); err == nil {
		return kept
	}
	return session // no such session is stored
}

// sessionOf converts a client identification into its stored form.
func sessionOf(g farm.Group, session any) (string, error) {
	return profile.Of(g.Farm).Session(g, session)
}

// staticAt returns the position of the backend with that static session, -1 for none.
func staticAt(g farm.Group, session string) int {
	return slices.IndexFunc(g.Backends(), func(b farm.Backend) bool { return slices.Contains(b.Sessions, session) })
}

// dropStatic removes a static session and reports whether it existed.
func dropStatic(g farm.Group, session string) (was bool) {
	list := g.Backends()
	for i := range list {
		b := &list[i]
		if at := slices.Index(b.Sessions, session); at >= 0 {
			b.Sessions, was = slices.Delete(b.Sessions, at, at+1), true
		}
		if len(b.Sessions) == 0 {
			b.Sessions = nil
		}
	}
	return was
}

func (s *Resource) deleteSession(c *rest.Call) (rest.Done, error) {
	g, err := c.Group()
	if err != nil {
		return rest.Done{}, err
	}
	return s.deleteOne(c, g, c.Param("session"))
}

func (s *Resource) deleteOne(c *rest.Call, g farm.Group, session string) (rest.Done, error) {
	session = keptAs(g, session)
	was := staticAt(g, session) >= 0
	var err error
	if was {
		_, err = c.Change(fmt.Sprintf("delete a static session of %s", g), func(cfg *farm.Config) error {
			g, err := rest.FindGroup(cfg, g.Farm.Name, g.Name())
			if err == nil {
				was = dropStatic(g, session)
			}
			return err
		})
	} else if err = actOnDynamic(c); err == nil && !g.Farm.Stopped {
		was, err = s.deps.SessionTable.Delete(c.Context, g, session)
		err = sessionRejection(g, err)
	}
	if err != nil {
		return rest.Done{}, err
	}
	if !was {
		return rest.Done{}, rest.NotFound("the session %s does not exist in the %s", rest.Quote(session), g)
	}
	return rest.NewDone("Delete a session", fmt.Sprintf("The session has been deleted from %s.", g)), nil
}

func (s *Resource) flushSessions(c *rest.Call) (rest.Done, error) {
	g, err := c.Group()
	if err != nil {
		return rest.Done{}, err
	}
	if session := c.Query("session"); session != "" {
		return s.deleteOne(c, g, session)
	}
	if err := keepsDynamic(g); err != nil {
		return rest.Done{}, err
	}
	if err := actOnDynamic(c); err != nil {
		return rest.Done{}, err
	}
	n, err := s.deps.SessionTable.Flush(c.Context, g)
	if err != nil {
		return rest.Done{}, sessionRejection(g, err)
	}
	return rest.NewDone(c.Summary(), fmt.Sprintf("%d dynamic sessions have been deleted from %s.", n, g)), nil
}

// actOnDynamic ends dry runs of calls on dynamic sessions. It rejects trials and transactions
// of them, because dynamic sessions are not part of the configuration.
func actOnDynamic(c *rest.Call) error {
	if err := c.NoConfiguration("what becomes of dynamic sessions"); err != nil {
		return err
	}
	return c.Act()
}

// keepsDynamic rejects calls on dynamic sessions of a stopped farm, for which none exist.
func keepsDynamic(g farm.Group) error {
	if g.Farm.Stopped {
		return rest.BadRequest("the farm %s is stopped: only static sessions can be changed; start it first", g.Farm.Name)
	}
	return nil
}

// sessionRejection returns the rejection for an error about sessions.
func sessionRejection(g farm.Group, err error) error {
	owner := "the engine"
	if g.Farm.InKernel() {
		owner = "netd"
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrSessionRefused):
		return &rest.Rejection{Status: http.StatusBadRequest, Message: err.Error(), Cause: err}
	case errors.Is(err, apply.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return &rest.Rejection{Status: http.StatusServiceUnavailable, Message: owner + " does not answer, and it is what keeps sessions: try again", Cause: err}
	}
	return err
}
