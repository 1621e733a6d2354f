package role

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/link"
	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/apply"
)

// sessionsTimeout bounds what statistics wait for an engine that is busy or
// stuck; their counters need no engine.
const sessionsTimeout = 2 * time.Second

// asker answers what sessions a service has; *publish.Publisher is one.
type asker interface {
	Sessions(ctx context.Context, service uint32, limit int) (total int, list []link.Session, err error)
}

// sessions is api.Deps.Sessions. While the engine does not answer there are
// none to show.
func (m *manager) sessions(ctx context.Context, f *farm.Farm, service string) ([]api.Session, int, error) {
	ctx, cancel := context.WithTimeout(ctx, sessionsTimeout)
	defer cancel()
	list, total, err := farmSessions(ctx, m.publisher, f, service, link.MaxSessions)
	switch {
	case err == nil:
		return list, total, nil
	case errors.Is(err, apply.ErrUnavailable), errors.Is(err, context.Canceled): // the engine is away, or the client
		slog.Debug("sessions not shown", "farm", f.Name, "cause", err)
	default:
		slog.Warn("sessions not shown", "farm", f.Name, "cause", err)
	}
	return nil, 0, nil
}

// farmSessions asks for the sessions of a farm, of one service when it is
// named: how many there are, and at most limit of them. A farm that is stopped
// has its static ones, which the engine is not asked for.
func farmSessions(ctx context.Context, engine asker, f *farm.Farm, service string, limit int) (list []api.Session, total int, err error) {
	if f.HTTP == nil {
		return nil, 0, nil
	}
	for i := range f.HTTP.Services {
		s := &f.HTTP.Services[i]
		if s.Persistence == farm.PersistNone || service != "" && s.Name != service {
			continue
		}
		n, found := staticSessions(s)
		if !f.Stopped {
			if n, found, err = engine.Sessions(ctx, s.ID, limit-len(list)); err != nil {
				return nil, 0, err
			}
		}
		total += n
		list = append(list, sessionsOf(s, found[:min(len(found), limit-len(list))])...)
	}
	return list, total, nil
}

// staticSessions are those of the configuration.
func staticSessions(s *farm.Service) (n int, list []link.Session) {
	for i := range s.Backends {
		for _, key := range s.Backends[i].Sessions {
			list = append(list, link.Session{Key: []byte(key), Backend: s.Backends[i].ID, Static: true})
		}
	}
	return len(list), list
}

// sessionsOf shows the sessions of a service, static ones first, in the order
// of their keys. One of a backend that has just been deleted is left out.
func sessionsOf(s *farm.Service, found []link.Session) []api.Session {
	position := map[uint32]int{}
	for i := range s.Backends {
		position[s.Backends[i].ID] = i
	}
	var out []api.Session
	for _, e := range found {
		i, known := position[e.Backend]
		if !known {
			continue
		}
		key, b := strings.ToValidUTF8(string(e.Key), "\ufffd"), &s.Backends[i]
		out = append(out, api.Session{
			Client: key, ID: i, Session: key, BackendIP: b.Host, BackendPort: b.Port,
			Service: s.Name, TTL: timeLeft(&e), Type: kindOf(&e),
		})
	}
	slices.SortFunc(out, func(a, b api.Session) int {
		return cmp.Or(-strings.Compare(a.Type, b.Type), strings.Compare(a.Session, b.Session))
	})
	return out
}

// timeLeft writes whole seconds, the last one begun counted: what lives still
// is never shown with none. Static sessions have no such time.
func timeLeft(e *link.Session) *string {
	if e.Static {
		return nil
	}
	left := (e.TTL + time.Second - 1).Truncate(time.Second).String()
	return &left
}

func kindOf(e *link.Session) string {
	if e.Static {
		return "static"
	}
	return "dynamic"
}

// sessionTable is api.SessionTable: what mgmt asks of the engine.
type sessionTable struct {
	engine interface {
		asker
		Session(ctx context.Context, service uint32, key []byte) (s link.Session, ok bool, err error)
		ChangeSessions(ctx context.Context, change link.SessionChange) (changed int, err error)
	}
}

// List implements api.SessionTable.
func (t sessionTable) List(ctx context.Context, f *farm.Farm, s *farm.Service, limit int) ([]api.Session, int, error) {
	ctx, cancel := context.WithTimeout(ctx, sessionsTimeout)
	defer cancel()
	return farmSessions(ctx, t.engine, f, s.Name, limit)
}

// Find implements api.SessionTable.
func (t sessionTable) Find(ctx context.Context, s *farm.Service, session string) (api.Session, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, sessionsTimeout)
	defer cancel()
	found, ok, err := t.engine.Session(ctx, s.ID, []byte(session))
	if err != nil || !ok {
		return api.Session{}, false, err
	}
	list := sessionsOf(s, []link.Session{found})
	if len(list) == 0 {
		return api.Session{}, false, nil
	}
	return list[0], true, nil
}

// Delete implements api.SessionTable.
func (t sessionTable) Delete(ctx context.Context, s *farm.Service, session string) (bool, error) {
	n, err := t.change(ctx, link.SessionChange{Service: s.ID, Act: link.DeleteSession, Key: []byte(session)})
	return n > 0, err
}

// Flush implements api.SessionTable.
func (t sessionTable) Flush(ctx context.Context, s *farm.Service) (int, error) {
	return t.change(ctx, link.SessionChange{Service: s.ID, Act: link.FlushSessions})
}

func (t sessionTable) change(ctx context.Context, change link.SessionChange) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, sessionsTimeout)
	defer cancel()
	n, err := t.engine.ChangeSessions(ctx, change)
	if errors.Is(err, link.ErrRefused) {
		err = fmt.Errorf("%w: %w", api.ErrSessionRefused, err)
	}
	return n, err
}
