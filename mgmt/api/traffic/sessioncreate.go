package traffic

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// A created session is static, i.e. part of the configuration. With a ttl it is dynamic, as
// if the client had connected (contract, session table: sessions can be added with a TTL).

// sessionFields is the body for creating a session.
type sessionFields struct{}

// Params lists the fields for OpenAPI.
func (sessionFields) Params() []field.Param {
	return []field.Param{
		{Name: "id", Options: []string{"required", "non_blank"}, Description: "Number of the backend in its service or farm."},
		{Name: "session", Options: []string{"required", "non_blank"}, Description: "Client identity: address, cookie, header, parameter or user; for an l4xnat farm according to its persistence, e.g. 192.0.2.7 . 4022 for srcip_srcport."},
		{Name: "ttl", Format: "integer", Interval: "1,", Description: "Lifetime of the session when idle, in seconds, at most the setting of the farm or service; without it the session is static and never expires."},
	}
}

func (s *Resource) createSession(c *rest.Call) (rest.Object[state.Session], error) {
	g, err := c.Group()
	if err != nil {
		return rest.Object[state.Session]{}, err
	}
	body, err := c.Object(sessionFields{})
	if err != nil {
		return rest.Object[state.Session]{}, err
	}
	at, err := rest.AtBackend(g, fmt.Sprint(body["id"]))
	if err != nil {
		return rest.Object[state.Session]{}, err
	}
	session, err := sessionOf(g, body["session"])
	if err != nil {
		return rest.Object[state.Session]{}, rest.BadRequest("%v", err)
	}
	if strings.Contains(session, ";") {
		return rest.Object[state.Session]{}, rest.BadRequest("session: %s is not allowed: no client is recognised by a text with ;", rest.Quote(session))
	}
	out := rest.Object[state.Session]{
		Description: fmt.Sprintf("New session of %s", g),
		Params:      state.StaticSession(g, at.Position, session),
		Message:     fmt.Sprintf("The session goes to backend %d until it is deleted.", at.Number),
	}
	if ttl, sent := body["ttl"]; sent && ttl != nil {
		return out, s.learnSession(c, g, at, session, ttl, &out)
	}
	_, err = c.Change(fmt.Sprintf("add a static session to %s", at), func(cfg *farm.Config) error {
		g, b, err := at.In(cfg)
		if err != nil {
			return err
		}
		if has := staticAt(g, session); has >= 0 {
			return rest.Refuse(http.StatusConflict, "session: %s goes to backend %d already: delete it first", rest.Quote(session), g.Number(has))
		}
		b.Sessions = append(b.Sessions, session)
		return nil
	})
	return out, err
}

// learnSession creates a dynamic session. It has no revision and expires when unused.
func (s *Resource) learnSession(c *rest.Call, g farm.Group, at rest.BackendAt, session string, ttl any, out *rest.Object[state.Session]) error {
	most := g.SessionTTL()
	seconds, ok := field.ParseNumber(ttl)
	if !ok || seconds < 1 || seconds > int64(most) {
		return rest.BadRequest("ttl must be a number from 1 to %d, the ttl of the %s, which no session outlives that is not used; got %v", most, g, rest.Quote(fmt.Sprint(ttl)))
	}
	if err := keepsDynamic(g); err != nil {
		return err
	}
	if static := staticAt(g, session); static >= 0 {
		return rest.BadRequest("session: %s is a static session of backend %d; delete it first, or leave ttl out", rest.Quote(session), g.Number(static))
	}
	life := time.Duration(seconds) * time.Second
	if err := actOnDynamic(c); err != nil {
		return err
	}
	learned, err := s.deps.SessionTable.Learn(c.Context, g, session, at.ID, life)
	switch {
	case err != nil:
		return sessionRejection(g, err)
	case !learned:
		return rest.BadRequest("id: %s takes no sessions: it is in maintenance with mode cut, or has just been deleted", at)
	}
	left := life.String()
	out.Params.TTL, out.Params.Type = &left, "dynamic"
	out.Message = fmt.Sprintf("The session goes to backend %d until it has not been used for %s.", at.Number, left)
	return nil
}
