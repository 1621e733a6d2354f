package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// The complete responses about users, groups and roles, except for the long lists of
// permissions.
func TestWhatTheAPIAnswersAboutPeople(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.dns(1)
	var all strings.Builder
	for _, request := range []string{
		`GET /rbac/users`, `POST /rbac/users {"name":"ann","password":"secret-1"}`, `POST /rbac/users {"name":"bob","service":"ldap"}`, `POST /rbac/users {"name":"eve","service":"ldap","password":"secret-1"}`,
		`GET /rbac/users/ann`, `GET /rbac/users/root`, `GET /rbac/users/eve`, `PUT /rbac/users/ann {"zapi_permissions":"true"}`, `PUT /rbac/users/ann {"zapikey":"AnnsKey0123456789","zapi_permissions":"true"}`,
		`PUT /rbac/users/ann {"newpassword":"secret-2"}`, `PUT /rbac/users/bob {"newpassword":"secret-2"}`, `PUT /rbac/users/bob {"webgui_permissions":"true"}`, `PUT /rbac/users/root {"webgui_permissions":"true"}`, `GET /rbac/users`,
		`GET /rbac/roles`, `POST /rbac/roles {"name":"ops","copy_from":"management"}`, `POST /rbac/roles {"name":"ops"}`, `PUT /rbac/roles/ops {"farm":{"delete":"true","action":"false"}}`, `GET /rbac/roles/ops`, `GET /rbac/roles`,
		`GET /rbac/groups`, `POST /rbac/groups {"name":"team"}`, `POST /rbac/groups {"name":"team"}`, `POST /rbac/groups {"name":""}`, `PUT /rbac/groups/team {"role":"ops"}`, `PUT /rbac/groups/team {"role":"none"}`, `PUT /rbac/groups/team {"all_farms":"true"}`, `PUT /rbac/groups/team {"all_farms":false,"role":"ops"}`, `PUT /rbac/groups/team {"all_farms":"some"}`,
		`POST /rbac/groups/team/users {"name":"ann"}`, `POST /rbac/groups/team/users {"name":"ann"}`, `POST /rbac/groups/team/users {}`, `POST /rbac/groups/team/users {"name":"bob"}`,
		`POST /rbac/groups/team/farms {"name":"shop"}`, `POST /rbac/groups/team/farms {"name":"shop"}`, `POST /rbac/groups/team/farms {"name":"dns"}`, `POST /rbac/groups/none/farms {"name":"dns"}`, `POST /rbac/groups/team/farms {}`,
		`GET /rbac/groups/team`, `GET /rbac/groups`, `GET /rbac/users/ann`, `DELETE /farms/dns`, `GET /rbac/groups/team`,
		`DELETE /rbac/groups/team/farms/shop`, `DELETE /rbac/groups/team/farms/shop`, `DELETE /rbac/groups/team/users/ann`, `DELETE /rbac/groups/team/users/ann`, `DELETE /rbac/roles/ops`, `DELETE /rbac/groups/team`, `DELETE /rbac/roles/ops`, `DELETE /rbac/roles/readonly`,
		`DELETE /rbac/users/ann`, `DELETE /rbac/users/ann`, `DELETE /rbac/users/root`, `GET /rbac/users`,
		`GET /system/users`, `POST /system/users {"zapikey":"RootsKey0123456789"}`, `POST /system/users {"newpassword":"secret-2","password":"secret-1"}`, `GET /rbac/menus`, `GET /rbac/permissions`,
	} {
		method, rest, _ := strings.Cut(request, " ")
		path, body, _ := strings.Cut(rest, " ")
		r := a.do(method, path, body)
		if sections, is := r.body["params"].(map[string]any); is && sections["config"] != nil && path != "/rbac/menus" {
			r.body["params"] = map[string]any{"farm": sections["farm"]}
		}
		fmt.Fprintf(&all, "%s\n  %s\n", request, strings.ReplaceAll(r.line(t), "\n", "\n  "))
	}
	golden(t, "people", all.String())
}

// Users, groups and roles are not part of the configuration, so their history is in the
// log.
func TestWhoChangedUsersGroupsAndRolesIsLogged(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.people()
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"shop"}`)
	a.as("POST", "/system/users", `{"zapikey":"`+annsKey+`"}`)
	a.must(200, "PUT", "/rbac/roles/ops", `{"farm":{"delete":"true"}}`)
	a.must(200, "PUT", "/rbac/groups/team", `{"role":""}`)
	a.must(200, "DELETE", "/rbac/roles/ops", "")
	a.must(200, "DELETE", "/rbac/groups/team", "")
	a.must(200, "DELETE", "/rbac/users/ann", "")
	const root = `by="root (key 1)" source=198.51.100.7`
	for line, by := range map[string]string{
		`msg="user created" user=ann`: root, `msg="user modified" user=ann`: root, `msg="role created" role=ops`: root, `msg="role modified" role=ops`: root,
		`msg="group modified" group=team what="The group team has been created."`: root, `msg="group modified" group=team what="The farm shop is in the group team."`: root,
		`msg="role deleted" role=ops`: root, `msg="group deleted" group=team`: root, `msg="user deleted" user=ann`: root,
		`msg="user modified" user=ann by=ann`: `source=198.51.100.7`,
	} {
		if !a.log.Has(line + " " + by) {
			t.Errorf("the log has no line %s %s:\n%s", line, by, strings.Join(a.log.Lines("level=INFO"), "\n"))
		}
	}
}

// An unattended session must not allow guessing of the password.
func TestWhoGuessesTheOwnPasswordWaits(t *testing.T) {
	a := newAppliance(t)
	a.people()
	const guess = `{"newpassword":"secret-9","password":"wrong-1"}`
	for range 10 {
		a.as("POST", "/system/users", guess).refused(t, 400, "not the one in force")
	}
	for _, body := range []string{guess, `{"newpassword":"secret-9","password":"secret-1"}`} {
		r := a.as("POST", "/system/users", body)
		if r.refused(t, 429, "too many wrong"); r.header.Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After: %v", body, r.header)
		}
	}
	if r := a.as("POST", "/system/users", `{"zapikey":"`+annsKey+`"}`); r.status != 200 {
		t.Errorf("a change that needs no password: %d %s", r.status, r.raw)
	}
}

// A menu is visible with its permission. A section without one is visible with any of its
// permissions.
func TestMenusAreThoseOneMaySee(t *testing.T) {
	a := newAppliance(t)
	a.people()
	menus := func(section string, permissions, want string) {
		t.Helper()
		a.must(200, "PUT", "/rbac/roles/ops", `{"`+section+`":`+permissions+`}`)
		seen := ""
		for name, sees := range a.as("GET", "/rbac/menus", "").at("params").(map[string]any) {
			if sees == "true" {
				seen += name + " "
			}
		}
		if strings.TrimSpace(seen) != want {
			t.Errorf("with %s of %s: %s", permissions, section, seen)
		}
	}
	menus("farmguardian", `{"menu":"false"}`, "farm")
	menus("farm", `{"menu":"false"}`, "") // although there are actions
	menus("config", `{"show":"true"}`, "config")
	menus("config", `{"show":"false","apply":"true"}`, "config")
}

// The help of a role lists every permission once, in its section.
func TestTheHelpOfARoleNamesEveryPermission(t *testing.T) {
	a := newAppliance(t)
	a.people()
	named := []string{}
	sections, _ := a.must(400, "PUT", "/rbac/roles/ops", "{}").at("params").([]any)
	for _, s := range sections {
		s := s.(map[string]any)
		list, is := strings.CutPrefix(s["description"].(string), "Permissions, each true or false: ")
		if !is || s["format"] != "object" {
			t.Errorf("%v", s)
		}
		for name := range strings.FieldsSeq(list) {
			named = append(named, fmt.Sprint(s["name"], ".", name))
		}
	}
	if got, want := fmt.Sprint(named), fmt.Sprint(rbac.Permissions()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestWhatIsOlderThanTheFamilysLastGenerationIsTranslatedAlone(t *testing.T) {
	a := newAppliance(t)
	r := a.send("GET", "/zapi/v3/zapi.cgi/farms", "", "ZAPI_KEY", a.key)
	if got, want := r.header.Get("Deprecation")+" "+r.header.Get("Link"), `@1767225600 <`+api.FamilyBase+`/farms>; rel="successor-version"`; got != want {
		t.Errorf("deprecated %s, want %s", got, want)
	}
	if r := a.send("GET", "/zapi/v3.2/zapi.cgi", "", "ZAPI_KEY", a.key); r.header.Get("Link") == "" {
		t.Errorf("the base itself: %v", r.header)
	}
	for _, c := range [][2]string{
		{"POST", "/zapi/v3.1/zapi.cgi/session/login"}, {"DELETE", "/zapi/v3.1/zapi.cgi/session/logout"}, {"GET", "/zapi/v4.0.1/zapi.cgi/session/login"}, {"GET", "/zapi/v4.0.2/zapi.cgi/session/logout"},
	} {
		if r := a.send(c[0], c[1], "", "Authorization", "Basic cm9vdDpwYSQkd29yZCAx", "ZAPI_KEY", a.key); r.status != 404 && r.status != 405 {
			t.Errorf("%v: %d %s", c, r.status, r.raw)
		}
	}
	a.certificate("a%20b.pem", "shop.test")
	for _, base := range []string{api.Base, "/api/v4.0/api.cgi", "/zapi/v4.0.1/zapi.cgi", "/zapi/v3.1/zapi.cgi"} {
		if r := a.send("GET", base+"/certificates/a%20b.pem/status", "", "ZAPI_KEY", a.key); r.status != 200 {
			t.Errorf("a blank in a name below %s: %d %s", base, r.status, r.raw)
		}
	}
}
