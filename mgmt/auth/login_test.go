package auth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// basic returns a request for a session by user and password.
func basic(user, password string) *http.Request {
	r := request()
	r.SetBasicAuth(user, password)
	return r
}

// with returns a request with the cookie of a session.
func with(token string) *http.Request { return request("Cookie", auth.Cookie+"="+token) }

// begin logs in a user.
func begin(t *testing.T, g *auth.Guard, user, password string) (token string) {
	t.Helper()
	p, err := g.LogIn(basic(user, password))
	if err != nil || p.Name != user || p.Source != "192.0.2.1" || p.Who.Name() != user {
		t.Fatalf("%+v, %v", p, err)
	}
	token, ok := g.Begin(p)
	if !ok || len(token) < 40 {
		t.Fatalf("the token is %q, %t", token, ok)
	}
	return token
}

func TestASessionLivesHalfAnHourFromItsLastRequest(t *testing.T) {
	c := newClock()
	g := auth.NewGuard(&oneKey{}, users(t), c.now)
	token := begin(t, g, "eve", "secret-2")
	for range 3 {
		c.advance(29 * time.Minute)
		if p, err := g.Identify(with(token)); err != nil || p.Name != "eve" || !p.Session || p.Source != "192.0.2.1" {
			t.Fatalf("%+v, %v", p, err)
		}
	}
	c.advance(30 * time.Minute)
	if _, err := g.Identify(with(token)); !errors.Is(err, auth.ErrNoCredential) {
		t.Errorf("half an hour later: %v", err)
	}
}

// A stream checks its credential repeatedly. This must not keep its session alive.
func TestACredentialHoldsUntilItEnds(t *testing.T) {
	c, keys := newClock(), &oneKey{}
	g := auth.NewGuard(keys, users(t), c.now)
	token := begin(t, g, "eve", "secret-2")
	for range 2 {
		c.advance(14 * time.Minute)
		if !g.Holds(with(token)) || !g.Holds(request("ZAPI_KEY", secret)) || g.Holds(request()) || g.Holds(request("ZAPI_KEY", "wrong")) || g.Holds(with("none")) {
			t.Error("not exactly the session and the key are valid")
		}
	}
	c.advance(2 * time.Minute)
	if g.Holds(with(token)) {
		t.Error("asking kept the session alive")
	}
	if keys.gone = true; g.Holds(request("ZAPI_KEY", secret)) {
		t.Error("a deleted key holds")
	}
}

func TestASessionEndsWithTheLogOut(t *testing.T) {
	g := auth.NewGuard(&oneKey{}, users(t), newClock().now)
	token := begin(t, g, "root", "pa$$word")
	other := begin(t, g, "root", "pa$$word")
	if g.LogOut(request()) || g.LogOut(with("none")) || !g.LogOut(with(token)) || g.LogOut(with(token)) {
		t.Error("only a session that holds can end, and once")
	}
	if _, err := g.Identify(with(token)); !errors.Is(err, auth.ErrNoCredential) {
		t.Errorf("after the log-out: %v", err)
	}
	if p, err := g.Identify(with(other)); err != nil || !p.May(rbac.RootOnly) {
		t.Errorf("the other session: %+v, %v", p, err)
	}
}

func TestAChangeOfRightsEndsSessions(t *testing.T) {
	b := users(t)
	g := auth.NewGuard(&oneKey{}, b, newClock().now)
	for _, change := range []struct {
		what string
		do   func() error
	}{
		{"joins a group", func() error { return b.Join("shop", "eve") }},
		{"another role", func() error { return b.GiveRole("shop", "readonly") }},
		{"deleted", func() error { return b.RemoveUser("eve") }},
	} {
		token := begin(t, g, "eve", "secret-2")
		if err := change.do(); err != nil {
			t.Fatal(change.what, err)
		}
		if _, err := g.Identify(with(token)); !errors.Is(err, auth.ErrNoCredential) {
			t.Errorf("%s: %v", change.what, err)
		}
	}
}

func TestLoginNeedsValidCredentials(t *testing.T) {
	b := users(t)
	g := auth.NewGuard(&oneKey{}, b, newClock().now)
	loggedIn := basic("eve", "secret-2")
	loggedIn.AddCookie(&http.Cookie{Name: auth.Cookie, Value: begin(t, g, "eve", "secret-2")})
	twice := with("a")
	twice.AddCookie(&http.Cookie{Name: auth.Cookie, Value: "b"})
	for name, c := range map[string]struct {
		r    *http.Request
		want error
	}{
		"nothing sent":          {request(), auth.ErrNoCredential},
		"two cookies":           {twice, auth.ErrNoCredential},
		"wrong password":        {basic("eve", "secret-1"), auth.ErrBadCredential},
		"nobody":                {basic("nobody", "secret-1"), auth.ErrBadCredential},
		"without permission":    {basic("ann", "secret-1"), auth.ErrNotAllowed},
		"logged in already":     {loggedIn, auth.ErrLoggedIn},
		"a key is no password":  {basic("ann", annsKey), auth.ErrBadCredential},
		"a key instead of that": {request("ZAPI_KEY", secret), auth.ErrNoCredential},
	} {
		if p, err := g.LogIn(c.r); !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v, want %v", name, p, err, c.want)
		}
	}
	b.System = func(context.Context, string, string) (bool, error) { return false, errors.New("no answer") }
	if _, err := g.LogIn(basic("root", "any")); err == nil || err.Error() != "no answer" {
		t.Errorf("where the system does not answer: %v", err)
	}
}

// An attacker may guess the password of one user from many addresses.
func TestManyWrongPasswordsLockTheUserOut(t *testing.T) {
	c := newClock()
	g := auth.NewGuard(&oneKey{}, users(t), c.now)
	from := func(i int, r *http.Request) *http.Request { r.RemoteAddr = fmt.Sprintf("198.51.100.%d:1", i); return r }
	begin(t, g, "eve", "secret-2") // from its own place
	for i := range 10 {
		if _, err := g.LogIn(from(i, basic("eve", "wrong"))); !errors.Is(err, auth.ErrBadCredential) {
			t.Fatal(err)
		}
	}
	var locked *auth.LockedError
	if _, err := g.LogIn(from(20, basic("eve", "secret-2"))); !errors.As(err, &locked) || locked.Wait != time.Minute {
		t.Errorf("the right password: %v", err)
	}
	if _, err := g.Right(from(20, request()), "eve", "secret-2"); !errors.As(err, &locked) {
		t.Errorf("the right password with a locked account: %v", err)
	}
	if _, err := g.LogIn(basic("eve", "secret-2")); err != nil {
		t.Errorf("from where eve logged in before, strangers keep eve out: %v", err)
	}
	for range 10 {
		_, _ = g.LogIn(from(30, basic("root", "wrong")))
	}
	if _, err := g.LogIn(basic("root", "pa$$word")); !errors.As(err, &locked) {
		t.Errorf("a place of eve is one of root: %v", err)
	}
	c.advance(time.Minute)
	for i := range 10 {
		_, _ = g.LogIn(from(i, basic("eve", "wrong")))
	}
	if _, err := g.LogIn(from(21, basic("root", "pa$$word"))); err != nil {
		t.Errorf("another user: %v", err)
	}
	c.advance(time.Minute)
	if _, err := g.LogIn(from(20, basic("eve", "secret-2"))); err != nil {
		t.Errorf("a minute later: %v", err)
	}
}

func TestRightVerifiesThePasswordAgain(t *testing.T) {
	b := users(t)
	g := auth.NewGuard(&oneKey{}, b, newClock().now)
	for _, c := range []struct {
		user, password string
		want           bool
	}{{"eve", "secret-2", true}, {"ann", "secret-1", true}, {"eve", "secret-1", false}, {"nobody", "", false}} {
		if right, err := g.Right(request(), c.user, c.password); right != c.want || err != nil {
			t.Errorf("%s: got %t, %v, want %t", c.user, right, err, c.want)
		}
	}
	for range 10 {
		_, _ = g.Right(request(), "ann", "wrong")
	}
	if _, err := g.LogIn(basic("ann", "secret-1")); err == nil || errors.Is(err, auth.ErrNotAllowed) {
		t.Errorf("ten wrong ones do not lock the user out: %v", err)
	}
	b.System = func(context.Context, string, string) (bool, error) { return false, errors.New("no answer") }
	if _, err := g.Right(request(), "root", "any"); err == nil {
		t.Error("the system does not answer, and that is no error")
	}
}

func TestAUsersOwnKey(t *testing.T) {
	b := users(t)
	g := auth.NewGuard(&oneKey{}, b, newClock().now)
	p, err := g.Identify(request("ZAPI_KEY", annsKey))
	if err != nil || p.Name != "ann" || !p.May(rbac.FarmAction) || p.May(rbac.FarmCreate) || p.Session {
		t.Errorf("%+v, %v", p, err)
	}
	off := false
	if err := b.ChangeUser("root", rbac.UserChange{API: &off}); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Identify(request("ZAPI_KEY", secret)); !errors.Is(err, auth.ErrBadCredential) {
		t.Errorf("root's key where root may not use the API: %v", err)
	}
	if _, err := g.Identify(request("ZAPI_KEY", annsKey)); err != nil {
		t.Errorf("ann's key where root may not: %v", err)
	}
}

func TestNewSessionsEvictTheOldest(t *testing.T) {
	c := newClock()
	g := auth.NewGuard(&oneKey{}, users(t), c.now)
	root := begin(t, g, "root", "pa$$word")
	p, err := g.LogIn(basic("root", "pa$$word"))
	if err != nil {
		t.Fatal(err)
	}
	var tokens []string
	for range 64 {
		c.advance(time.Second)
		token, _ := g.Begin(p)
		tokens = append(tokens, token)
	}
	if _, err := g.Identify(with(root)); !errors.Is(err, auth.ErrNoCredential) {
		t.Errorf("the 65th oldest: %v", err)
	}
	for i, token := range tokens {
		if _, err := g.Identify(with(token)); err != nil {
			t.Fatalf("session %d: %v", i, err)
		}
	}
}

// A check takes time. If the rights of the user changed meanwhile, no session begins.
func TestOvertakenLoginStartsNoSession(t *testing.T) {
	key, off := "Other0123456789", false
	for name, overtake := range map[string]func(b *rbac.Book) error{
		"changed":              func(b *rbac.Book) error { return b.ChangeUser("dan", rbac.UserChange{Key: &key}) },
		"closed":               func(b *rbac.Book) error { return b.ChangeUser("dan", rbac.UserChange{WebGUI: &off}) },
		"in a group":           func(b *rbac.Book) error { return b.Join("shop", "dan") },
		"deleted":              func(b *rbac.Book) error { return b.RemoveUser("dan") },
		"deleted and made new": func(b *rbac.Book) error { return errors.Join(b.RemoveUser("dan"), addDirectoryUser(b)) },
		"of no service in use": func(b *rbac.Book) error { return b.UseServices(rbac.Services{Local: true}) },
	} {
		b := users(t)
		if err := errors.Join(addDirectoryUser(b), b.UseServices(rbac.Services{Local: true, LDAP: true})); err != nil {
			t.Fatal(err)
		}
		g := auth.NewGuard(&oneKey{}, b, newClock().now)
		var during func(b *rbac.Book) error
		b.Directory = func(context.Context, string, string) (bool, error) {
			if during == nil {
				return true, nil
			}
			return true, during(b)
		}
		begin(t, g, "dan", "secret-3")
		during = overtake
		if p, err := g.LogIn(basic("dan", "secret-3")); err == nil {
			if _, ok := g.Begin(p); ok {
				t.Errorf("%s: a session began", name)
			}
		}
	}
}

// addDirectoryUser adds dan, whose password is checked by a directory.
func addDirectoryUser(b *rbac.Book) error {
	on := true
	return errors.Join(b.AddUser("dan", rbac.LDAP, ""), b.ChangeUser("dan", rbac.UserChange{WebGUI: &on}))
}
