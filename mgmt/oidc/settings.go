package oidc

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/sluicelb/sluice/mgmt/outbound"
	"github.com/sluicelb/sluice/mgmt/sealed"
)

// Callback is the end of a redirect's path, below the base of the API.
const Callback = "/session/oidc/callback"

// DefaultUserClaim is the default claim with the name of the user.
const DefaultUserClaim = "preferred_username"

// Settings holds the provider and the meaning of its claims.
type Settings struct {
	Enabled  bool   `json:"enabled,omitempty"`
	Issuer   string `json:"issuer,omitempty"` // https, exactly as the provider writes it
	ClientID string `json:"client_id,omitempty"`
	// Redirect is the callback of this appliance to which the provider redirects browsers,
	// under a name that browsers can reach.
	Redirect string `json:"redirect,omitempty"`
	// Landing is the address for browsers after a login, unless the login began with
	// another one: a path of the appliance. Empty: they remain on the page of the API.
	Landing string `json:"landing,omitempty"`
	// CA is the name of the list of CAs that verifies the provider's certificate; empty: the
	// system's CAs.
	CA     string   `json:"ca,omitempty"`
	Scopes []string `json:"scopes,omitempty"` // besides openid
	// UserClaim is the claim with the name of the user. Users maps its values to names, as
	// "value=user".
	UserClaim string   `json:"user_claim,omitempty"`
	Users     []string `json:"users,omitempty"`
	// GroupClaim is the claim whose values Groups maps to groups, as "value=group"; the first
	// match counts. If it is empty, only users created by an operator can log in.
	GroupClaim string   `json:"group_claim,omitempty"`
	Groups     []string `json:"groups,omitempty"`
}

func (s Settings) complete() Settings {
	s.UserClaim = cmp.Or(s.UserClaim, DefaultUserClaim)
	if s.Scopes == nil {
		s.Scopes = []string{"profile"}
	}
	return s
}

// Error is the reason why settings are refused. It never contains a secret.
type Error struct{ Message string }

// Error implements error.
func (e *Error) Error() string { return e.Message }

func invalid(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// Options holds the parameters of a Client.
type Options struct {
	Keeper  sealed.Keeper
	Secrets sealed.Sealer
	// Authority returns a list of CAs in PEM.
	Authority func(name string) ([]byte, error)
	Log       *slog.Logger // nil discards
	Now       func() time.Time
}

// Client talks to the configured provider; make it with New. It may be used from any
// goroutine.
type Client struct {
	options Options
	kept    sealed.Document[kept]
	seal    seal
	spent   spent

	mu   sync.Mutex
	last *discovery
}

// New returns the client with the settings from the keeper.
func New(o Options) *Client {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Client{options: o, seal: newSeal(),
		kept: sealed.Document[kept]{Keeper: o.Keeper, Sealer: o.Secrets, Name: "oidc", Purpose: "the client (oidc)"}}
}

// kept holds the stored settings.
type kept struct {
	Settings
	Secret []byte `json:"secret,omitempty"` // sealed
}

// Settings returns the settings with their defaults, and whether there is a secret.
func (c *Client) Settings() (s Settings, secret bool, err error) {
	k, err := c.kept.Read()
	return k.Settings.complete(), len(k.Secret) > 0, err
}

// Plan returns the settings as Set would store them, or the reason why it would refuse
// them.
func (c *Client) Plan(s Settings, secret *string) (Settings, error) {
	before, err := c.kept.Read()
	if err != nil {
		return s.complete(), err
	}
	return c.plan(&before, s, secret)
}

func (c *Client) plan(before *kept, s Settings, secret *string) (Settings, error) {
	s = s.complete()
	if err := s.check(c.options.Authority); err != nil {
		return s, err
	}
	switch {
	case secret == nil && len(before.Secret) > 0 && (s.Issuer != before.Issuer || s.CA != before.CA):
		return s, invalid("client_secret must be sent again when issuer or ca change: it was given for another provider")
	case secret != nil && len(*secret) > maxText:
		return s, invalid("client_secret: at most %d bytes are allowed", maxText)
	case s.Issuer != before.Issuer:
		return s, reachable(s.Issuer)
	}
	return s, nil
}

// Set changes the settings for future logins. A nil secret keeps the current one, an empty
// one removes it. An *Error is the reason of a refusal.
func (c *Client) Set(s Settings, secret *string) error {
	return c.kept.Change(func(k *kept) (err error) {
		if k.Settings, err = c.plan(k, s, secret); err != nil {
			return err
		}
		switch {
		case secret == nil:
		case *secret == "":
			k.Secret = nil
		default:
			if k.Secret, err = c.kept.Seal(*secret); err != nil {
				return invalid("client_secret cannot be kept: %s", err)
			}
		}
		return nil
	})
}

const (
	maxText    = 512
	maxMapped  = 200
	maxScopes  = 20
	maxAddress = 1024
)

func (s Settings) check(authority func(string) ([]byte, error)) error {
	if s.Enabled && (s.Issuer == "" || s.ClientID == "" || s.Redirect == "") {
		return invalid("enabled: issuer, client_id and redirect are needed first")
	}
	for name, text := range map[string]string{"issuer": s.Issuer, "redirect": s.Redirect} {
		if text != "" && !address(text) {
			return invalid("%s: %.80q must be https:// with a host, without a password, query and fragment", name, text)
		}
	}
	if s.Redirect != "" && !strings.HasSuffix(s.Redirect, Callback) {
		return invalid("redirect: %.80q must end with %s, below the base of the API", s.Redirect, Callback)
	}
	if s.Landing != "" && !Place(s.Landing) {
		return invalid("landing: %.80q must be a path of this appliance, as /gui/", s.Landing)
	}
	for name, text := range map[string]string{"client_id": s.ClientID, "user_claim": s.UserClaim, "group_claim": s.GroupClaim} {
		if !plain(text) {
			return invalid("%s: %.80q is too long, or has characters that are not allowed", name, text)
		}
	}
	if len(s.Scopes) > maxScopes || slices.ContainsFunc(s.Scopes, func(scope string) bool { return scope == "" || !plain(scope) || strings.Contains(scope, " ") }) {
		return invalid("scopes: at most %d words are allowed", maxScopes)
	}
	if s.CA != "" {
		if _, err := authority(s.CA); err != nil {
			return invalid("ca: %s", err)
		}
	}
	if len(s.Groups) > 0 && s.GroupClaim == "" {
		return invalid("group_claim is needed with groups: it has the values that are mapped")
	}
	return errors.Join(checkMap("users", s.Users), checkMap("groups", s.Groups))
}

// reachable refuses a provider that would never be connected to.
func reachable(issuer string) error {
	u, err := url.Parse(issuer)
	if err != nil || issuer == "" {
		return err
	}
	if err := outbound.Guard(outbound.Reachable).CheckHost(u.Hostname()); err != nil {
		return invalid("issuer: %s", err)
	}
	return nil
}

func address(text string) bool {
	u, err := url.Parse(text)
	return err == nil && len(text) <= maxAddress && u.Scheme == "https" && u.Hostname() != "" && u.User == nil && u.Fragment == "" && u.RawQuery == "" && !u.ForceQuery
}

// Place reports whether a text is a path of this appliance to which a browser may be
// redirected. It must be impossible to read it as an address of another host.
func Place(text string) bool {
	odd := strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`\"'<>`, r) })
	if odd || len(text) > maxAddress || !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") {
		return false
	}
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "" && u.Host == "" && u.User == nil
}

// plain reports whether a text can be shown and sent unchanged.
func plain(text string) bool {
	return len(text) <= maxText && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

func checkMap(name string, lines []string) error {
	if len(lines) > maxMapped {
		return invalid("%s: at most %d are mapped", name, maxMapped)
	}
	for _, line := range lines {
		at := strings.LastIndex(line, "=")
		if at < 1 || at == len(line)-1 || !plain(line) {
			return invalid("%s: %.80q must be VALUE=NAME", name, line)
		}
		if name == "users" && line[at+1:] == "root" {
			return invalid("users: nobody comes in as root")
		}
	}
	return nil
}

// split splits a line VALUE=NAME; values may have an equals sign, names may not.
func split(line string) (value, name string) {
	at := strings.LastIndex(line, "=")
	return line[:at], line[at+1:]
}

// mapped returns the name that a value maps to.
func mapped(lines []string, value string) (to string, is bool) {
	for _, line := range lines {
		if from, to := split(line); from == value {
			return to, true
		}
	}
	return "", false
}
