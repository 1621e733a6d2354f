package people

import (
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
)

// Bodies about users, groups and roles. mgmt/rbac checks their values beyond the form.
var (
	// UserCreate is the body of POST /rbac/users.
	UserCreate = table(field.Require(nameField), userPassword("password", "Password, required for users of the service local: 8 to 512 characters with a letter and a digit."), field.Field[body]{Rule: field.Rule{Name: "service", Hints: field.Basic(field.AtAccess, "Service"), Kind: field.Text,
		Values: services, Default: field.TextValue("local"), About: "Authentication source: this appliance (local), the LDAP directory, or an OpenID Connect provider."}},
		field.Field[body]{Rule: field.Rule{Name: "group", Hints: field.Basic(field.AtAccess, "Group"), Kind: field.Text, Null: true, Blank: true, MaxLen: 64,
			About: "Group of the new user, which needs the permission rbac-group.modify unless it is your own group. Without it the user is in no group, or in yours if your group does not see all farms."}})
	// UserUpdate is the body of PUT /rbac/users/U.
	UserUpdate = table(userPassword("newpassword", "New password."), webFlag, apiFlag, userKey)
	// OwnUserUpdate is the body of POST /system/users.
	OwnUserUpdate = table(userPassword("newpassword", "New password; requires the current password."), userPassword("password", "Current password."), apiFlag, userKey, webFlag)
	// Name is a body that consists of a name.
	Name = table(field.Require(nameField))
	// GroupUpdate is the body of PUT /rbac/groups/G.
	GroupUpdate = table(field.Field[body]{Rule: field.Rule{Name: "role", Hints: field.Basic(field.AtAccess, "Role"), Kind: field.Text, Null: true, Blank: true, MaxLen: 64, About: "Role of the users of the group; empty removes it."}},
		flag("all_farms", "All farms", "Give the users of the group access to all farms, including farms created later. Only root and groups with this setting can change it."))
	// RoleCreate is the body of POST /rbac/roles.
	RoleCreate = table(field.Require(nameField), field.Field[body]{Rule: field.Rule{Name: "copy_from", Hints: field.Basic(field.AtAccess, "Copy of"), Kind: field.Text, MaxLen: 64, About: "Role to copy the permissions from; without it the new role has none."}})
)

// body has no fields; callers act on the values.
type body struct{}

func table(fields ...field.Field[body]) field.Table[body] {
	return field.Table[body]{Fields: fields}
}

var (
	nameField = field.Field[body]{Rule: field.Rule{Name: "name", Hints: field.Basic(field.AtAccess, "Name"), Kind: field.Text, MaxLen: 64, About: "Name."}}
	webFlag   = flag("webgui_permissions", "Login", "Allow the user to log in with the password; only root can change this for root.")
	apiFlag   = flag("zapi_permissions", "API access", "Allow the user to use the API with the API key.")
	userKey   = field.Field[body]{Rule: field.Rule{Name: "zapikey", Hints: field.Basic(field.AtAccess, "API key"), Kind: field.Text, Blank: true, MaxLen: 256, Hide: format.HideSecret, Format: "key",
		About: "API key: 8 to 256 letters and digits; empty removes it."}}
)

func flag(name, label, about string) field.Field[body] {
	return field.Field[body]{Rule: field.Rule{Name: name, Hints: field.Basic(field.AtAccess, label),
		Kind: field.Bool, About: about}}
}

func userPassword(name, about string) field.Field[body] {
	return field.Field[body]{Rule: field.Rule{Name: name, Hints: field.Basic(field.AtAccess, "Password"), Kind: field.Text, MaxLen: 512, Hide: format.HideSecret, Format: "password", About: about}}
}
