package auth_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/rbac/rbactest"
	"github.com/sluicelb/sluice/mgmt/store"
)

const secret = "rightSecret0123456789"

// oneKey is a key store with one key. It also accepts keys that it must never get: an empty
// one, and one that is too long.
type oneKey struct{ gone bool }

func (k *oneKey) FindKey(s string) (store.Key, bool) {
	return store.Key{ID: 3, User: "root"}, (s == secret || s == "" || len(s) > 256) && !k.gone
}

// users returns a book in which ann manages one of two farms and may use the API with a key,
// and eve may only log in with a password. The only other user is root.
func users(t *testing.T) *rbac.Book {
	b := rbactest.Book(t, &rbactest.Memory{})
	key, on := annsKey, true
	if err := errors.Join(b.AddUser("ann", rbac.Local, "secret-1"), b.AddUser("eve", rbac.Local, "secret-2"), b.AddGroup("shop"), b.GiveRole("shop", "management"), b.Join("shop", "ann"),
		b.ChangeUser("ann", rbac.UserChange{Key: &key, API: &on}), b.ChangeUser("eve", rbac.UserChange{WebGUI: &on})); err != nil {
		t.Fatal(err)
	}
	b.System = func(_ context.Context, user, password string) (bool, error) { return password == "pa$$word", nil }
	return b
}

const annsKey = "annsKey0123456789"

func request(headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "https://lb:444/api/v4.0/farms", nil)
	r.RemoteAddr = "192.0.2.1:5000"
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func TestKeyIsAcceptedInBothSpellings(t *testing.T) {
	for _, headers := range [][]string{
		{"ZAPI_KEY", secret}, {"ZAPI-KEY", secret}, {"zapi_key", secret}, {"Zapi-Key", secret},
		{"ZAPI_KEY", secret, "ZAPI-KEY", secret},
	} {
		g := auth.NewGuard(&oneKey{}, users(t), newClock().now)
		p, err := g.Identify(request(headers...))
		if err != nil || p.Name != "root (key 3)" || p.Source != "192.0.2.1" || !p.May(rbac.RootOnly) {
			t.Errorf("%v: %+v, %v", headers, p, err)
		}
		if !auth.IsKeyHeader(headers[0]) {
			t.Errorf("%s is no header of a key", headers[0])
		}
	}
	if auth.IsKeyHeader("Authorization") {
		t.Error("Authorization is a header of a key")
	}
}

func TestWrongOrContradictingKeysAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		headers []string
		want    error
	}{
		"none":         {nil, auth.ErrNoCredential},
		"empty":        {[]string{"ZAPI_KEY", ""}, auth.ErrBadCredential},
		"wrong":        {[]string{"ZAPI_KEY", "wrong"}, auth.ErrBadCredential},
		"right, wrong": {[]string{"ZAPI_KEY", secret, "ZAPI-KEY", "wrong"}, auth.ErrBadCredential},
		"wrong, right": {[]string{"ZAPI_KEY", "wrong", "ZAPI_KEY", secret}, auth.ErrBadCredential},
		"long":         {[]string{"ZAPI_KEY", string(make([]byte, 257))}, auth.ErrBadCredential},
		"bearer":       {[]string{"Authorization", "Bearer " + secret}, auth.ErrNoCredential},
		"claims local": {[]string{"X-Real-IP", "127.0.0.1", "X-Forwarded-For", "127.0.0.1"}, auth.ErrNoCredential},
	} {
		g := auth.NewGuard(&oneKey{}, users(t), newClock().now)
		if _, err := g.Identify(request(c.headers...)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// The history of changes includes the source of their author.
func TestPrincipalHasTheSourceAddress(t *testing.T) {
	for at, want := range map[string]string{
		"192.0.2.1:5000": "192.0.2.1", "[::ffff:192.0.2.1]:5000": "192.0.2.1", "[2001:db8::1]:5000": "2001:db8::1", "@": "unknown",
	} {
		g := auth.NewGuard(&oneKey{}, users(t), newClock().now)
		r := request("ZAPI_KEY", secret)
		r.RemoteAddr = at
		if p, err := g.Identify(r); err != nil || p.Source != want {
			t.Errorf("%s: %+v, %v, want %s", at, p, err, want)
		}
	}
}

func TestRequestsWithoutKeyNeverLockASource(t *testing.T) {
	g := auth.NewGuard(&oneKey{}, users(t), newClock().now)
	for range 100 {
		if _, err := g.Identify(request()); !errors.Is(err, auth.ErrNoCredential) {
			t.Fatal(err)
		}
	}
}

func TestDeletedKeyIsRefusedAtOnce(t *testing.T) {
	keys := &oneKey{}
	g := auth.NewGuard(keys, users(t), newClock().now)
	keys.gone = true
	if _, err := g.Identify(request("ZAPI_KEY", secret)); !errors.Is(err, auth.ErrBadCredential) {
		t.Errorf("%v, want refused", err)
	}
}

// identifyOver sends one request over a unix socket and returns the result of the guard.
func identifyOver(t *testing.T, g *auth.Guard, headers ...string) (auth.Principal, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var p auth.Principal
	var idErr error
	srv := &http.Server{ConnContext: g.ConnContext, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		p, idErr = g.Identify(r)
	})}
	go srv.Serve(l)
	defer srv.Close()
	tr := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", path) }}
	defer tr.CloseIdleConnections()
	r, _ := http.NewRequest(http.MethodGet, "http://local/", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	resp, err := tr.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return p, idErr
}

func TestSameUserActsAsRootOnTheLocalSocket(t *testing.T) {
	g := auth.NewGuard(&oneKey{}, users(t), newClock().now)
	p, err := identifyOver(t, g)
	if err != nil || p.Name != "root" || p.Source != "local" || !p.Who.Root() {
		t.Errorf("%+v, %v, want root", p, err)
	}
}

func TestLocalSocketKeyIsTheAuthor(t *testing.T) {
	g := auth.NewGuard(&oneKey{}, users(t), newClock().now)
	p, err := identifyOver(t, g, "ZAPI_KEY", secret)
	if err != nil || p.Name != "root (key 3)" || p.Source != "local" || !p.Who.Root() {
		t.Errorf("%+v, %v, want the key", p, err)
	}
}

func TestWrongKeyOnTheLocalSocketIsRefused(t *testing.T) {
	g := auth.NewGuard(&oneKey{}, users(t), newClock().now)
	if _, err := identifyOver(t, g, "ZAPI_KEY", "wrong"); !errors.Is(err, auth.ErrBadCredential) {
		t.Errorf("%v, want refused: a sent key is meant", err)
	}
}
