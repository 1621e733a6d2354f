package validate

// Bodies about users, groups and roles. mgmt/rbac checks their values beyond the form.
var (
	// UserCreate is the body of POST /rbac/users.
	UserCreate = rbacTable(require(rbacName), userPassword("password", "Password; needed for users of the service local. 8 to 512 characters with a letter and a digit."), field[rbacBody]{rule: rule{name: "service", hints: basic(atAccess, "Service"), kind: kindText,
		values: services, acts: textValue("local"), about: "Who knows the password: this appliance, the directory, or a provider of OpenID Connect."}})
	// UserUpdate is the body of PUT /rbac/users/U.
	UserUpdate = rbacTable(userPassword("newpassword", "New password."), webFlag, apiFlag, userKey)
	// OwnUserUpdate is the body of POST /system/users.
	OwnUserUpdate = rbacTable(userPassword("newpassword", "New password; the one in force must be sent too."), userPassword("password", "Password in force."), apiFlag, userKey, webFlag)
	// RBACName is a body that consists of a name.
	RBACName = rbacTable(require(rbacName))
	// GroupUpdate is the body of PUT /rbac/groups/G.
	GroupUpdate = rbacTable(field[rbacBody]{rule: rule{name: "role", hints: basic(atAccess, "Role"), kind: kindText, null: true, blank: true, maxLen: 64, about: "Role of the users of the group; blank takes it away."}},
		rbacFlag("all_farms", "All farms", "Whether the users of the group see and change every farm, also farms that are created later. Only root and groups with this setting may change it."))
	// RoleCreate is the body of POST /rbac/roles.
	RoleCreate = rbacTable(require(rbacName), field[rbacBody]{rule: rule{name: "copy_from", hints: basic(atAccess, "Copy of"), kind: kindText, maxLen: 64, about: "Role whose permissions the new one gets; none when not sent."}})
)

// rbacBody has no fields; callers act on the values.
type rbacBody struct{}

func rbacTable(fields ...field[rbacBody]) Table[rbacBody] { return Table[rbacBody]{fields: fields} }

var (
	rbacName = field[rbacBody]{rule: rule{name: "name", hints: basic(atAccess, "Name"), kind: kindText, maxLen: 64, about: "Name."}}
	webFlag  = rbacFlag("webgui_permissions", "Log-in", "Whether the user may log in with the password; root's own is changed by root only.")
	apiFlag  = rbacFlag("zapi_permissions", "API access", "Whether the user may use the API with the key.")
	userKey  = field[rbacBody]{rule: rule{name: "zapikey", hints: basic(atAccess, "API key"), kind: kindText, blank: true, maxLen: 256, hide: hideSecret, format: "key",
		about: "Key of the API: 8 to 256 letters and digits; blank takes it away."}}
)

func rbacFlag(name, label, about string) field[rbacBody] {
	return field[rbacBody]{rule: rule{name: name, hints: basic(atAccess, label), kind: kindBool, about: about}}
}

func userPassword(name, about string) field[rbacBody] {
	return field[rbacBody]{rule: rule{name: name, hints: basic(atAccess, "Password"), kind: kindText, maxLen: 512, hide: hideSecret, format: "password", about: about}}
}

// hideSecret masks a secret completely.
func hideSecret(string, bool) string { return "***" }
