package api_test

import (
	"fmt"
	"strings"
	"testing"
)

// A user who leaves the group of a confined caller loses credentials. The response names
// those, and only those, that this user had.
func TestTheResponseNamesTheCredentialsThatALeavingUserLoses(t *testing.T) {
	a := newAppliance(t)
	a.people()
	a.must(200, "PUT", "/rbac/groups/team", `{"role":"administration"}`)
	a.shop(1)
	const remote = "It has lost its API key"
	for _, c := range []struct{ name, service, key, want string }{
		{"kim", "local", "", "It has lost its password"},
		{"kay", "local", keyOf("kay"), "It has lost its password, API key"},
		{"lea", "ldap", keyOf("lea"), remote},
		{"mia", "oidc", keyOf("mia"), remote},
		{"ned", "ldap", "", ""},
	} {
		password := ""
		if c.service == "local" {
			password = `,"password":"secret-1"`
		}
		a.must(201, "POST", "/rbac/users", fmt.Sprintf(`{"name":%q,"service":%q%s}`, c.name, c.service, password))
		if c.key != "" {
			a.must(200, "PUT", "/rbac/users/"+c.name, fmt.Sprintf(`{"zapikey":%q}`, c.key))
		}
		for _, caller := range []string{"ann", "root"} {
			a.must(201, "POST", "/rbac/groups/team/users", fmt.Sprintf(`{"name":%q}`, c.name))
			leave := a.as
			if caller == "root" {
				leave = func(method, path, body string) reply { return a.do(method, path, body) }
			}
			r := leave("DELETE", "/rbac/groups/team/users/"+c.name, "")
			said := fmt.Sprint(r.at("message"))
			want := fmt.Sprintf("The user %s is no longer in the group team.", c.name)
			if caller == "ann" && c.want != "" {
				want += " " + c.want + ", because your group does not see all farms."
			}
			if r.status != 200 || !strings.HasPrefix(said, want) || want[len(want)-5:] == "team." && said != want {
				t.Errorf("%s removes %s (%s): %d %s", caller, c.name, c.service, r.status, said)
			}
		}
	}
}
