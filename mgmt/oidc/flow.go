package oidc

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// flowTime bounds the duration of a login.
const flowTime = 10 * time.Minute

// flow is a login in progress. It is sealed into a cookie of the browser that began it,
// because any client may begin one and unknown clients could fill a table.
type flow struct {
	State    [sha256.Size]byte // SHA-256 of the state
	Nonce    string
	Verifier string
	Back     string // final address for the browser, "" for the default in the settings
	Until    time.Time
	Fresh    bool // the provider must demand the credentials again
}

// The errors of logins. The text of the wrapped error is for logs.
var (
	// ErrOff: it is not enabled.
	ErrOff = errors.New("log-in with OpenID Connect is off")
	// ErrRefused: no login with this state began here, or the provider has not
	// authenticated a user.
	ErrRefused = errors.New("not vouched for by the provider")
	// ErrUnavailable: the provider cannot be reached.
	ErrUnavailable = errors.New("the provider of OpenID Connect cannot be asked")
)

func refused(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))
}

// Begin begins a login. The browser must be redirected to the address to, and must keep
// binding, the sealed login, in a cookie until it returns. Parameter back is the final
// address for the browser, a Place; empty for the default in the settings. With fresh the
// provider demands the credentials again, even if it knows the browser. Errors: ErrOff,
// ErrUnavailable.
func (c *Client) Begin(ctx context.Context, back string, fresh bool) (to, binding string, err error) {
	config, _, err := c.asked(ctx)
	if err != nil {
		return "", "", err
	}
	state := random()
	f := flow{State: sha256.Sum256([]byte(state)), Nonce: random(), Verifier: oauth2.GenerateVerifier(), Back: back, Until: c.options.Now().Add(flowTime), Fresh: fresh}
	if binding, err = c.seal.close(f); err != nil {
		return "", "", err
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)}
	if fresh {
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"), oauth2.SetAuthURLParam("max_age", "0"),
			oauth2.SetAuthURLParam("claims", `{"id_token":{"auth_time":{"essential":true}}}`))
	}
	return config.AuthCodeURL(state, options...), binding, nil
}

func random() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails, by its documentation
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// take returns the login that began in the browser with this binding, if the state
// matches. Each state is valid once, even if the login fails.
func (c *Client) take(state, binding string) (flow, bool) {
	f, is := c.seal.open(binding)
	given := sha256.Sum256([]byte(state))
	now := c.options.Now()
	if !is || !now.Before(f.Until) || subtle.ConstantTimeCompare(given[:], f.State[:]) != 1 {
		return flow{}, false
	}
	return f, c.spent.add(f.State, now, f.Until)
}

// Claimed holds the user that the provider has authenticated.
type Claimed struct {
	User  string
	Group string // that claims map to, empty for none
	Back  string // next address for the browser: a Place, or empty
	// Fresh: the user has just entered the credentials at the provider.
	Fresh bool
}

// Finish completes a login with the query from the provider's redirect and the binding
// from the cookie. Errors: ErrOff, ErrRefused, ErrUnavailable.
func (c *Client) Finish(ctx context.Context, query url.Values, binding string) (Claimed, error) {
	for name, values := range query {
		if len(values) != 1 || len(values[0]) > maxAnswer {
			return Claimed{}, refused("%.40q came %d times", name, len(values))
		}
	}
	f, is := c.take(query.Get("state"), binding)
	if !is {
		return Claimed{}, refused("no log-in began in this browser with that state")
	}
	config, k, err := c.asked(ctx)
	if err != nil {
		return Claimed{}, err
	}
	if iss := query.Get("iss"); iss != "" && iss != k.settings.Issuer { // RFC 9207
		return Claimed{}, refused("the answer is of %.80q", iss)
	}
	if query.Get("code") == "" {
		return Claimed{}, refused("the provider says %.80q: %.200q", query.Get("error"), query.Get("error_description"))
	}
	ctx = oidc.ClientContext(ctx, k.http)
	token, err := config.Exchange(ctx, query.Get("code"), oauth2.VerifierOption(f.Verifier))
	if err != nil {
		return Claimed{}, exchangeError(err)
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := k.provider.VerifierContext(ctx, &oidc.Config{ClientID: k.settings.ClientID, Now: c.options.Now}).Verify(ctx, raw)
	if err != nil {
		return Claimed{}, refused("%s", err)
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(f.Nonce)) != 1 {
		return Claimed{}, refused("the token is for another log-in")
	}
	fresh, err := c.fresh(id, f)
	if err != nil {
		return Claimed{}, err
	}
	out, err := k.settings.claimed(id)
	out.Fresh = fresh && err == nil
	out.Back = cmp.Or(f.Back, k.settings.Landing)
	return out, err
}

// Limits for the age of a login at the provider.
const (
	// clockSkew is the tolerance for a provider's clock that lags behind.
	clockSkew = time.Minute
	// freshTime is the maximum age of a login that counts as fresh.
	freshTime = time.Minute
)

// fresh reports whether the user has just entered the credentials at the provider. The claim
// auth_time is that time. A provider must include it if it got max_age (Core 1.0, section 2).
// A login without it may rest on a stolen session of the browser at the provider.
func (c *Client) fresh(id *oidc.IDToken, f flow) (bool, error) {
	var claims struct {
		AuthTime *float64 `json:"auth_time"`
	}
	unreadable := id.Claims(&claims) != nil
	since := c.options.Now().Add(-freshTime)
	if f.Fresh {
		since = f.Until.Add(-flowTime)
	}
	fresh := !unreadable && claims.AuthTime != nil && int64(*claims.AuthTime) >= since.Add(-clockSkew).Unix()
	switch {
	case fresh || !f.Fresh:
		return fresh, nil
	case unreadable || claims.AuthTime == nil:
		return false, refused("the provider does not state when it asked for the credentials: have it add the claim auth_time to the ID token")
	}
	return false, refused("the provider did not ask for the credentials again, as it was told: auth_time is older than the log-in")
}

// exchangeError distinguishes a provider that refuses a code from one that does not answer.
func exchangeError(err error) error {
	var known *oauth2.RetrieveError
	if errors.As(err, &known) && known.Response != nil && known.Response.StatusCode < 500 {
		return refused("the provider refuses the code: %.80q: %.200q", known.ErrorCode, known.ErrorDescription)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// claimed reads the claims of a token.
func (s Settings) claimed(id *oidc.IDToken) (Claimed, error) {
	var claims map[string]any
	if err := id.Claims(&claims); err != nil {
		return Claimed{}, refused("%s", err)
	}
	if party, is := claims["azp"].(string); is && party != s.ClientID {
		return Claimed{}, refused("the token was made for %.80q", party)
	}
	value, is := claims[s.UserClaim].(string)
	if !is || value == "" || !plain(value) {
		return Claimed{}, refused("the token has no claim %s that is a text", s.UserClaim)
	}
	if verified := claims["email_verified"]; s.UserClaim == "email" && verified != true && verified != "true" {
		return Claimed{}, refused("the provider has not verified the address %.80q", value)
	}
	out := Claimed{User: value}
	if user, is := mapped(s.Users, value); is {
		out.User = user
	}
	if s.GroupClaim != "" {
		out.Group = s.group(claims[s.GroupClaim])
	}
	return out, nil
}

// group returns the group that a claim maps to: the first match in the order of the settings.
func (s Settings) group(claim any) string {
	list, _ := claim.([]any)
	if text, is := claim.(string); is {
		list = []any{text}
	}
	for _, line := range s.Groups {
		value, group := split(line)
		if slices.Contains(list, any(value)) {
			return group
		}
	}
	return ""
}
