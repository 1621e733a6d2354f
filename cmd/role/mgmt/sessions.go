package mgmt

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
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/api/traffic"
	"github.com/sluicelb/sluice/mgmt/apply"
)

// sessionsTimeout bounds the wait of statistics for a busy or stuck engine; counters need no
// engine.
const sessionsTimeout = 2 * time.Second

// asker returns the sessions of a service; *publish.Publisher implements it.
type asker interface {
	Sessions(ctx context.Context, service uint32, limit int) (total int, list []link.Session, err error)
}

// sessionStore holds the sessions of a farm, by group number; *publish.Publisher implements
// it for the engine.
type sessionStore interface {
	asker
	Session(ctx context.Context, service uint32, key []byte) (s link.Session, ok bool, err error)
	ChangeSessions(ctx context.Context, change link.SessionChange) (changed int, err error)
}

// sessionStores maps farms to the holders of their sessions.
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

// trafficResource makes the resource of sessions, connections and live exchanges.
func (m *manager) trafficResource() api.Resource {
	return traffic.New(traffic.Deps{
		SessionTable: sessionTable{m.sessionStores()}, Tracked: m.kernel, Forwarded: forwarded{m.publisher},
		Watch: m.logs.Watch, Tally: m.logs.Tally,
	})
}

// sessions returns the sessions of a farm, or of one service. If the holder does not respond, the list is empty.
func (m *manager) sessions(ctx context.Context, f *farm.Farm, service string) ([]state.Session, int, error) {
	ctx, cancel := context.WithTimeout(ctx, sessionsTimeout)
	defer cancel()
	list, total, err := farmSessions(ctx, m.sessionStores().of(f), f, service, link.MaxSessions)
	switch {
	case err == nil:
		return list, total, nil
	case errors.Is(err, apply.ErrUnavailable), errors.Is(err, context.Canceled): // the holder is unavailable, or the client left
		slog.Debug("sessions not shown", "farm", f.Name, "cause", err)
	default:
		slog.Warn("sessions not shown", "farm", f.Name, "cause", err)
	}
	return nil, 0, nil
}

// farmSessions returns the sessions of a farm, or of one service: their number and at most
// limit of them.
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

// groupSessions does so for one group. A stopped farm only has static sessions, which need
// no request.
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

// staticSessions returns the sessions in the configuration.
func staticSessions(g farm.Group) (n int, list []link.Session) {
	for _, b := range g.Backends() {
		for _, key := range b.Sessions {
			list = append(list, link.Session{Key: []byte(key), Backend: b.ID, Static: true})
		}
	}
	return len(list), list
}

// sessionsOf converts the sessions of a group, static ones first and sorted by key. Sessions
// of a backend that was just deleted are omitted.
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

// timeLeft returns whole seconds, rounded up, so that a live session never shows 0. It is
// nil for static sessions.
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

// sessionTable implements traffic.SessionTable with requests to the engine and netd.
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
	// An existing session is not overwritten, so it is deleted first.
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
