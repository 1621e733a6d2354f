package cli_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/state"
)

// table is an engine with some dynamic sessions, all on backend 0.
type table struct{ dynamic []string }

func (s *table) shown(g farm.Group, session string) state.Session {
	left := "54m5s"
	out := state.StaticSession(g, 0, session)
	out.TTL, out.Type = &left, "dynamic"
	return out
}

func (s *table) List(_ context.Context, g farm.Group, limit int) (list []state.Session, total int, err error) {
	for i, b := range g.Backends() {
		for _, session := range b.Sessions {
			list = append(list, state.StaticSession(g, i, session))
		}
	}
	for _, session := range s.dynamic {
		list = append(list, s.shown(g, session))
	}
	return list[:min(limit, len(list))], len(list), nil
}

func (s *table) Find(_ context.Context, g farm.Group, session string) (state.Session, bool, error) {
	return s.shown(g, session), slices.Contains(s.dynamic, session), nil
}

func (s *table) Delete(_ context.Context, _ farm.Group, session string) (bool, error) {
	n := len(s.dynamic)
	s.dynamic = slices.DeleteFunc(s.dynamic, func(have string) bool { return have == session })
	return len(s.dynamic) < n, nil
}

func (s *table) Flush(context.Context, farm.Group) (int, error) {
	n := len(s.dynamic)
	s.dynamic = nil
	return n, nil
}

func (s *table) Learn(_ context.Context, _ farm.Group, session string, _ uint32, _ time.Duration) (bool, error) {
	s.dynamic = append(s.dynamic, session)
	return true, nil
}

func TestSessionsOnTheCommandLine(t *testing.T) {
	a := start(t)
	refused := func(code int, text string, args ...string) {
		t.Helper()
		if r := a.run(append([]string{"session"}, args...)...); r.code != code || !strings.Contains(r.stderr, text) {
			t.Errorf("%q: exit %d, want %d with %q\n%s", args, r.code, code, text, r.stderr)
		}
	}
	done := func(text string, args ...string) string {
		t.Helper()
		out := a.must(append([]string{"session"}, args...)...)
		if !strings.Contains(out, text) {
			t.Errorf("%q: got\n%s", args, out)
		}
		return out
	}
	a.shop()
	refused(1, "set persistence first", "create", "shop", "web", "joe", "1")
	a.must("service", "set", "shop", "web", "persistence=COOKIE", "sessionid=SID")
	a.sessions.dynamic = []string{"ann/1", "bob", "eve"}
	done("goes to backend 1", "create", "shop", "web", "joe", "1")
	refused(1, "does not exist", "create", "shop", "web", "joe", "7")
	want := strings.TrimPrefix(`
SESSION  TYPE     BACKEND  IP        PORT  TTL
joe      static         1  10.0.0.2  8080  -
ann/1    dynamic        0  10.0.0.1  8080  54m5s
2 of 4 sessions
`, "\n")
	if out := done("", "list", "shop", "web", "--limit", "2"); out != want {
		t.Errorf("got\n%s", out)
	}
	refused(2, "1 to 1000", "list", "shop", "web", "--limit", "2000")
	if out := done("bob", "list", "shop", "web", "--session", "bob"); strings.Contains(out, "ann") || strings.Contains(out, " of ") {
		t.Errorf("got\n%s", out)
	}
	done(`"total_sessions": 4`, "list", "shop", "web", "--json")
	done("deleted", "delete", "shop", "web", "ann/1")
	done("deleted", "delete", "shop", "web", "joe")
	refused(1, "does not exist", "delete", "shop", "web", "joe")
	refused(2, "flush", "delete", "shop", "web", "")
	done("until it has not been used for 1m30s", "create", "shop", "web", "joe", "0", "--ttl", "90")
	refused(1, "ttl must be a number from 1 to 120", "create", "shop", "web", "joe", "0", "--ttl", "0")
	done("3 dynamic sessions", "flush", "shop", "web")
}
