package people

import (
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
)

// Bodies about logins. mgmt/directory, mgmt/oidc and mgmt/rbac check their values beyond
// the form.
var (
	// ServicesUpdate is the body of POST /rbac/services.
	ServicesUpdate = table(flag("local", "Local users", "Allow users of the service local to log in with a password; root always can."),
		flag("ldap", "LDAP users", "Allow users of the service ldap to log in; /rbac/ldap configures the directory."))
	// LDAPUpdate is the body of POST /rbac/ldap.
	LDAPUpdate = table(
		loginText("host", "Host", "Host name or address of the LDAP server; a prefix ldaps:// selects security ldaps."),
		loginNumber("port", "Port", 1, 65535, "Port; defaults to 389, or 636 with security ldaps."),
		loginWord("security", "Security", "Encryption of the connection; none sends passwords in clear text.", "starttls", "ldaps", "none"),
		loginText("ca", "Authorities", "CA list for verifying the directory's certificate; empty uses the system's."),
		loginText("base_dn", "Base DN", "Base DN of the user search, e.g. dc=example,dc=com."),
		loginText("bind_dn", "Bind DN", "Bind DN for the user search; empty searches anonymously."),
		loginSecret("bind_password", "Bind password", "Password of the bind DN; never shown."),
		loginText("filter", "Filter", "Filter that must match exactly one entry per user; %s is the user name, e.g. (uid=%s)."),
		loginWord("scope", "Scope", "Scope of the search.", "base", "one", "sub"),
		loginNumber("timeout", "Timeout", 1, 15, "Timeout of a login at the directory, in seconds; defaults to 5."),
		loginSample(loginNumber("version", "Version", 1, 3, "Protocol version; only 3 is supported."), 3),
	)
	// LDAPAction is the body of POST /rbac/ldap/actions.
	LDAPAction = table(field.Require(loginWord("action", "Action", "Action: test connects, binds and searches.", "test")))
	// OIDCUpdate is the body of POST /rbac/oidc.
	OIDCUpdate = table(
		flag("enabled", "Enabled", "Allow login with OpenID Connect."),
		loginText("issuer", "Issuer", "Issuer URL of the provider, exactly as it states it: https://…"),
		loginText("client_id", "Client", "Client ID of this appliance at the provider."),
		loginSecret("client_secret", "Client secret", "Client secret issued by the provider; never shown. Empty removes it."),
		loginText("redirect", "Redirect", "Redirect URL registered at the provider: https://NAME:444/api/v4.0/session/oidc/callback, with a name that browsers can reach."),
		loginText("landing", "Landing page", "Path on this appliance to open after login, e.g. /gui/; empty shows a confirmation page. A login can override it: /session/oidc?to=/gui/farms."),
		loginText("ca", "Authorities", "CA list for verifying the provider's certificate; empty uses the system's."),
		loginList("scopes", "Scopes", "Scopes requested in addition to openid; defaults to profile."),
		loginText("user_claim", "User claim", "Claim with the user name; empty uses preferred_username. Choose one that users cannot change themselves."),
		loginList("users", "Users", "VALUE=USER: maps that value of user_claim to a user."),
		loginText("group_claim", "Group claim", "Claim with the user's groups; if empty, only existing users can log in."),
		loginList("groups", "Groups", "VALUE=GROUP: a user with that value in group_claim can log in as a member of that group; the first match applies."),
	)
	// SessionConfirm is the body of POST /session/confirm.
	SessionConfirm = table(field.Require(userPassword("password", "Current password.")), loginSecret("code", "Code", "Second-factor code or recovery code."))
	// SecondEnrol is the body of POST /system/users/totp, SecondAction that of its actions.
	SecondEnrol  = table(field.Require(userPassword("password", "Current password.")))
	SecondAction = table(field.Require(loginWord("action", "Action", "Action: confirm enables the second factor, disable disables it, recovery creates new recovery codes.", "confirm", "disable", "recovery")),
		loginSecret("code", "Code", "Second-factor code or recovery code."), userPassword("password", "Current password; required to disable the second factor."))
)

// services lists the password services of users.
var services = []string{"local", "ldap", "oidc"}

func loginText(name, label, about string) field.Field[body] {
	return field.Field[body]{Rule: field.Rule{Name: name, Hints: field.Basic(field.AtAccess, label),
		Kind: field.Text, Null: true, Blank: true, About: about}}
}

func loginSecret(name, label, about string) field.Field[body] {
	f := loginText(name, label, about)
	f.MaxLen, f.Hide, f.Format = 512, format.HideSecret, "password"
	return f
}

func loginWord(name, label, about string, words ...string) field.Field[body] {
	return field.Field[body]{Rule: field.Rule{Name: name, Hints: field.Basic(field.AtAccess, label),
		Kind: field.Text, Values: words, About: about}}
}

func loginNumber(name, label string, low, high int64, about string) field.Field[body] {
	return field.Field[body]{Rule: field.Rule{Name: name, Hints: field.Basic(field.AtAccess, label),
		Kind: field.Number, Min: low, Max: high, Null: true, About: about}}
}

func loginList(name, label, about string) field.Field[body] {
	return field.Field[body]{Rule: field.Rule{Name: name, Hints: field.Basic(field.AtAccess, label),
		Kind: field.List, Null: true, Max: 200, MaxLen: 512, About: about}}
}

// loginSample returns a field with its own example.
func loginSample(f field.Field[body], sample any) field.Field[body] {
	f.Sample = sample
	return f
}
