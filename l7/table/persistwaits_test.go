package table_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// An absent key creates no session: neither a cookie without a name nor an empty parameter
// identifies a client.
func TestMissingSessionKeyCreatesNoSession(t *testing.T) {
	t.Parallel()
	for kind, same := range map[farm.Persistence]string{
		farm.PersistURL: l7test.Get("/a?=42"), farm.PersistCookie: l7test.Request("Cookie: =42"), farm.PersistHeader: l7test.Request("X: 42"),
	} {
		one, two := l7test.NewNamed(t, "1"), l7test.NewNamed(t, "2")
		a := l7test.New(t, 2)
		s := l7test.Service("web", one.Addr, two.Addr)
		s.Persistence = kind
		addr := a.Serve(nil, s)
		came := map[string]bool{}
		for range 8 {
			came[l7test.Dial(t, addr).Send(same).Get().Text] = true
		}
		if _, err := a.Engine.SessionsOf(1).Flush(); len(came) != 2 || err == nil {
			t.Errorf("%s: clients came to %v, and sessions were there: %v", kind, came, err == nil)
		}
		s.SessionID, s.Cookie = "", farm.DefaultCookie()
		if res := l7test.Dial(t, a.Serve(nil, s)).Send(same).Get(); len(res.Cookies()) != 1 {
			t.Errorf("%s: the cookie of the service does not keep them either: %v", kind, res.Header)
		}
	}
}

// Persistence takes precedence over the inserted cookie.
func TestPersistencePrecedesTheInsertedCookie(t *testing.T) {
	t.Parallel()
	one, two := l7test.NewNamed(t, "1"), l7test.NewNamed(t, "2")
	a := l7test.New(t, 2)
	s := l7test.Inserting(one.Addr, two.Addr)
	addr := a.Serve(nil, s)
	who, set := visit(t, addr)
	s.Persistence = farm.PersistIP
	addr = a.Serve(nil, s)
	kept, again := visit(t, addr, "LB="+set.Value)
	if again != nil {
		t.Error("an unnecessary cookie is set")
	}
	for range 6 {
		for _, cookie := range []string{"LB=" + set.Value, "a=b"} {
			if now, _ := visit(t, addr, cookie); now != kept {
				t.Errorf("the session is of %s, with %s the client came to %s; the cookie is of %s", kept, cookie, now, who)
			}
		}
	}
}
