package auth_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/store"
)

const secret = "rightSecret0123456789"

// oneKey is a key store that holds one key, and would take for right what it must
// never be asked: nothing, and what is too long to be a key.
type oneKey struct{ gone bool }

func (k *oneKey) FindKey(s string) (store.Key, bool) {
	return store.Key{ID: 3, User: "root"}, (s == secret || s == "" || len(s) > 256) && !k.gone
}

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
		g := auth.NewGuard(&oneKey{}, auth.NewThrottle(newClock().now))
		p, err := g.Identify(request(headers...))
		if err != nil || p.Name != "root (key 3)" || p.Source != "192.0.2.1" || !p.May(auth.RightAdmin) {
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
		g := auth.NewGuard(&oneKey{}, auth.NewThrottle(newClock().now))
		if _, err := g.Identify(request(c.headers...)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestManyWrongKeysLockTheSourceOut(t *testing.T) {
	c := newClock()
	g := auth.NewGuard(&oneKey{}, auth.NewThrottle(c.now))
	for range 9 {
		_, _ = g.Identify(request("ZAPI_KEY", "wrong"))
	}
	if _, err := g.Identify(request("ZAPI_KEY", secret)); err != nil { // forgets the nine
		t.Fatal(err)
	}
	for range 10 {
		if _, err := g.Identify(request("ZAPI_KEY", "wrong")); !errors.Is(err, auth.ErrBadCredential) {
			t.Fatal(err)
		}
	}
	var locked *auth.LockedError
	if _, err := g.Identify(request("ZAPI_KEY", secret)); !errors.As(err, &locked) {
		t.Fatalf("right key from a locked source: %v, want locked", err)
	}
	if locked.Wait != time.Minute {
		t.Errorf("wait %s, want a minute", locked.Wait)
	}
	other := request("ZAPI_KEY", secret)
	other.RemoteAddr = "192.0.2.2:1"
	if _, err := g.Identify(other); err != nil {
		t.Errorf("another source: %v", err)
	}
	c.advance(time.Minute)
	if _, err := g.Identify(request("ZAPI_KEY", secret)); err != nil {
		t.Errorf("after the lock: %v", err)
	}
}

func TestRequestsWithoutKeyNeverLockASource(t *testing.T) {
	g := auth.NewGuard(&oneKey{}, auth.NewThrottle(newClock().now))
	for range 100 {
		if _, err := g.Identify(request()); !errors.Is(err, auth.ErrNoCredential) {
			t.Fatal(err)
		}
	}
}

func TestDeletedKeyIsRefusedAtOnce(t *testing.T) {
	keys := &oneKey{}
	g := auth.NewGuard(keys, auth.NewThrottle(newClock().now))
	keys.gone = true
	if _, err := g.Identify(request("ZAPI_KEY", secret)); !errors.Is(err, auth.ErrBadCredential) {
		t.Errorf("%v, want refused", err)
	}
}

// identifyOver sends one request over a unix socket and returns what the guard
// made of it.
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
	g := auth.NewGuard(&oneKey{}, auth.NewThrottle(newClock().now))
	p, err := identifyOver(t, g)
	if want := (auth.Principal{Name: "root", Source: "local", Root: true}); err != nil || p != want {
		t.Errorf("%+v, %v, want %+v", p, err, want)
	}
}

func TestWrongKeyOnTheLocalSocketIsRefused(t *testing.T) {
	g := auth.NewGuard(&oneKey{}, auth.NewThrottle(newClock().now))
	if _, err := identifyOver(t, g, "ZAPI_KEY", "wrong"); !errors.Is(err, auth.ErrBadCredential) {
		t.Errorf("%v, want refused: a sent key is meant", err)
	}
}
