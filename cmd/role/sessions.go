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
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/api/traffic"
	"github.com/sluicelb/sluice/mgmt/apply"
)

// sessionsTimeout bounds what statistics wait for an engine that is busy or
// stuck; their counters need no engine.
const sessionsTimeout = 2 * time.Second

// asker answers what sessions a service has; *publish.Publisher is one.
type asker interface {
	Sessions(ctx context.Context, service uint32, limit int) (total int, list []link.Session, err error)
}

// sessionStore is who keeps the sessions of a farm, by the number of their group;
// *publish.Publisher is one, for the engine.
type sessionStore interface {
	asker
	Session(ctx context.Context, service uint32, key []byte) (s link.Session, ok bool, err error)
	ChangeSessions(ctx context.Context, change link.SessionChange) (changed int, err error)
}

// sessionStores knows who keeps the sessions of which farm.
type sessionStores struct{ engine, kernel sessionStore }

func (k sessionStores) of(f *farm.Farm) sessionStore {
	if f.InKernel() {
		return k.kernel
	}
	return k.engine
}

func (m *manager) sessionStores() sessionStores {
	return sessionStores{engine: m.publisher, kernel: m.kernel}
}

// sessions is api.Deps.Sessions. While nobody answers there are none to show.
func (m *manager) sessions(ctx context.Context, f *farm.Farm, service string) ([]state.Session, int, error) {
	ctx, cancel := context.WithTimeout(ctx, sessionsTimeout)
	defer cancel()
	list, total, err := farmSessions(ctx, m.sessionStores().of(f), f, service, link.MaxSessions)
	switch {
	case err == nil:
		return list, total, nil
	case errors.Is(err, apply.ErrUnavailable), errors.Is(err, context.Canceled): // who keeps them is away, or the client
		slog.Debug("sessions not shown", "farm", f.Name, "cause", err)
	default:
		slog.Warn("sessions not shown", "farm", f.Name, "cause", err)
	}
	return nil, 0, nil
}

// farmSessions asks for the sessions of a farm, of one service when it is
// named: how many there are, and at most limit of them.
func farmSessions(ctx context.Context, from asker, f *farm.Farm, service string, limit int) (list []state.Session, total int, err error) {
	for _, g := range f.Groups() {
		if service != "" && g.Name() != service {
			continue
		}
		found, n, err := groupSessions(ctx, from, g, limit-len(list))
		if err != nil {
			return nil, 0, err
		}
		total += n
		list = append(list, found...)
	}
	return list, total, nil
}

// groupSessions does so for one group. One of a farm that is stopped has its
// static ones, which nobody is asked for.
func groupSessions(ctx context.Context, from asker, g farm.Group, limit int) (list []state.Session, total int, err error) {
	if !g.KeepsSessions() {
		return nil, 0, nil
	}
	total, found := staticSessions(g)
	if !g.Farm.Stopped {
		if total, found, err = from.Sessions(ctx, g.ID(), limit); err != nil {
			return nil, 0, err
		}
	}
	return sessionsOf(g, found[:min(len(found), limit)]), total, nil
}

// staticSessions are those of the configuration.
func staticSessions(g farm.Group) (n int, list []link.Session) {
	for _, b := range g.Backends() {
		for _, key := range b.Sessions {
			list = append(list, link.Session{Key: []byte(key), Backend: b.ID, Static: true})
		}
	}
	return len(list), list
}

// sessionsOf shows the sessions of a group, static ones first, in the order of
// their keys. One of a backend that has just been deleted is left out.
func sessionsOf(g farm.Group, found []link.Session) []state.Session {
	position := map[uint32]int{}
	for i, b := range g.Backends() {
		position[b.ID] = i
	}
	var out []state.Session
	for _, e := range found {
		i, known := position[e.Backend]
		if !known {
			continue
		}
		shown := state.StaticSession(g, i, strings.ToValidUTF8(string(e.Key), "\ufffd"))
		shown.TTL, shown.Type = timeLeft(&e), kindOf(&e)
		out = append(out, shown)
	}
	slices.SortFunc(out, func(a, b state.Session) int {
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

// sessionTable is traffic.SessionTable: what mgmt asks of the engine, and of netd.
type sessionTable struct{ from sessionStores }

// List implements traffic.SessionTable.
func (t sessionTable) List(ctx context.Context, g farm.Group, limit int) ([]state.Session, int, error) {
	ctx, cancel := context.WithTimeout(ctx, sessionsTimeout)
	defer cancel()
	return groupSessions(ctx, t.from.of(g.Farm), g, limit)
}

// Find implements traffic.SessionTable.
func (t sessionTable) Find(ctx context.Context, g farm.Group, session string) (state.Session, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, sessionsTimeout)
	defer cancel()
	found, ok, err := t.from.of(g.Farm).Session(ctx, g.ID(), []byte(session))
	if err != nil || !ok {
		return state.Session{}, false, err
	}
	list := sessionsOf(g, []link.Session{found})
	if len(list) == 0 {
		return state.Session{}, false, nil
	}
	return list[0], true, nil
}

// Delete implements traffic.SessionTable.
func (t sessionTable) Delete(ctx context.Context, g farm.Group, session string) (bool, error) {
	n, err := t.change(ctx, g, link.SessionChange{Service: g.ID(), Act: link.DeleteSession, Key: []byte(session)})
	return n > 0, err
}

// Flush implements traffic.SessionTable.
func (t sessionTable) Flush(ctx context.Context, g farm.Group) (int, error) {
	return t.change(ctx, g, link.SessionChange{Service: g.ID(), Act: link.FlushSessions})
}

// Learn implements traffic.SessionTable.
func (t sessionTable) Learn(ctx context.Context, g farm.Group, session string, backend uint32, ttl time.Duration) (bool, error) {
	key := []byte(session)
	// Who keeps sessions learns nothing about a client that is known.
	if _, err := t.change(ctx, g, link.SessionChange{Service: g.ID(), Act: link.DeleteSession, Key: key}); err != nil {
		return false, err
	}
	n, err := t.change(ctx, g, link.SessionChange{Service: g.ID(), Act: link.LearnSessions, List: []link.Session{{Key: key, Backend: backend, TTL: ttl}}})
	return n > 0, err
}

func (t sessionTable) change(ctx context.Context, g farm.Group, change link.SessionChange) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, sessionsTimeout)
	defer cancel()
	n, err := t.from.of(g.Farm).ChangeSessions(ctx, change)
	if errors.Is(err, link.ErrRefused) {
		err = fmt.Errorf("%w: %w", traffic.ErrSessionRefused, err)
	}
	return n, err
}
