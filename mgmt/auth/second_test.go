package auth_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/rbac/rbactest"
)

// factor gives a user a second factor, and returns a function that makes its codes.
func factor(t *testing.T, b *rbac.Book, user string, c *clock) (code func() string) {
	t.Helper()
	b.Secrets = rbactest.Sealer{}
	key, err := b.Enrol(user)
	if err != nil {
		t.Fatal(err)
	}
	code = func() string {
		text, err := totp.GenerateCode(key.Secret, c.now())
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if _, err := b.Confirm(user, code(), c.now()); err != nil {
		t.Fatal(err)
	}
	c.advance(time.Minute)
	return code
}

// coded returns a request for a session with the code of a second factor.
func coded(user, password, code string) *http.Request {
	r := basic(user, password)
	r.Header.Set(auth.CodeHeader, code)
	return r
}

// The response does not depend on which of user, password and code is wrong.
func TestLoginErrorDoesNotNameTheCause(t *testing.T) {
	b, c := users(t), newClock()
	g := auth.NewGuard(&oneKey{}, b, c.now)
	code := factor(t, b, "eve", c)
	for name, r := range map[string]*http.Request{
		"no code": basic("eve", "secret-2"), "wrong code": coded("eve", "secret-2", "000000"), "wrong password": coded("eve", "wrong", code()), "no user": coded("tim", "secret-2", code()),
	} {
		if _, err := g.LogIn(r); err != auth.ErrBadCredential {
			t.Errorf("%s: %v", name, err)
		}
	}
	if p, err := g.LogIn(coded("eve", "secret-2", code())); err != nil || p.Name != "eve" {
		t.Errorf("the password and the code: %+v, %v", p, err) // the wrong password did not use up the code
	}
	if _, err := g.LogIn(coded("eve", "secret-2", code())); err != auth.ErrBadCredential {
		t.Errorf("the same code again: %v", err)
	}
	if _, err := g.LogIn(coded("root", "pa$$word", "any")); err != nil {
		t.Errorf("user without a second factor: %v", err)
	}
}

func TestGuessingCodesLocksTheUser(t *testing.T) {
	b, c := users(t), newClock()
	g := auth.NewGuard(&oneKey{}, b, c.now)
	code := factor(t, b, "eve", c)
	for range 10 {
		_, _ = g.LogIn(coded("eve", "secret-2", "000000"))
	}
	var locked *auth.LockedError
	if _, err := g.LogIn(coded("eve", "secret-2", code())); !errors.As(err, &locked) {
		t.Errorf("after ten: %v", err)
	}
	c.advance(2 * time.Minute)
	for range 10 {
		if right, err := g.Code(from(2, request()), "eve", "000000"); right || err != nil {
			t.Fatalf("%t, %v", right, err)
		}
	}
	if right, err := g.Code(from(2, request()), "eve", code()); right || !errors.As(err, &locked) {
		t.Errorf("within a session: %t, %v", right, err)
	}
	c.advance(2 * time.Minute)
	if right, err := g.Code(request(), "eve", code()); !right || err != nil {
		t.Errorf("later: %t, %v", right, err)
	}
	b.Secrets = nil
	if right, err := g.Code(request(), "eve", code()); right || err == nil {
		t.Errorf("when it cannot be checked: %t, %v", right, err)
	}
	if _, err := g.LogIn(coded("eve", "secret-2", code())); err == nil || errors.Is(err, auth.ErrBadCredential) {
		t.Errorf("when it cannot be checked: %v", err)
	}
}

// The time of a refusal must not reveal which directory was queried.
func TestRefusalsTakeTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, b := strangers(t)
		g.Even = time.Second
		if err := b.UseServices(rbac.Services{LDAP: true}); err != nil {
			t.Fatal(err)
		}
		b.Directory = func(context.Context, string, string) (bool, error) {
			time.Sleep(300 * time.Millisecond)
			return false, nil
		}
		for i, user := range []string{"u0", "nobody", "root"} {
			began := time.Now()
			if _, err := g.LogIn(from(i, basic(user, "wrong"))); err != auth.ErrBadCredential || time.Since(began) != time.Second {
				t.Errorf("%s: %v after %v", user, err, time.Since(began))
			}
		}
		began := time.Now()
		if _, err := g.LogIn(basic("root", "pa$$word")); err != nil || time.Since(began) != 0 {
			t.Errorf("the right one: got %v after %v, want 0", err, time.Since(began))
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _ = g.LogIn(basic("root", "wrong").WithContext(gone)); time.Since(began) != 0 {
			t.Error("the delay ignores a cancelled request")
		}
	})
}

func TestSessionsAreListedAndEnded(t *testing.T) {
	c := newClock()
	b := users(t)
	g := auth.NewGuard(&oneKey{}, b, c.now)
	first := begin(t, g, "eve", "secret-2")
	c.advance(time.Minute)
	second, _ := g.Begin(g.Vouched(from(3, request()), "ann"))
	c.advance(time.Minute)
	if _, err := g.Identify(with(first)); err != nil {
		t.Fatal(err)
	}
	start := newClock().now()
	want := []auth.OpenSession{
		{Number: 1, User: "eve", Source: "192.0.2.1", Began: start, Used: start.Add(2 * time.Minute)},
		{Number: 2, User: "ann", Source: "198.51.100.3", Began: start.Add(time.Minute), Used: start.Add(time.Minute)},
	}
	if got := g.Sessions(); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for token, number := range map[string]uint64{first: 1, second: 2, "none": 0} {
		if got := g.SessionOf(with(token)); got != number {
			t.Errorf("it is session %d, got %d", number, got)
		}
	}
	if g.SessionOf(request()) != 0 || g.SessionOf(request("ZAPI_KEY", secret, "Cookie", auth.Cookie+"="+first)) != 0 {
		t.Error("a request with a key has a session")
	}
	if n := g.EndSessions(func(s auth.OpenSession) bool { return s.User == "eve" }); n != 1 || g.Holds(with(first)) || !g.Holds(with(second)) {
		t.Errorf("%d ended", n)
	}
	if err := b.GiveRole("shop", "readonly"); err != nil || len(g.Sessions()) != 0 {
		t.Errorf("listed though it holds no longer: %+v, %v", g.Sessions(), err)
	}
}

func TestSessionTimeIsConfigurable(t *testing.T) {
	c, life := newClock(), 5*time.Minute
	g := auth.NewGuard(&oneKey{}, users(t), c.now)
	g.LifeOfSessions(func() time.Duration { return life })
	token := begin(t, g, "eve", "secret-2")
	for range 3 {
		if c.advance(5*time.Minute - 1); !g.Holds(with(token)) {
			t.Fatal("it ended early")
		}
		_, _ = g.Identify(with(token))
	}
	if life = time.Minute; g.Holds(with(token)) != true {
		t.Error("it was used just now")
	}
	if c.advance(time.Minute); g.Holds(with(token)) {
		t.Error("it lives on after the setting became shorter")
	}
}
