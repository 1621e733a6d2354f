package api_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

const annsKey = "AnnsKey0123456789"

// people creates the user ann in the group team with the role ops, a copy of management.
// The group has no farm.
func (a *appliance) people() {
	a.t.Helper()
	a.must(201, "POST", "/rbac/users", `{"name":"ann","password":"secret-1"}`)
	a.must(200, "PUT", "/rbac/users/ann", `{"zapikey":"`+annsKey+`","zapi_permissions":"true","webgui_permissions":"true"}`)
	a.must(201, "POST", "/rbac/roles", `{"name":"ops","copy_from":"management"}`)
	a.must(201, "POST", "/rbac/groups", `{"name":"team"}`)
	a.must(200, "PUT", "/rbac/groups/team", `{"role":"ops"}`)
	a.must(201, "POST", "/rbac/groups/team/users", `{"name":"ann"}`)
}

// as sends a request with ann's key.
func (a *appliance) as(method, path, body string) reply {
	a.t.Helper()
	return a.send(method, api.Base+path, body, "ZAPI_KEY", annsKey)
}

// user creates a user with a key of its own.
func (a *appliance) user(name string) {
	a.must(201, "POST", "/rbac/users", `{"name":"`+name+`","password":"secret-1"}`)
	a.must(200, "PUT", "/rbac/users/"+name, `{"zapikey":"`+keyOf(name)+`","zapi_permissions":"true","webgui_permissions":"true"}`)
}

func keyOf(name string) string { return name + "Key0123456789" }

// Every route declares its permission and is open to exactly the users who have it.
func TestEveryRouteIsOpenToExactlyWhoHasItsPermission(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.people()
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"shop"}`)
	roles := a.users.Roles()
	for _, role := range roles {
		if err := a.users.GiveRole("team", role.Name); err != nil {
			t.Fatal(err)
		}
		for _, route := range a.server.Routes() {
			needs := rbac.Permission(route.Needs)
			may := needs == rbac.Open || role.May(needs)
			if needs == rbac.Public { // has other credentials: see TestWhatStrangersMay
				continue
			}
			if may && route.Method != "GET" || endless(route.Path) && may || route.Path == "/session" {
				continue // would affect later attempts, or never end
			}
			r := a.as(route.Method, filled(route.Path), `{}`)
			if refused := r.status == 403; refused == may || r.status == 401 {
				t.Errorf("%s: %s %s needs %q, and is answered %d\n%s", role.Name, route.Method, route.Path, needs, r.status, r.raw)
			}
			if r.status == 403 {
				r.refused(t, 403, route.Needs)
			}
		}
	}
	if len(roles) != 5 {
		t.Errorf("%d roles were tried", len(roles))
	}
}

// endless reports whether the response of a route never ends.
func endless(path string) bool {
	return strings.HasSuffix(path, "/trace") || strings.HasSuffix(path, "/stream")
}

// Some operations are for root alone, and no role permits them: root's keys, and the state of
// the kernel.
func TestWhatIsRootsAlone(t *testing.T) {
	a := newAppliance(t)
	var own []string
	for _, route := range a.server.Routes() {
		if rbac.Permission(route.Needs) == rbac.RootOnly {
			own = append(own, route.Method+" "+route.Path)
		}
	}
	slices.Sort(own)
	if want := []string{"DELETE /certificates/activation", "DELETE /keys/{key}", "GET /certificates/activation", "GET /keys", "GET /rbac/ldap", "GET /rbac/oidc", "GET /rbac/services", "POST /certificates/activation", "POST /keys", "POST /rbac/ldap", "POST /rbac/ldap/actions", "POST /rbac/oidc", "POST /rbac/services", "POST /system/factory", "POST /system/kernel/clean", "PUT /rbac/ldap", "PUT /rbac/oidc", "PUT /rbac/services"}; !slices.Equal(own, want) {
		t.Errorf("got %v", own)
	}
}

func TestUsersSeeTheFarmsOfTheirGroupOnly(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.dns(1)
	a.people()
	a.must(200, "PUT", "/rbac/groups/team", `{"role":"administration"}`)
	lists := map[string]string{"/farms": "params", "/farms/modules/lslb": "params", "/stats/farms": "farms", "/status": "params.farms"}
	count := func(want int) {
		t.Helper()
		for path, at := range lists {
			if got, _ := a.as("GET", path, "").at(at).([]any); len(got) != want {
				t.Errorf("%s lists %v, want %d", path, got, want)
			}
		}
		a.as("GET", "/stats/farms/total", "").want(t, "params.number", want)
		a.as("GET", "/stats/farms/modules", "").want(t, "params.lslb.total", want)
		if got, _ := a.as("GET", "/farms/modules/summary", "").at("params.lslb").([]any); len(got) != want {
			t.Errorf("the summary has %v", got)
		}
	}
	count(0)
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"shop"}`).want(t, "params.resources.farms.0", "shop")
	count(1)
	if cfg := a.config(); cfg.Farm("dns") == nil {
		t.Fatal("the other farm is gone")
	}
	for _, path := range []string{"/farms/dns", "/farms/dns/backends", "/stats/farms/dns", "/farms/dns/explain", "/farms/dns/sessions", "/farms/nothing"} {
		a.as("GET", path, "").refused(t, 404, "does not exist")
	}
	a.as("PUT", "/farms/dns/actions", `{"action":"stop"}`).refused(t, 404, "the farm dns does not exist")
	a.as("DELETE", "/farms/dns", "").refused(t, 404)
	for _, c := range [][3]string{{"GET", "/config", ""}, {"PUT", "/config", "farms: []\n"}, {"GET", "/history", ""}, {"GET", "/history/1/diff", ""}, {"GET", "/changes", ""}, {"POST", "/history/rollback", `{"revision":0}`}} {
		a.as(c[0], c[1], c[2]).refused(t, 403, "about all farms")
	}
	a.as("GET", "/connections?farm=dns", "").refused(t, 404, "the farm dns does not exist")
	a.as("POST", "/farms", `{"farmname":"dns2","copy_from":"dns","profile":"l4xnat","vip":"192.0.2.10","vport":54}`).refused(t, 404, "the farm dns does not exist")
	a.as("POST", "/rbac/groups/team/farms", `{"name":"dns"}`).refused(t, 404)
	if r := a.as("POST", "/farms", `{"farmname":"mine","profile":"http","vip":"192.0.2.10","vport":81}`); r.status != 201 || r.body["warning"] != nil {
		t.Fatalf("%d %s", r.status, r.raw)
	}
	if r := a.as("PUT", "/farms/mine", `{"newfarmname":"ours"}`); r.status != 200 {
		t.Fatalf("%d %s", r.status, r.raw)
	}
	if r := a.as("GET", "/farms/ours", ""); r.status != 200 { // the creator of a farm sees it, even after it is renamed
		t.Errorf("%d %s", r.status, r.raw)
	}
	count(2)
	a.must(200, "DELETE", "/rbac/groups/team/farms/shop", "")
	count(1)
}

// Responses about the whole appliance never name farms of other groups.
func TestFarmsOfOtherGroupsAreNotNamed(t *testing.T) {
	a := newAppliance(t, func(d *apitest.Parts) {
		d.Host.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("farm shop, farm other")) })
	})
	a.certificate("shop.pem", "shop.test")
	a.authorities("clients")
	for i, name := range []string{"shop", "other"} {
		a.must(201, "POST", "/farms", fmt.Sprintf(`{"farmname":%q,"profile":"http","vip":"192.0.2.10","vport":%d}`, name, 443+i))
		a.must(200, "PUT", "/farms/"+name, `{"listener":"https","client_auth":"required","client_ca":"clients"}`)
		a.must(201, "POST", "/farms/"+name+"/certificates", `{"file":"shop.pem"}`)
	}
	a.people()
	a.must(200, "PUT", "/rbac/groups/team", `{"role":"administration"}`)
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"shop"}`)
	metrics := func() reply { return a.send("GET", api.MetricsPath, "", "ZAPI_KEY", annsKey) }
	metrics().refused(t, 403, "about all farms")
	a.as("GET", "/system/kernel", "").refused(t, 403, "about all farms")
	for _, path := range []string{"/certificates", "/certificates/ca"} {
		r := a.as("GET", path, "")
		if strings.Contains(r.raw, "farm other") {
			t.Errorf("%s: %s", path, r.raw)
		}
		if !strings.Contains(r.raw, "farm shop") || !strings.Contains(r.raw, "farms of other groups") {
			t.Errorf("%s: %s", path, r.raw)
		}
	}
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"other"}`)
	if r := metrics(); r.status != 200 {
		t.Errorf("user who sees all farms: %s", r.raw)
	}
	if r := a.as("GET", "/system/kernel", ""); r.status != 200 {
		t.Errorf("user who sees all farms: %s", r.raw)
	}
	if r := a.as("GET", "/certificates", ""); !strings.Contains(r.raw, "farm other") || strings.Contains(r.raw, "other groups") {
		t.Errorf("user who sees all farms: %s", r.raw)
	}
	// A list of farms does not include future farms, all_farms does.
	more := func(name string, port int) {
		a.must(201, "POST", "/farms", fmt.Sprintf(`{"farmname":%q,"profile":"http","vip":"192.0.2.10","vport":%d}`, name, port))
	}
	more("third", 8080)
	metrics().refused(t, 403, "about all farms")
	a.must(200, "PUT", "/rbac/groups/team", `{"all_farms":true}`).want(t, "params.all_farms", "true")
	more("fourth", 8081)
	if r := metrics(); r.status != 200 {
		t.Errorf("all farms: %s", r.raw)
	}
	if r := a.as("GET", "/farms", ""); !strings.Contains(r.raw, "third") || !strings.Contains(r.raw, "fourth") {
		t.Errorf("all farms: %s", r.raw)
	}
	a.as("DELETE", "/farms/fourth", "").want(t, "success", "true")
	a.must(200, "PUT", "/rbac/groups/team", `{"all_farms":false}`).want(t, "params.resources.farms.0", "shop")
	metrics().refused(t, 403, "about all farms")
}

// Seeing all current farms does not include future ones. A caller with only that cannot grant
// all_farms, even to its own group.
func TestAllFarmsIsGivenByWhoHasIt(t *testing.T) {
	a := newAppliance(t)
	a.people()
	a.must(200, "PUT", "/rbac/groups/team", `{"role":"administration"}`)
	give := func() reply { return a.as("PUT", "/rbac/groups/team", `{"all_farms":true}`) }
	give().refused(t, 403, "sees all farms, those that are made later too")
	a.shop(1)
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"shop"}`)
	give().refused(t, 403, "sees all farms, those that are made later too")
	a.must(200, "PUT", "/rbac/groups/team", `{"all_farms":true}`)
	a.must(201, "POST", "/rbac/groups", `{"name":"next"}`)
	if r := a.as("PUT", "/rbac/groups/next", `{"all_farms":true,"role":"monitoring"}`); r.status != 200 {
		t.Errorf("user with the right: %s", r.raw)
	}
	// This also holds without farms.
	a.must(200, "DELETE", "/farms/shop", "")
	if r := a.as("GET", "/config", ""); r.status != 200 {
		t.Errorf("without farms: %s", r.raw)
	}
}

// login requests a session.
func (a *appliance) login(user, password string, headers ...string) reply {
	a.t.Helper()
	return a.send("POST", api.FamilyBase+"/session", "", append([]string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))}, headers...)...)
}

// cookieOf returns the cookie of a response as a browser sends it back.
func cookieOf(t *testing.T, r reply) string {
	t.Helper()
	set, err := http.ParseSetCookie(r.header.Get("Set-Cookie"))
	if err != nil || set.Name != "CGISESSID" || !set.HttpOnly || set.SameSite != http.SameSiteStrictMode || set.Path != "/" {
		t.Fatalf("cookie %q: %v", r.header.Get("Set-Cookie"), err)
	}
	return set.Name + "=" + set.Value
}

func TestASessionBeginsWithAPasswordAndEndsWithTheLogOut(t *testing.T) {
	a := newAppliance(t)
	a.people()
	for user, password := range map[string]string{"root": rootPassword, "ann": "secret-1"} {
		r := a.login(user, password)
		if r.status != 200 || r.body["user"] != user || r.body["version"] != "1.2.3" || r.body["host"] == "" {
			t.Fatalf("%d %s", r.status, r.raw)
		}
		cookie := cookieOf(t, r)
		a.send("GET", api.Base+"/system/users", "", "Cookie", cookie).want(t, "params.user", user)
		a.login(user, password, "Cookie", cookie).refused(t, 401, "logged in already")
		if r := a.send("DELETE", api.FamilyBase+"/session", "", "Cookie", cookie); r.status != 200 || !strings.Contains(r.header.Get("Set-Cookie"), "Max-Age=0") {
			t.Errorf("%d %s %s", r.status, r.header.Get("Set-Cookie"), r.raw)
		}
		a.send("GET", api.Base+"/farms", "", "Cookie", cookie).refused(t, 401)
		a.send("DELETE", api.FamilyBase+"/session", "", "Cookie", cookie).refused(t, 400, "there is no session to end")
	}
	a.send("DELETE", api.Base+"/session", "").refused(t, 400, "there is no session to end")
	a.send("POST", api.Base+"/session", "").refused(t, 401)
	a.login("ann", "wrong").refused(t, 401, "Authorization required")
	a.login("nobody", "secret-1").refused(t, 401, "Authorization required")
	checks := a.users.System
	a.users.System = func(context.Context, string, string) (bool, error) { return false, errors.New("no answer of netd") }
	a.login("root", rootPassword).refused(t, 503, "cannot be checked now")
	if a.users.System = checks; !strings.Contains(a.log.String(), "no answer of netd") {
		t.Errorf("the reason was not logged:\n%s", a.log)
	}
	a.must(200, "PUT", "/rbac/users/ann", `{"webgui_permissions":"false"}`)
	a.login("ann", "secret-1").refused(t, 401, "may not log in")
	for _, secret := range []string{rootPassword, "secret-1", annsKey} {
		if strings.Contains(a.log.String(), secret) {
			t.Errorf("the log holds the secret %s", secret)
		}
	}
}

// A foreign page can make a browser send the cookie, but must not change anything.
func TestAPageOfAnotherSiteCannotUseASession(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	cookie := cookieOf(t, a.login("root", rootPassword))
	for _, headers := range [][]string{{"Origin", "https://evil.example"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}} {
		r := a.send("DELETE", api.Base+"/farms/shop", "", append([]string{"Cookie", cookie}, headers...)...)
		if r.status != 403 {
			t.Errorf("%v: %d %s", headers, r.status, r.raw)
		}
	}
	if r := a.send("DELETE", api.Base+"/farms/shop", "", "Cookie", cookie, "Sec-Fetch-Site", "same-origin"); r.status != 403 && r.status != 200 {
		t.Errorf("a page of ours: %d %s", r.status, r.raw)
	}
}

func TestUsersChangeThemselves(t *testing.T) {
	a := newAppliance(t)
	a.people()
	a.as("GET", "/system/users", "").want(t, "params.zapi_permissions", "true")
	a.as("POST", "/system/users", `{"newpassword":"secret-9","password":"wrong"}`).refused(t, 400, "not the one in force")
	a.as("POST", "/system/users", `{"newpassword":"secret-9"}`).refused(t, 400, "not the one in force")
	a.as("POST", "/system/users", `{"newpassword":"secret-1","password":"secret-1"}`).refused(t, 400, "must differ")
	a.as("POST", "/system/users", `{"newpassword":"short","password":"secret-1"}`).refused(t, 400, "8 to 512 characters")
	if r := a.as("POST", "/system/users", `{"newpassword":"secret-9","password":"secret-1"}`); r.status != 200 || strings.Contains(r.raw, "secret") {
		t.Fatalf("%d %s", r.status, r.raw)
	}
	a.login("ann", "secret-1").refused(t, 401)
	if r := a.login("ann", "secret-9"); r.status != 200 {
		t.Errorf("the new password: %d %s", r.status, r.raw)
	}
	if r := a.as("POST", "/system/users", `{"zapikey":"OtherKey0123456789"}`); r.status != 200 || strings.Contains(r.raw, "OtherKey") {
		t.Fatalf("%d %s", r.status, r.raw)
	}
	a.as("GET", "/farms", "").refused(t, 401)
	if r := a.send("GET", api.Base+"/farms", "", "ZAPI-KEY", "OtherKey0123456789"); r.status != 200 {
		t.Errorf("the new key: %d %s", r.status, r.raw)
	}
}

// After root's API permission is removed, another way in is needed.
func TestRootsKeysEndWithItsPermission(t *testing.T) {
	a := newAppliance(t)
	cookie := cookieOf(t, a.login("root", rootPassword))
	a.must(200, "POST", "/system/users", `{"zapi_permissions":"false"}`)
	a.do("GET", "/farms", "").refused(t, 401)
	a.send("GET", api.Base+"/farms", "", "Cookie", cookie).refused(t, 401) // changed rights end sessions
	if r := a.send("GET", api.Base+"/farms", "", "Cookie", cookieOf(t, a.login("root", rootPassword))); r.status != 200 {
		t.Errorf("with a password: %d %s", r.status, r.raw)
	}
}

func TestSecretsOfUsersAreNeverAnswered(t *testing.T) {
	a := newAppliance(t)
	a.people()
	for _, body := range []string{`{"newpassword":["secret-5"]}`, `{"newpassword":{"a":"secret-5"}}`, `{"zapikey":"secret-5"}`, `{"newpassword":"secret-5` + strings.Repeat("x", 600) + `"}`} {
		if r := a.do("PUT", "/rbac/users/ann", body); r.status != 400 || strings.Contains(r.raw, "secret-5") {
			t.Errorf("%.40s: %d %s", body, r.status, r.raw)
		}
	}
	for _, path := range []string{"/rbac/users", "/rbac/users/ann", "/system/users", "/config?format=json", "/rbac/groups/team"} {
		if r := a.do("GET", path, ""); r.status != 200 || strings.Contains(r.raw, annsKey) || strings.Contains(r.raw, "argon2") {
			t.Errorf("%s: %d %s", path, r.status, r.raw)
		}
	}
}

func TestUsersGroupsAndRolesAreMadeChangedAndDeleted(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.people()
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"shop"}`)
	u := a.must(200, "GET", "/rbac/users/ann", "")
	for path, want := range map[string]any{"params.name": "ann", "params.service": "local", "params.group": "team", "params.webgui_permissions": "true", "params.zapi_permissions": "true"} {
		u.want(t, path, want)
	}
	g := a.must(200, "GET", "/rbac/groups/team", "")
	for path, want := range map[string]any{"params.name": "team", "params.role": "ops", "params.users.0": "ann", "params.resources.farms.0": "shop"} {
		g.want(t, path, want)
	}
	a.must(200, "GET", "/rbac/groups", "").want(t, "params.0.name", "team")
	a.must(200, "GET", "/rbac/users", "").want(t, "params.0.name", "ann")
	a.must(200, "GET", "/rbac/roles", "").want(t, "params.0.name", "administration")
	r := a.must(200, "GET", "/rbac/roles/ops", "")
	r.want(t, "params.farm.action", "true")
	r.want(t, "params.farm.delete", "false")
	r = a.must(200, "PUT", "/rbac/roles/ops", `{"farm":{"action":"false","delete":true}}`)
	r.want(t, "params.farm.action", "false")
	r.want(t, "params.farm.delete", "true")
	menus := a.as("GET", "/rbac/menus", "")
	menus.want(t, "params.farm", "true")
	menus.want(t, "params.certificate", "false")
	a.must(200, "GET", "/rbac/menus", "").want(t, "params.config", "true")
	own := a.as("GET", "/rbac/permissions", "")
	own.want(t, "params.farm.delete", "true")
	own.want(t, "params.farm.action", "false")
	own.want(t, "params.certificate.upload", "false")
	for _, c := range []struct{ method, path, body, message string }{
		{"POST", "/rbac/users", `{"name":"bob"}`, "password is required"},
		{"POST", "/rbac/users", `{"name":"root","password":"secret-1"}`, "reserved"},
		{"POST", "/rbac/users", `{"name":"bob","password":"secret-1","service":"radius"}`, "service must be one of local, ldap"},
		{"PUT", "/rbac/roles/ops", `{"farm":"true"}`, "farm must be an object"},
		{"PUT", "/rbac/roles/ops", `{"farm":{"action":"maybe"}}`, "farm: action must be true or false"},
		{"PUT", "/rbac/roles/ops", `{"farm":{"fly":"true"}}`, `no permission "fly"`},
		{"PUT", "/rbac/roles/ops", `{"frm":{"action":"true"}}`, "unknown field frm"},
		{"PUT", "/rbac/roles/readonly", `{"farm":{"action":"true"}}`, "comes with Sluice"},
		{"PUT", "/rbac/groups/team", `{"role":["ops"]}`, "role must be"},
		{"DELETE", "/rbac/roles/ops", "", "is that of the group team"},
	} {
		a.do(c.method, c.path, c.body).refused(t, 400, c.message)
	}
	for _, c := range []struct{ method, path, body, message string }{
		{"GET", "/rbac/users/bob", "", `the user "bob" does not exist`},
		{"PUT", "/rbac/users/root", `{"zapi_permissions":"true"}`, "/system/users"},
		{"DELETE", "/rbac/users/bob", "", `the user "bob" does not exist`},
		{"GET", "/rbac/groups/none", "", `the group "none" does not exist`},
		{"PUT", "/rbac/groups/none", `{"role":"ops"}`, `the group "none" does not exist`},
		{"PUT", "/rbac/groups/team", `{"role":"none"}`, `the role "none" does not exist`},
		{"DELETE", "/rbac/groups/none", "", `the group "none" does not exist`},
		{"POST", "/rbac/groups/team/users", `{"name":"bob"}`, `the user "bob" does not exist`},
		{"POST", "/rbac/groups/team/farms", `{"name":"none"}`, "the farm none does not exist"},
		{"DELETE", "/rbac/groups/team/farms/none", "", "the farm none does not exist"},
		{"DELETE", "/rbac/groups/team/users/bob", "", "is not in the group"},
		{"GET", "/rbac/roles/none", "", `the role "none" does not exist`},
		{"PUT", "/rbac/roles/none", `{"farm":{}}`, `the role "none" does not exist`},
		{"DELETE", "/rbac/roles/none", "", `the role "none" does not exist`},
		{"POST", "/rbac/roles", `{"name":"new","copy_from":"none"}`, `the role "none" does not exist`},
	} {
		a.do(c.method, c.path, c.body).refused(t, 404, c.message)
	}
	a.must(200, "PUT", "/rbac/groups/team", `{"role":""}`).want(t, "params.role", "")
	a.must(200, "DELETE", "/rbac/groups/team/users/ann", "")
	a.must(200, "DELETE", "/rbac/groups/team/farms/shop", "")
	a.must(200, "DELETE", "/rbac/roles/ops", "")
	a.must(200, "DELETE", "/rbac/groups/team", "")
	a.must(200, "DELETE", "/rbac/users/ann", "")
	if got, _ := a.must(200, "GET", "/rbac/users", "").at("params").([]any); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

// An empty body gets a list of the possible fields.
func TestBodiesAboutUsersHaveTheirHelp(t *testing.T) {
	a := newAppliance(t)
	a.people()
	for _, c := range []struct{ method, path, name string }{
		{"POST", "/rbac/users", "name"}, {"PUT", "/rbac/users/ann", "newpassword"}, {"POST", "/rbac/groups", "name"}, {"PUT", "/rbac/groups/team", "role"},
		{"POST", "/rbac/roles", "name"}, {"PUT", "/rbac/roles/ops", "farm"}, {"POST", "/system/users", "newpassword"},
	} {
		r := a.must(400, c.method, c.path, "{}")
		r.want(t, "params.0.name", c.name)
		if r.body["error"] != nil {
			t.Errorf("%s %s: %s", c.method, c.path, r.raw)
		}
	}
}
