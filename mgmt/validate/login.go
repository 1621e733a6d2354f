package validate

// Bodies about logins. mgmt/directory, mgmt/oidc and mgmt/rbac check their values beyond
// the form.
var (
	// ServicesUpdate is the body of POST /rbac/services.
	ServicesUpdate = rbacTable(rbacFlag("local", "Users of this appliance", "Whether users of the service local may log in with a password; root always may."),
		rbacFlag("ldap", "Users of the directory", "Whether users of the service ldap may log in; /rbac/ldap says where the directory is."))
	// LDAPUpdate is the body of POST /rbac/ldap.
	LDAPUpdate = rbacTable(
		loginText("host", "Host", "Name or address of the directory; ldaps:// before it is security ldaps."),
		loginNumber("port", "Port", 1, 65535, "Port; null: 389, or 636 with security ldaps."),
		loginWord("security", "Security", "How the connection is protected; none sends passwords as they are.", "starttls", "ldaps", "none"),
		loginText("ca", "Authorities", "List of authorities that verifies the certificate of the directory; blank: those of the system."),
		loginText("base_dn", "Base", "Entry below which users are searched for, as dc=example,dc=com."),
		loginText("bind_dn", "Bind as", "Entry that searches; blank: anonymously."),
		loginSecret("bind_password", "Bind password", "Password of that entry; never shown."),
		loginText("filter", "Filter", "Filter that finds the one entry of a user; %s is the name, as in (uid=%s)."),
		loginWord("scope", "Scope", "How deep is searched.", "base", "one", "sub"),
		loginNumber("timeout", "Time-out", 1, 15, "Seconds the directory has for a log-in; null: 5."),
		loginSample(loginNumber("version", "Version", 1, 3, "Version of the protocol; only 3 is spoken."), 3),
	)
	// LDAPAction is the body of POST /rbac/ldap/actions.
	LDAPAction = rbacTable(require(loginWord("action", "Action", "test connects, binds and searches.", "test")))
	// OIDCUpdate is the body of POST /rbac/oidc.
	OIDCUpdate = rbacTable(
		rbacFlag("enabled", "Enabled", "Whether people may log in with OpenID Connect."),
		loginText("issuer", "Issuer", "Address of the provider, as it writes it itself: https://…"),
		loginText("client_id", "Client", "What the provider calls this appliance."),
		loginSecret("client_secret", "Client secret", "Secret the provider gave for it; never shown. Blank takes it away."),
		loginText("redirect", "Redirect", "Where the provider sends people back to: https://NAME:444/api/v4.0/session/oidc/callback, by a name browsers reach."),
		loginText("landing", "Landing", "Where browsers go after a log-in: a path of this appliance, as /gui/; blank: a page that says they are logged in. A log-in may begin with another one: /session/oidc?to=/gui/farms."),
		loginText("ca", "Authorities", "List of authorities that verifies the certificate of the provider; blank: those of the system."),
		loginList("scopes", "Scopes", "Scopes that are asked for besides openid; null: profile."),
		loginText("user_claim", "User claim", "Claim with the name of the user; blank: preferred_username. Choose one that people cannot change themselves."),
		loginList("users", "Users", "VALUE=USER: which user somebody with that value of user_claim is."),
		loginText("group_claim", "Group claim", "Claim with the groups of the provider; blank: only users that exist come in."),
		loginList("groups", "Groups", "VALUE=GROUP: who has that value in group_claim comes in and is in that group; the first that fits counts."),
	)
	// SessionConfirm is the body of POST /session/confirm.
	SessionConfirm = rbacTable(require(userPassword("password", "Password in force.")), loginSecret("code", "Code", "Code of the second factor, or a recovery code."))
	// SecondEnrol is the body of POST /system/users/totp, SecondAction that of its actions.
	SecondEnrol  = rbacTable(require(userPassword("password", "Password in force.")))
	SecondAction = rbacTable(require(loginWord("action", "Action", "confirm has codes asked for from now on, disable no longer, recovery makes new recovery codes.", "confirm", "disable", "recovery")),
		loginSecret("code", "Code", "Code of the second factor, or a recovery code."), userPassword("password", "Password in force; needed to disable."))
)

// services lists the password services of users.
var services = []string{"local", "ldap", "oidc"}

func loginText(name, label, about string) field[rbacBody] {
	return field[rbacBody]{rule: rule{name: name, hints: basic(atAccess, label), kind: kindText, null: true, blank: true, about: about}}
}

func loginSecret(name, label, about string) field[rbacBody] {
	f := loginText(name, label, about)
	f.maxLen, f.hide, f.format = 512, hideSecret, "password"
	return f
}

func loginWord(name, label, about string, words ...string) field[rbacBody] {
	return field[rbacBody]{rule: rule{name: name, hints: basic(atAccess, label), kind: kindText, values: words, about: about}}
}

func loginNumber(name, label string, low, high int64, about string) field[rbacBody] {
	return field[rbacBody]{rule: rule{name: name, hints: basic(atAccess, label), kind: kindNumber, min: low, max: high, null: true, about: about}}
}

func loginList(name, label, about string) field[rbacBody] {
	return field[rbacBody]{rule: rule{name: name, hints: basic(atAccess, label), kind: kindList, null: true, max: 200, maxLen: 512, about: about}}
}

// loginSample returns a field with its own example.
func loginSample(f field[rbacBody], sample any) field[rbacBody] {
	f.sample = sample
	return f
}
