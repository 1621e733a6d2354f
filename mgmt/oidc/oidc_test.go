package oidc_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/oidc"
	"github.com/sluicelb/sluice/mgmt/oidc/oidctest"
	"github.com/sluicelb/sluice/mgmt/rbac/rbactest"
)

type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// house is a provider, and a client with its settings.
type house struct {
	*clock
	*oidc.Client
	provider *oidctest.Provider
	kept     *rbactest.Memory
}

const redirect = "https://lb.example:444/api/v4.0" + oidc.Callback

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{clock: &clock{time.Now()}, kept: &rbactest.Memory{}}
	h.provider = oidctest.New(t, h.now)
	h.provider.Claims = map[string]any{"preferred_username": "ann"}
	h.Client = oidc.New(oidc.Options{Keeper: h.kept, Secrets: rbactest.Sealer{}, Now: h.now, Authority: func(name string) ([]byte, error) {
		if name != "house" {
			return nil, errors.New("it does not exist")
		}
		return h.provider.PEM(), nil
	}})
	h.set(t, func(*oidc.Settings) {})
	return h
}

func (h *house) settings() oidc.Settings {
	return oidc.Settings{Enabled: true, Issuer: h.provider.Issuer(), ClientID: oidctest.ClientID, Redirect: redirect, CA: "house"}
}

func (h *house) set(t *testing.T, change func(*oidc.Settings)) {
	t.Helper()
	s, secret := h.settings(), oidctest.ClientSecret
	change(&s)
	if err := h.Set(s, &secret); err != nil {
		t.Fatal(err)
	}
}

// logIn makes a complete login.
func (h *house) logIn(t *testing.T) (oidc.Claimed, error) {
	t.Helper()
	to, binding, err := h.Begin(t.Context(), "", false)
	if err != nil {
		t.Fatal(err)
	}
	return h.Finish(t.Context(), h.provider.LogIn(t, to), binding)
}

func TestLoginReturnsTheProvidersUser(t *testing.T) {
	h := newHouse(t)
	for range 2 {
		if who, err := h.logIn(t); err != nil || who != (oidc.Claimed{User: "ann"}) {
			t.Errorf("%+v, %v", who, err)
		}
	}
	if n := h.provider.Described.Load(); n != 1 {
		t.Errorf("%d requests for the provider's metadata", n)
	}
}

func TestClaimsMapToUsersAndGroups(t *testing.T) {
	h := newHouse(t)
	mapped := func(s *oidc.Settings) {
		s.Users, s.GroupClaim, s.Groups = []string{"a=b@x=ann", "boss=eve"}, "groups", []string{"ops=team", "other=x=others"}
	}
	email := func(s *oidc.Settings) { s.UserClaim, s.Users = "email", []string{"ann@x=ann"} }
	for name, c := range map[string]struct {
		change func(*oidc.Settings)
		claims map[string]any
		want   string
	}{
		"as it is":             {mapped, map[string]any{"preferred_username": "tim"}, "tim in "},
		"a user":               {mapped, map[string]any{"preferred_username": "a=b@x"}, "ann in "},
		"a group":              {mapped, map[string]any{"preferred_username": "boss", "groups": []string{"x", "other=x"}}, "eve in others"},
		"the first group":      {mapped, map[string]any{"preferred_username": "tim", "groups": []string{"other=x", "ops"}}, "tim in team"},
		"a group that is text": {mapped, map[string]any{"preferred_username": "tim", "groups": "ops"}, "tim in team"},
		"odd groups":           {mapped, map[string]any{"preferred_username": "tim", "groups": []any{7, nil, map[string]any{"ops": "ops"}}}, "tim in "},
		"no group claim":       {func(*oidc.Settings) {}, map[string]any{"preferred_username": "tim", "groups": "ops"}, "tim in "},
		"mail":                 {email, map[string]any{"email": "ann@x", "email_verified": true}, "ann in "},
		"mail, as text":        {email, map[string]any{"email": "ann@x", "email_verified": "true"}, "ann in "},
		"mail of anybody":      {email, map[string]any{"email": "ann@x", "email_verified": false}, "refused"},
		"mail unknown":         {email, map[string]any{"email": "ann@x"}, "refused"},
		"no claim":             {mapped, map[string]any{"preferred_username": nil}, "refused"},
		"an empty one":         {mapped, map[string]any{"preferred_username": ""}, "refused"},
		"no text":              {mapped, map[string]any{"preferred_username": 7}, "refused"},
		"an odd one":           {mapped, map[string]any{"preferred_username": "a\nb"}, "refused"},
	} {
		h.set(t, c.change)
		h.provider.Claims = c.claims
		who, err := h.logIn(t)
		got := fmt.Sprint(who.User, " in ", who.Group)
		if errors.Is(err, oidc.ErrRefused) {
			got = "refused"
		}
		if got != c.want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

func TestForeignTokensAreRefused(t *testing.T) {
	h := newHouse(t)
	other := func(name string, value any) func() {
		return func() { h.provider.Claims[name] = value }
	}
	for name, change := range map[string]func(){
		"nonce": other("nonce", "another"), "no nonce": other("nonce", nil), "audience": other("aud", "another"), "issuer": other("iss", "https://other.example"),
		"expired": other("exp", h.now().Add(-time.Second).Unix()), "party": other("azp", "another"), "signature": func() { h.provider.Forged = true },
		"no token": func() {
			h.provider.Answer = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"access_token":"x","token_type":"Bearer"}`))
			}
		},
	} {
		h.provider.Claims, h.provider.Forged, h.provider.Answer = map[string]any{"preferred_username": "ann"}, false, nil
		change()
		if who, err := h.logIn(t); !errors.Is(err, oidc.ErrRefused) || who != (oidc.Claimed{}) {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
	}
}

// Only the browser that began a login can complete it: once, in time, with the parameters
// of the provider.
func TestLoginIsBoundToItsBrowser(t *testing.T) {
	h := newHouse(t)
	for name, change := range map[string]func(q url.Values, binding *string){
		"another browser": func(_ url.Values, binding *string) { *binding = "x" },
		"no cookie":       func(_ url.Values, binding *string) { *binding = "" },
		"another state":   func(q url.Values, _ *string) { q.Set("state", "x") },
		"no state":        func(q url.Values, _ *string) { q.Del("state") },
		"two states":      func(q url.Values, _ *string) { q.Add("state", "x") },
		"two codes":       func(q url.Values, _ *string) { q.Add("code", "x") },
		"another code":    func(q url.Values, _ *string) { q.Set("code", "x") },
		"no code":         func(q url.Values, _ *string) { q.Del("code"); q.Set("error", "access_denied") },
		"another issuer":  func(q url.Values, _ *string) { q.Set("iss", "https://other.example") },
		"too late":        func(url.Values, *string) { h.at = h.at.Add(10 * time.Minute) },
		"switched off":    func(url.Values, *string) { h.set(t, func(s *oidc.Settings) { s.Enabled = false }) },
	} {
		h.set(t, func(*oidc.Settings) {})
		to, binding, err := h.Begin(t.Context(), "", false)
		if err != nil {
			t.Fatal(err)
		}
		q := h.provider.LogIn(t, to)
		right := url.Values{"code": {q.Get("code")}, "state": {q.Get("state")}}
		cookie := binding
		change(q, &cookie)
		if who, err := h.Finish(t.Context(), q, cookie); err == nil || who != (oidc.Claimed{}) {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
		if name == "no code" { // it is used up
			if who, err := h.Finish(t.Context(), right, binding); !errors.Is(err, oidc.ErrRefused) {
				t.Errorf("%s, again: %+v, %v", name, who, err)
			}
		}
	}
	h.set(t, func(*oidc.Settings) {})
	to, binding, _ := h.Begin(t.Context(), "", false)
	q := h.provider.LogIn(t, to)
	q.Set("iss", h.provider.Issuer())
	if who, err := h.Finish(t.Context(), q, binding); err != nil || who.User != "ann" {
		t.Errorf("%+v, %v", who, err)
	}
	if _, err := h.Finish(t.Context(), q, binding); !errors.Is(err, oidc.ErrRefused) {
		t.Errorf("a second time: %v", err)
	}
}

// Logins that other clients begin do not end a login in progress.
func TestLoginsOfStrangersEndNoLoginInProgress(t *testing.T) {
	h := newHouse(t)
	to, binding, _ := h.Begin(t.Context(), "/gui/", false)
	q := h.provider.LogIn(t, to)
	h.at = h.at.Add(time.Second)
	for range 5000 {
		if _, _, err := h.Begin(t.Context(), "", false); err != nil {
			t.Fatal(err)
		}
	}
	for _, other := range []string{"", "x", binding + "x", binding[:len(binding)-4] + "AAAA"} { // knowing the state does not use it up
		if who, err := h.Finish(t.Context(), q, other); !errors.Is(err, oidc.ErrRefused) {
			t.Errorf("with the binding %q: %+v, %v", other, who, err)
		}
	}
	if who, err := h.Finish(t.Context(), q, binding); err != nil || who.User != "ann" || who.Back != "/gui/" {
		t.Errorf("the login in progress: %+v, %v", who, err)
	}
}

// The binding is sealed: the browser cannot read it, and other processes reject it.
func TestABindingIsSealed(t *testing.T) {
	h, other := newHouse(t), newHouse(t)
	to, binding, _ := h.Begin(t.Context(), "/gui/farms", false)
	plain, err := base64.RawURLEncoding.DecodeString(binding)
	if err != nil || bytes.Contains(plain, []byte("/gui/")) || len(binding) > 3500 {
		t.Errorf("the binding is %q, %v", plain, err)
	}
	u, _ := url.Parse(to)
	if _, err := other.Finish(t.Context(), url.Values{"state": {u.Query().Get("state")}, "code": {"x"}}, binding); !errors.Is(err, oidc.ErrRefused) {
		t.Errorf("another process: %v", err)
	}
	long := "/" + strings.Repeat("x", 2000)
	if _, binding, err := h.Begin(t.Context(), long, false); err != nil && oidc.Place(long) || len(binding) > 4000 {
		t.Errorf("a cookie of %d bytes: %v", len(binding), err)
	}
}

func TestUnavailableProviderIsNotARefusal(t *testing.T) {
	h := newHouse(t)
	to, binding, _ := h.Begin(t.Context(), "", false)
	q := h.provider.LogIn(t, to)
	h.provider.Answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }
	if _, err := h.Finish(t.Context(), q, binding); !errors.Is(err, oidc.ErrUnavailable) || errors.Is(err, oidc.ErrRefused) {
		t.Errorf("of a broken one: %v", err)
	}
	h.set(t, func(s *oidc.Settings) { s.CA = "" })
	if _, _, err := h.Begin(t.Context(), "", false); !errors.Is(err, oidc.ErrUnavailable) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unverified provider: %v", err)
	}
	h.set(t, func(s *oidc.Settings) { s.Issuer += "/other" })
	if _, _, err := h.Begin(t.Context(), "", false); !errors.Is(err, oidc.ErrUnavailable) {
		t.Errorf("of none: %v", err)
	}
	h.set(t, func(s *oidc.Settings) { s.Enabled = false })
	if _, _, err := h.Begin(t.Context(), "", false); !errors.Is(err, oidc.ErrOff) {
		t.Errorf("switched off: %v", err)
	}
	if _, _, err := oidc.New(oidc.Options{Keeper: &rbactest.Memory{}}).Begin(t.Context(), "", false); !errors.Is(err, oidc.ErrOff) {
		t.Errorf("never set: %v", err)
	}
}

// Any client may begin a login, and each request to an unreachable provider takes seconds.
func TestLoginsShareOneProviderRequest(t *testing.T) {
	h := newHouse(t)
	release := make(chan struct{})
	h.provider.Description = func(w http.ResponseWriter, _ *http.Request) {
		<-release
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	begin := func(ctx context.Context) error {
		_, _, err := h.Begin(ctx, "", false)
		return err
	}
	gone, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() { left <- begin(gone) }()
	for h.provider.Described.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("a client that leaves: %v", err)
	}
	failed := make(chan error)
	for range 50 {
		go func() { failed <- begin(t.Context()) }()
	}
	time.Sleep(10 * time.Millisecond)
	close(release)
	for range 50 {
		if err := <-failed; !errors.Is(err, oidc.ErrUnavailable) {
			t.Error(err)
		}
	}
	if n := h.provider.Described.Load(); n != 1 {
		t.Errorf("51 logins made %d requests to the provider", n)
	}
	h.provider.Description = nil
	if err := begin(t.Context()); !errors.Is(err, oidc.ErrUnavailable) {
		t.Errorf("a failure is not believed: %v", err)
	}
	h.clock.at = h.clock.at.Add(3 * time.Second)
	if err := begin(t.Context()); err != nil || h.provider.Described.Load() != 2 {
		t.Errorf("after 3 s: %v, %d requests", err, h.provider.Described.Load())
	}
}

func TestCancelledLoginEndsNoOther(t *testing.T) {
	h := newHouse(t)
	release := make(chan struct{})
	h.provider.Description = func(w http.ResponseWriter, r *http.Request) {
		<-release
		h.provider.Describe(w, r)
	}
	gone, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, _, err := h.Begin(gone, "", false)
		left <- err
	}()
	for h.provider.Described.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	leave()
	<-left
	close(release)
	if _, _, err := h.Begin(t.Context(), "", false); err != nil || h.provider.Described.Load() != 1 {
		t.Errorf("after a cancelled login: %v, %d requests", err, h.provider.Described.Load())
	}
}

func TestAnAnswerWithoutEndIsCut(t *testing.T) {
	h := newHouse(t)
	h.provider.Answer = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"access_token":"`))
		for r.Context().Err() == nil {
			if _, err := w.Write([]byte(strings.Repeat("x", 1<<16))); err != nil {
				return
			}
		}
	}
	if _, err := h.logIn(t); err == nil {
		t.Error("it is an answer")
	}
}

func TestWrongSettingsAreRefused(t *testing.T) {
	h := newHouse(t)
	before := string(h.kept.Kept["oidc"])
	long := strings.Repeat("x", 600)
	for says, change := range map[string]func(*oidc.Settings){
		"enabled: issuer": func(s *oidc.Settings) { s.Issuer = "" }, "client_id and redirect": func(s *oidc.Settings) { s.ClientID = "" },
		"redirect are needed": func(s *oidc.Settings) { s.Redirect = "" },
		`"http://a`:           func(s *oidc.Settings) { s.Issuer = "http://a.example" }, `"https://u:p@a`: func(s *oidc.Settings) { s.Issuer = "https://u:p@a.example" },
		`"https://a?b"`: func(s *oidc.Settings) { s.Issuer = "https://a?b" }, `"https://a#b"`: func(s *oidc.Settings) { s.Issuer = "https://a#b" },
		`"https:///a"`: func(s *oidc.Settings) { s.Issuer = "https:///a" }, `issuer: "https://xxxx`: func(s *oidc.Settings) { s.Issuer = "https://" + long + long },
		"must end with /session/oidc/callback": func(s *oidc.Settings) { s.Redirect = "https://lb.example/other" },
		"client_id:":                           func(s *oidc.Settings) { s.ClientID = "a\nb" }, `client_id: "xxx`: func(s *oidc.Settings) { s.ClientID = long },
		"user_claim:": func(s *oidc.Settings) { s.UserClaim = "a\x00" }, "group_claim:": func(s *oidc.Settings) { s.GroupClaim = "a\x00" },
		"scopes:": func(s *oidc.Settings) { s.Scopes = []string{"a b"} }, "at most 20 words": func(s *oidc.Settings) { s.Scopes = make([]string, 21) },
		"ca:": func(s *oidc.Settings) { s.CA = "none" }, "group_claim is needed": func(s *oidc.Settings) { s.Groups = []string{"a=b"} },
		"VALUE=NAME": func(s *oidc.Settings) { s.Users = []string{"ann"} }, `users: "=ann"`: func(s *oidc.Settings) { s.Users = []string{"=ann"} },
		`"a="`: func(s *oidc.Settings) { s.Users = []string{"a="} }, "nobody comes in as root": func(s *oidc.Settings) { s.Users = []string{"a=root"} },
		"groups: at most 200": func(s *oidc.Settings) { s.GroupClaim, s.Groups = "g", make([]string, 201) },
	} {
		s, secret := h.settings(), "secret"
		change(&s)
		err := h.Set(s, &secret)
		var known *oidc.Error
		if !errors.As(err, &known) || !strings.Contains(err.Error(), says) || string(h.kept.Kept["oidc"]) != before {
			t.Errorf("%s: %v", says, err)
		}
	}
}

// A secret is sent only to the issuer it was entered for.
func TestSecretIsSentOnlyToItsIssuer(t *testing.T) {
	h := newHouse(t)
	if _, has, _ := h.Settings(); !has || strings.Contains(string(h.kept.Kept["oidc"]), oidctest.ClientSecret) {
		t.Errorf("kept: %s", h.kept.Kept["oidc"])
	}
	for _, change := range []func(*oidc.Settings){func(s *oidc.Settings) { s.Issuer = "https://other.example" }, func(s *oidc.Settings) { s.CA = "" }} {
		s := h.settings()
		change(&s)
		if err := h.Set(s, nil); err == nil || !strings.Contains(err.Error(), "must be sent again") {
			t.Errorf("another provider with the same secret: %v", err)
		}
	}
	s := h.settings()
	s.Scopes = []string{"email"}
	if err := h.Set(s, nil); err != nil {
		t.Error(err)
	}
	if _, err := h.logIn(t); err != nil {
		t.Errorf("it did not stay: %v", err)
	}
	none, long := "", strings.Repeat("x", 513)
	if err := h.Set(s, &long); err == nil {
		t.Error("one without end is kept")
	}
	if err := h.Set(s, &none); err != nil {
		t.Error(err)
	}
	if _, has, _ := h.Settings(); has {
		t.Error("the removed settings exist")
	}
	if _, err := h.logIn(t); !errors.Is(err, oidc.ErrRefused) {
		t.Errorf("without it: %v", err)
	}
}

// A login is fresh if the provider states that the user has just entered the credentials. A
// login without auth_time is not, although the provider should have demanded them.
func TestALoginIsFreshIfTheUserHasJustShownTheCredentials(t *testing.T) {
	h := newHouse(t)
	ago := func(d time.Duration) any { return h.now().Add(-d).Unix() }
	for name, c := range map[string]struct {
		again          bool
		auth           any
		fresh, refused bool
	}{
		"not said":                 {false, nil, false, false},
		"just now":                 {false, ago(time.Second), true, false},
		"two minutes ago":          {false, ago(2*time.Minute + time.Second), false, false},
		"no time":                  {false, "now", false, false},
		"again, not said":          {true, nil, false, true},
		"again, just now":          {true, ago(0), true, false},
		"again, by a slow clock":   {true, ago(59 * time.Second), true, false},
		"again, but was not asked": {true, ago(2 * time.Minute), false, true},
		"again, but said in words": {true, "now", false, true},
	} {
		h.provider.Claims = map[string]any{"preferred_username": "ann", "auth_time": c.auth}
		to, binding, err := h.Begin(t.Context(), "", c.again)
		if err != nil {
			t.Fatal(err)
		}
		q, _ := url.Parse(to)
		if told := q.Query().Get("max_age") == "0" && q.Query().Get("prompt") == "login"; told != c.again {
			t.Errorf("%s: the provider is sent %s", name, to)
		}
		who, err := h.Finish(t.Context(), h.provider.LogIn(t, to), binding)
		if who.Fresh != c.fresh || errors.Is(err, oidc.ErrRefused) != c.refused {
			t.Errorf("%s: fresh %v, %v", name, who.Fresh, err)
		}
	}
}
