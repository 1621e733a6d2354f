package validate_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
)

func TestStaticSessionsOfOneServiceAreFoundAndUnique(t *testing.T) {
	many := make([]string, validate.MaxStatic)
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
		cfg := good()
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
			err = first(cfg)
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %.60q: %v, want %q", c.kind, c.sessions, err, c.want)
		}
	}
}
