package e2e_test

import (
	"net/http"
	"strings"
	"testing"
)

// askWith sends a GET with fields given as "Name: value" and returns the status.
func askWith(t *testing.T, url string, fields ...string) (int, http.Header) {
	t.Helper()
	r, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		r.Header.Set(name, value)
	}
	if user, password, ok := strings.Cut(r.Header.Get("Login"), ":"); ok {
		r.Header.Del("Login")
		r.SetBasicAuth(user, password)
	}
	r.Close = true
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode, res.Header
}

// Access restrictions of a service are set by the command line, kept by the store and
// enforced by the sandboxed engine.
func TestAServiceIsProtectedLimitedAndSplit(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		a := start(t, who, dataDir(t, who))
		url := a.farm("shop", backend(t, "one"))
		a.must("service", "set", "shop", "all", "auth_users=ali:open sesame", "auth_realm=shop", "auth_header=X-Key", "auth_keys=a key that is long enough")
		const key = "X-Key: a key that is long enough"
		for _, c := range []struct {
			fields []string
			want   int
		}{
			{nil, 401}, {[]string{key}, 401}, {[]string{"Login: ali:open sesame"}, 401}, {[]string{key, "Login: ali:wrong"}, 401},
			{[]string{key, "Login: ali:open sesame"}, 200},
		} {
			if code, _ := askWith(t, url, c.fields...); code != c.want {
				t.Errorf("%v: got %d, want %d", c.fields, code, c.want)
			}
		}
		shown := a.must("service", "show", "shop", "all") + a.must("history")
		if !strings.Contains(shown, "ali:***") || strings.Contains(shown, "sesame") || strings.Contains(shown, "long enough") {
			t.Errorf("shown is %s", shown)
		}
		a.must("service", "set", "shop", "all", "auth_users=", "auth_header=", "ratelimit=1", "ratelimit_period=3600")
		if code, _ := askWith(t, url); code != 200 {
			t.Errorf("without protection: got %d, want 200", code)
		}
		if code, header := askWith(t, url); code != 429 || header.Get("Retry-After") != "3600" {
			t.Errorf("beyond the limit: %d, Retry-After %s", code, header.Get("Retry-After"))
		}
		a.must("service", "create", "shop", "new", "redirect=http://127.0.0.1:1/")
		a.must("service", "set", "shop", "new", "split=100")
		a.must("service", "set", "shop", "all", "ratelimit=0", "split=0")
		if out := a.must("explain", "shop", "/"); !strings.Contains(out, "drawn by chance among all with weight 0, new with weight 100") {
			t.Errorf("explained is %s", out)
		}
	})
}
