package auth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/rbac/rbactest"
	"github.com/sluicelb/sluice/mgmt/store"
)

// from changes the source address of a request.
func from(i int, r *http.Request) *http.Request {
	r.RemoteAddr = fmt.Sprintf("198.51.100.%d:1", i)
	return r
}

// strangers returns a guard that never hashes passwords: the system checks the password of
// root, an unreachable directory the passwords of all others.
func strangers(t *testing.T) (*auth.Guard, *rbac.Book) {
	b := rbactest.Book(t, &rbactest.Memory{})
	for i := range 12 {
		if err := b.AddUser(fmt.Sprintf("u%d", i), rbac.LDAP, ""); err != nil {
			t.Fatal(err)
		}
	}
	b.System = func(_ context.Context, _, password string) (bool, error) { return password == "pa$$word", nil }
	return auth.NewGuard(&oneKey{}, b, newClock().now), b
}

func TestASessionThatEndedStaysEnded(t *testing.T) {
	g, b := strangers(t)
	if err := errors.Join(b.AddGroup("shop"), b.Join("shop", "u0"), b.GiveRole("shop", "management")); err != nil {
		t.Fatal(err)
	}
	token, _ := g.Begin(auth.Principal{Name: "u0"})
	for _, role := range []string{"readonly", "management"} {
		if err := b.GiveRole("shop", role); err != nil {
			t.Fatal(err)
		}
		if _, err := g.Identify(with(token)); !errors.Is(err, auth.ErrNoCredential) {
			t.Errorf("with the role %s: %v", role, err)
		}
	}
	if token, ok := g.Begin(auth.Principal{Name: "gone"}); ok || token != "" {
		t.Errorf("a deleted user has the session %q", token)
	}
}

func TestManyWrongPasswordsLockTheSourceOut(t *testing.T) {
	g, _ := strangers(t)
	wrong := func(n int) {
		t.Helper()
		for i := range n {
			if _, err := g.LogIn(basic(fmt.Sprint("u", i), "wrong")); !errors.Is(err, auth.ErrBadCredential) {
				t.Fatal(err)
			}
		}
	}
	wrong(10)
	var locked *auth.LockedError
	if _, err := g.LogIn(basic("root", "pa$$word")); !errors.As(err, &locked) || locked.Wait != time.Minute {
		t.Errorf("from a locked source: %v", err)
	}
	if _, err := g.LogIn(from(1, basic("root", "pa$$word"))); err != nil {
		t.Errorf("from another one: %v", err)
	}
}

func TestARightPasswordForgetsTheWrongOnesOfAUser(t *testing.T) {
	for name, try := range map[string]func(g *auth.Guard, at int, password string) error{
		"log in": func(g *auth.Guard, at int, password string) error {
			_, err := g.LogIn(from(at, basic("root", password)))
			return err
		},
		"asked again": func(g *auth.Guard, at int, password string) error {
			_, err := g.Right(from(at, request()), "root", password)
			return err
		},
	} {
		g, _ := strangers(t)
		for at := range 20 {
			password := "wrong"
			if at == 9 {
				password = "pa$$word"
			}
			var locked *auth.LockedError
			if err := try(g, at, password); errors.As(err, &locked) {
				t.Errorf("%s: try %d: %v", name, at, err)
			}
		}
	}
}

func TestUnavailableServiceLocksNoUser(t *testing.T) {
	g, b := strangers(t)
	asked := b.System
	b.System = func(context.Context, string, string) (bool, error) { return false, errors.New("no answer") }
	for range 20 {
		_, _ = g.LogIn(basic("root", "pa$$word"))
		if right, err := g.Right(request(), "root", "pa$$word"); right || err == nil || err.Error() != "no answer" {
			t.Fatalf("%t, %v", right, err)
		}
	}
	b.System = asked
	if _, err := g.LogIn(basic("root", "pa$$word")); err != nil {
		t.Error(err)
	}
}

func TestAServiceHasAQuarterOfAMinuteToAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, b := strangers(t)
		var waits []time.Duration
		b.System = func(ctx context.Context, _, _ string) (bool, error) {
			end, _ := ctx.Deadline()
			waits = append(waits, time.Until(end))
			return true, nil
		}
		_, _ = g.LogIn(basic("root", "any"))
		_, _ = g.Right(request(), "root", "any")
		if len(waits) != 2 || waits[0] != 15*time.Second || waits[1] != 15*time.Second {
			t.Errorf("it has %v", waits)
		}
	})
}

// keyOf is a key store in which every key belongs to this user.
type keyOf string

func (k keyOf) FindKey(string) (store.Key, bool) { return store.Key{ID: 1, User: string(k)}, true }

func TestKeyHasTheRightsOfItsUser(t *testing.T) {
	_, b := strangers(t)
	for user, want := range map[string]error{"root": nil, "u0": auth.ErrBadCredential, "gone": auth.ErrBadCredential} {
		g := auth.NewGuard(keyOf(user), b, newClock().now)
		if _, err := g.Identify(request("ZAPI_KEY", strings.Repeat("k", 256))); !errors.Is(err, want) {
			t.Errorf("of %s: %v", user, err)
		}
		if g.Holds(request("ZAPI_KEY", "any")) != (want == nil) {
			t.Errorf("of %s: it holds otherwise", user)
		}
	}
	if auth.Source(request()) != "192.0.2.1" {
		t.Errorf("the source is %s", auth.Source(request()))
	}
}

func TestTwoSessionCookiesAreRefused(t *testing.T) {
	g, _ := strangers(t)
	a, _ := g.Begin(auth.Principal{Name: "u0"})
	b, _ := g.Begin(auth.Principal{Name: "u0"})
	both := with(a)
	both.AddCookie(&http.Cookie{Name: auth.Cookie, Value: b})
	if _, err := g.Identify(both); !errors.Is(err, auth.ErrNoCredential) || g.Holds(both) || g.LogOut(both) {
		t.Errorf("two credentials are accepted as one: %v", err)
	}
	if !g.Holds(with(a)) || !g.Holds(with(b)) {
		t.Error("a single credential is not accepted")
	}
}
