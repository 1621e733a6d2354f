package validate

// Bodies about users, groups and roles. mgmt/rbac checks their values beyond the form.
var (
	// UserCreate is the body of POST /rbac/users.
	UserCreate = rbacTable(require(rbacName), userPassword("password", "Password, required for users of the service local: 8 to 512 characters with a letter and a digit."), field[rbacBody]{rule: rule{name: "service", hints: basic(atAccess, "Service"), kind: kindText,
		values: services, acts: textValue("local"), about: "Authentication source: this appliance (local), the LDAP directory, or an OpenID Connect provider."}},
		field[rbacBody]{rule: rule{name: "group", hints: basic(atAccess, "Group"), kind: kindText, null: true, blank: true, maxLen: 64,
			about: "Group of the new user, which needs the permission rbac-group.modify unless it is your own group. Without it the user is in no group, or in yours if your group does not see all farms."}})
	// UserUpdate is the body of PUT /rbac/users/U.
	UserUpdate = rbacTable(userPassword("newpassword", "New password."), webFlag, apiFlag, userKey)
	// OwnUserUpdate is the body of POST /system/users.
	OwnUserUpdate = rbacTable(userPassword("newpassword", "New password; requires the current password."), userPassword("password", "Current password."), apiFlag, userKey, webFlag)
	// RBACName is a body that consists of a name.
	RBACName = rbacTable(require(rbacName))
	// GroupUpdate is the body of PUT /rbac/groups/G.
	GroupUpdate = rbacTable(field[rbacBody]{rule: rule{name: "role", hints: basic(atAccess, "Role"), kind: kindText, null: true, blank: true, maxLen: 64, about: "Role of the users of the group; empty removes it."}},
		rbacFlag("all_farms", "All farms", "Give the users of the group access to all farms, including farms created later. Only root and groups with this setting can change it."))
	// RoleCreate is the body of POST /rbac/roles.
	RoleCreate = rbacTable(require(rbacName), field[rbacBody]{rule: rule{name: "copy_from", hints: basic(atAccess, "Copy of"), kind: kindText, maxLen: 64, about: "Role to copy the permissions from; without it the new role has none."}})
)

// rbacBody has no fields; callers act on the values.
type rbacBody struct{}

func rbacTable(fields ...field[rbacBody]) Table[rbacBody] { return Table[rbacBody]{fields: fields} }

var (
	rbacName = field[rbacBody]{rule: rule{name: "name", hints: basic(atAccess, "Name"), kind: kindText, maxLen: 64, about: "Name."}}
	webFlag  = rbacFlag("webgui_permissions", "Login", "Allow the user to log in with the password; only root can change this for root.")
	apiFlag  = rbacFlag("zapi_permissions", "API access", "Allow the user to use the API with the API key.")
	userKey  = field[rbacBody]{rule: rule{name: "zapikey", hints: basic(atAccess, "API key"), kind: kindText, blank: true, maxLen: 256, hide: hideSecret, format: "key",
		about: "API key: 8 to 256 letters and digits; empty removes it."}}
)

func rbacFlag(name, label, about string) field[rbacBody] {
	return field[rbacBody]{rule: rule{name: name, hints: basic(atAccess, label), kind: kindBool, about: about}}
}

func userPassword(name, about string) field[rbacBody] {
	return field[rbacBody]{rule: rule{name: name, hints: basic(atAccess, "Password"), kind: kindText, maxLen: 512, hide: hideSecret, format: "password", about: about}}
}

// hideSecret masks a secret completely.
func hideSecret(string, bool) string { return "***" }
