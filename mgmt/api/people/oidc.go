package people

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/oidc"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/people"
)

// Provider authenticates users; *oidc.Client implements it.
type Provider interface {
	Settings() (s oidc.Settings, secret bool, err error)
	Plan(s oidc.Settings, secret *string) (oidc.Settings, error)
	Set(s oidc.Settings, secret *string) error
	Begin(ctx context.Context, back string, fresh bool) (to, binding string, err error)
	Finish(ctx context.Context, query url.Values, binding string) (oidc.Claimed, error)
}

// againQuery makes the provider ask for the credentials again.
const againQuery = "reauthenticate"

const oidcPath = SessionPath + "/oidc"

// Public reports whether a path belongs to a login flow that starts without a credential.
func Public(path string) bool {
	return path == oidcPath || path == oidcPath+"/callback" || path == oidcPath+donePath
}

func (s *Resource) oidcOperations() []*rest.Operation {
	if s.deps.Provider == nil {
		return nil
	}
	const settings = "/rbac/oidc"
	about := rest.NewDocument("the settings of OpenID Connect", func() string {
		now, secret, _ := s.deps.Provider.Settings() // an unreadable one is reported when it is changed
		return rest.Digest([]any{now, secret})
	})
	return append(rest.About(about,
		rest.Op(rest.Get, settings, rbac.RootOnly, "Get the settings of OpenID Connect", s.getOIDC),
		rest.Op(rest.Post, settings, rbac.RootOnly, "Change the settings of OpenID Connect", s.setOIDC).Body(&people.OIDCUpdate).Outlives(),
		rest.Op(rest.Put, settings, rbac.RootOnly, "Change the settings of OpenID Connect", s.setOIDC).Body(&people.OIDCUpdate).Outlives(),
	),
		rest.Op(rest.Get, oidcPath, rbac.Public, "Log in with OpenID Connect", s.beginOIDC).
			With("to", "Path of this appliance to open after login").
			With(againQuery, "true to make the provider request the credentials again, which confirms the session like POST "+ConfirmPath).ShownInBrowsers(refusedOIDC),
		rest.Op(rest.Get, oidcPath+"/callback", rbac.Public, "Handle the redirect from the provider", s.finishOIDC).Audited().AnyQuery().
			With("code", "Parameter set by the provider").With("state", "Parameter set by the provider").ShownInBrowsers(refusedOIDC),
		rest.File(rest.Get, oidcPath+donePath, rbac.Public, "Show a browser that it is logged in", rest.PageType, doneOIDC).
			With("to", "Path of this appliance to open now"),
	)
}

// OIDCItem describes the provider, without the client secret.
type OIDCItem struct {
	Enabled    string   `json:"enabled" enum:"true,false"`
	Issuer     string   `json:"issuer"`
	ClientID   string   `json:"client_id"`
	Secret     string   `json:"client_secret" enum:",***" doc:"*** if one is set"`
	Redirect   string   `json:"redirect"`
	Landing    string   `json:"landing" doc:"Page to open after login"`
	CA         string   `json:"ca"`
	Scopes     []string `json:"scopes"`
	UserClaim  string   `json:"user_claim"`
	Users      []string `json:"users"`
	GroupClaim string   `json:"group_claim"`
	Groups     []string `json:"groups"`
}

func (s *Resource) getOIDC(c *rest.Call) (rest.Object[OIDCItem], error) {
	o, secret, err := s.deps.Provider.Settings()
	return rest.Object[OIDCItem]{Description: c.Summary(), Params: OIDCItem{rest.Truth(o.Enabled), o.Issuer, o.ClientID, starred(secret), o.Redirect, o.Landing, o.CA,
		append([]string{}, o.Scopes...), o.UserClaim, append([]string{}, o.Users...), o.GroupClaim, append([]string{}, o.Groups...)}}, err
}

func (s *Resource) setOIDC(c *rest.Call) (rest.Object[OIDCItem], error) {
	values, err := rest.Decode(c, &people.OIDCUpdate)
	if err != nil {
		return rest.Object[OIDCItem]{}, err
	}
	settings, _, err := s.deps.Provider.Settings()
	if err != nil {
		return rest.Object[OIDCItem]{}, err
	}
	sentTexts(values, map[string]*string{"issuer": &settings.Issuer, "client_id": &settings.ClientID, "redirect": &settings.Redirect, "landing": &settings.Landing, "ca": &settings.CA, "user_claim": &settings.UserClaim, "group_claim": &settings.GroupClaim})
	for name, to := range map[string]*[]string{"scopes": &settings.Scopes, "users": &settings.Users, "groups": &settings.Groups} {
		if values.Has(name) {
			*to = values.Get(name).List()
		}
	}
	if values.Has("enabled") {
		settings.Enabled = values.Get("enabled").Bool()
	}
	secret := sentSecret(values, "client_secret")
	settings, err = s.deps.Provider.Plan(settings, secret)
	if err == nil {
		err = c.Act()
	}
	if err == nil {
		err = s.deps.Provider.Set(settings, secret)
	}
	if err != nil {
		var known *oidc.Error
		if errors.As(err, &known) {
			err = rest.BadRequest("%s", known)
		}
		return rest.Object[OIDCItem]{}, err
	}
	s.log(c, "settings of OpenID Connect changed", "enabled", settings.Enabled, "issuer", settings.Issuer)
	out, err := s.getOIDC(c)
	out.Message = "The settings of OpenID Connect have been changed."
	return out, err
}

// bindingCookie binds a login to the browser that started it. It must be sent along with
// the redirect from the provider, which is another site, so it is SameSite=Lax.
const bindingCookie = "SLUICE_OIDC"

func bound(r *http.Request, value string, age int) string {
	return (&http.Cookie{Name: bindingCookie, Value: value, Path: "/", MaxAge: age, HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteLaxMode}).String()
}

// Begun is where a login continues.
type Begun struct {
	Location string `json:"location" doc:"URL of the provider to send the browser to"`
}

// beginOIDC redirects the browser to the provider.
func (s *Resource) beginOIDC(c *rest.Call) (Begun, error) {
	back, err := place(c)
	if err != nil {
		return Begun{}, err
	}
	fresh, err := c.Flag(againQuery)
	if err != nil {
		return Begun{}, err
	}
	to, binding, err := s.deps.Provider.Begin(c.Context, back, fresh)
	if err != nil {
		return Begun{}, oidcRejection(err)
	}
	const tenMinutes = 600
	c.Cookie, c.Location = bound(c.Request, binding, tenMinutes), to
	return Begun{to}, nil
}

// finishOIDC starts a session. Browsers are redirected to a page; other clients get the
// response of a login.
func (s *Resource) finishOIDC(c *rest.Call) (LoggedIn, error) {
	binding := ""
	if cookies := c.Request.CookiesNamed(bindingCookie); len(cookies) == 1 {
		binding = cookies[0].Value
	}
	claimed, err := s.deps.Provider.Finish(c.Context, c.Request.URL.Query(), binding)
	if err != nil {
		return LoggedIn{}, s.notVouched(c, "", err)
	}
	u, err := s.deps.Users.Admit(claimed.User, claimed.Group)
	if err != nil {
		return LoggedIn{}, s.notVouched(c, claimed.User, err)
	}
	c.By = s.deps.Guard.Vouched(c.Request, u.Name)
	rest.NoteOf(c.Context).By = c.By
	out, err := s.enter(c, claimed.Fresh)
	if err == nil && c.Browses() {
		c.Location = doneAt(c.Request, claimed.Back)
	}
	return out, err
}

// notVouched returns the rejection of a login. Only the log contains the reason.
func (s *Resource) notVouched(c *rest.Call, user string, err error) error {
	if errors.Is(err, oidc.ErrOff) || errors.Is(err, oidc.ErrUnavailable) {
		return oidcRejection(err)
	}
	s.deps.Log.Warn("log-in with OpenID Connect refused", "user", user, "source", auth.Source(c.Request), "error", err)
	return &rest.Rejection{Status: http.StatusUnauthorized, Description: c.Summary(), Cause: err,
		Message: "You may not log in.", Details: "the log of the appliance says why; begin again at " + oidcPath}
}

func oidcRejection(err error) error {
	switch {
	case errors.Is(err, oidc.ErrOff):
		return rest.NotFound("%s", oidc.ErrOff)
	case errors.Is(err, oidc.ErrUnavailable):
		return &rest.Rejection{Status: http.StatusServiceUnavailable, Cause: err, Message: "the provider cannot be asked now: see the log of the appliance"}
	}
	return err
}
