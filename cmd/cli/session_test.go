package cli_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api"
)

// table is an engine with some dynamic sessions, all on backend 0.
type table struct{ dynamic []string }

func (s *table) shown(v *farm.Service, session string) api.Session {
	left := "54m5s"
	return api.Session{Client: session, Session: session, BackendIP: v.Backends[0].Host, BackendPort: v.Backends[0].Port, Service: v.Name, TTL: &left, Type: "dynamic"}
}

func (s *table) List(_ context.Context, _ *farm.Farm, v *farm.Service, limit int) (list []api.Session, total int, err error) {
	for i, b := range v.Backends {
		for _, session := range b.Sessions {
			list = append(list, api.Session{Session: session, ID: i, BackendIP: b.Host, BackendPort: b.Port, Service: v.Name, Type: "static"})
		}
	}
	for _, session := range s.dynamic {
		list = append(list, s.shown(v, session))
	}
	return list[:min(limit, len(list))], len(list), nil
}

func (s *table) Find(_ context.Context, v *farm.Service, session string) (api.Session, bool, error) {
	return s.shown(v, session), slices.Contains(s.dynamic, session), nil
}

func (s *table) Delete(_ context.Context, _ *farm.Service, session string) (bool, error) {
	n := len(s.dynamic)
	s.dynamic = slices.DeleteFunc(s.dynamic, func(have string) bool { return have == session })
	return len(s.dynamic) < n, nil
}

func (s *table) Flush(context.Context, *farm.Service) (int, error) {
	n := len(s.dynamic)
	s.dynamic = nil
	return n, nil
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
	done("2 dynamic sessions", "flush", "shop", "web")
}
