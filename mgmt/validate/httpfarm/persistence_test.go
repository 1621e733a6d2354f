package httpfarm_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
	"github.com/sluicelb/sluice/mgmt/validate/validatetest"
)

func TestStaticSessionsOfOneServiceAreFoundAndUnique(t *testing.T) {
	many := make([]string, profile.MaxStatic)
	for i := range many {
		many[i] = strings.Repeat("x", 1+i%200) + strings.Repeat("y", i/200)
	}
	for _, c := range []struct {
		kind     farm.Persistence
		sessions [2][]string
		want     string
	}{
		{farm.PersistCookie, [2][]string{{"a", "b"}, {"c", "ü; =\""}}, ""},
		{farm.PersistCookie, [2][]string{many, nil}, ""},
		{farm.PersistCookie, [2][]string{many, {"one more"}}, "at most 1000"},
		{farm.PersistCookie, [2][]string{{"a"}, {"b", "a"}}, `backend 1: sessions: "a" is with backend 0 already`},
		{farm.PersistCookie, [2][]string{{"a", "a"}, nil}, "sessions must not hold the same twice"},
		{farm.PersistCookie, [2][]string{{""}, nil}, "blank"},
		{farm.PersistCookie, [2][]string{{"a\nb"}, nil}, "control character"},
		{farm.PersistCookie, [2][]string{{strings.Repeat("x", 256)}, nil}, "at most 255 bytes"},
		{farm.PersistIP, [2][]string{{"10.0.0.1", "2001:db8::1"}, nil}, ""},
		{farm.PersistIP, [2][]string{{"joe"}, nil}, "address of a client"},
		{farm.PersistIP, [2][]string{{"2001:DB8::1"}, nil}, `write "2001:DB8::1" as "2001:db8::1"`},
		{farm.PersistNone, [2][]string{{"a"}, nil}, "set persistence first"},
	} {
		cfg := validatetest.Good()
		s := &cfg.Farms[0].HTTP.Services[0]
		s.Backends = append(s.Backends[:1:1], s.Backends[0])
		s.Backends[1].Port++
		s.Persistence, s.SessionID = c.kind, ""
		if c.kind == farm.PersistCookie {
			s.SessionID = "SID"
		}
		for i, sessions := range c.sessions {
			s.Backends[i].Sessions = sessions
		}
		err := validate.Config(cfg)
		if c.want != "" {
			err = validatetest.First(cfg)
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %.60q: %v, want %q", c.kind, c.sessions, err, c.want)
		}
	}
}

// A long identification is stored under its key, which is a text again. Its characters are
// checked as a whole.
func TestLongSessionsAreStoredUnderTheirKeys(t *testing.T) {
	s := &farm.Service{Persistence: farm.PersistCookie, SessionID: "SID"}
	for before := range 4 {
		text := strings.Repeat("x", before) + strings.Repeat("é", 200)
		got, err := httpfarm.StaticSession(s, text)
		if err != nil || got != string(session.AppendKey(nil, []byte(text))) || len(got) > profile.MaxSession {
			t.Errorf("%d bytes, then é: %q, %v", before, got, err)
		}
		if again, err := httpfarm.StaticSession(s, got); err != nil || again != got {
			t.Errorf("the key: %q, %v", again, err)
		}
	}
	for _, wrong := range []string{"\x80", "\n"} {
		if got, err := httpfarm.StaticSession(s, strings.Repeat("x", 300)+wrong); err == nil {
			t.Errorf("%q at the end is accepted: %q", wrong, got)
		}
	}
	ip := &farm.Service{Persistence: farm.PersistIP}
	if _, err := httpfarm.StaticSession(ip, strings.Repeat("x", 256)); err == nil || !strings.Contains(err.Error(), "at most 255 bytes") {
		t.Errorf("no address: %v", err)
	}
}

// Earlier versions compared 255 bytes, so a static session of that length may be a part.
func TestStaticSessionsThatMayBeCutAreWarnings(t *testing.T) {
	long := strings.Repeat("x", 300)
	for text, want := range map[string]bool{
		long[:254]: false, long[:255]: true, string(session.AppendKey(nil, []byte(long))): false, strings.Repeat("a", 255): false,
	} {
		cfg := validatetest.Good()
		s := &cfg.Farms[0].HTTP.Services[0]
		s.Persistence, s.SessionID, s.Backends[0].Sessions = farm.PersistCookie, "SID", []string{"short", text}
		var found []string
		for _, w := range validate.Warnings(cfg) {
			if w.Field == "sessions" && w.Path == profile.BackendPath(cfg.Farms[0].Name, s.Name, 0) {
				found = append(found, w.Message)
			}
		}
		if (len(found) == 1) != want || len(found) > 1 {
			t.Errorf("%d bytes: %q", len(text), found)
		}
	}
}
