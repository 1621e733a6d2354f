//go:build !race

// The race detector takes a minute and a half here and finds nothing, because there is one
// caller at a time.

package api_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// ruleOf names the rule that limits a change to visible objects: the farm in the path, the
// need to see all farms or be root, or an entry of rules. It returns "" if there is none.
func ruleOf(r api.Route) string {
	switch {
	case rbac.Permission(r.Needs) == rbac.RootOnly:
		return "root"
	case r.Whole:
		return "whole"
	case strings.HasPrefix(r.Path, "/rbac/") && !strings.HasPrefix(r.Path, "/rbac/sessions"):
		return "covers"
	case strings.Contains(r.Path, "{farm}"):
		return "farm"
	}
	for rule, operations := range rules {
		if slices.Contains(operations, r.Method+" "+r.Path) {
			return rule
		}
	}
	return ""
}

// rules lists the operations whose rule does not follow from path or permission.
var rules = map[string][]string{
	"own":         {"POST /system/users", "POST /system/users/totp", "POST /system/users/totp/actions", "DELETE /rbac/sessions", "DELETE /rbac/sessions/{session}", "POST /session", "DELETE /session"},
	"makes":       {"POST /farms", "POST /certificates", "POST /certificates/pem", "POST /certificates/pkcs12", "POST /certificates/letsencryptz", "POST /certificates/letsencrypt"},
	"each":        {"POST /transactions"},
	"seen":        {"DELETE /connections"},
	"pending":     {"DELETE /pending", "POST /history/{revision}/confirm"},
	"check":       {"POST /monitoring/fg", "PUT /monitoring/fg/{check}", "DELETE /monitoring/fg/{check}"},
	"certificate": {"POST /certificates/{certificate}", "PUT /certificates/{certificate}", "DELETE /certificates/{certificate}", "POST /certificates/{certificate}/actions", "PUT /certificates/ca/{authority}", "POST /certificates/ca/{authority}", "DELETE /certificates/ca/{authority}", "PUT /certificates/ca/{authority}/crl", "DELETE /certificates/ca/{authority}/crl", "PUT /certificates/letsencryptz/{certificate}", "DELETE /certificates/letsencryptz/{certificate}", "POST /certificates/letsencryptz/{certificate}/actions", "PUT /certificates/letsencrypt/{certificate}", "DELETE /certificates/letsencrypt/{certificate}", "POST /certificates/letsencrypt/{certificate}/actions"},
}

// A new operation must declare its limits: by Needs, OfAll, its path, or rules above.
func TestEveryChangeIsConfined(t *testing.T) {
	for _, r := range newAppliance(t).server.Routes() {
		if !r.Asks && ruleOf(r) == "" {
			t.Errorf("%s %s (%s): no rule limits it to what the caller may see", r.Method, r.Path, r.Needs)
		}
	}
}

// Operations on all farms need a caller who sees them all, even if there are none.
func TestChangesOfAllFarmsAreForWhoSeesAllFarms(t *testing.T) {
	for _, farms := range []int{0, 1} {
		a := newAppliance(t)
		if farms > 0 {
			a.shop(1)
			a.dns(1)
		}
		a.people()
		a.must(200, "PUT", "/rbac/groups/team", `{"role":"administration"}`)
		if farms > 0 {
			a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"shop"}`)
		}
		tried := 0
		for _, r := range a.server.Routes() {
			if r.Whole && rbac.Permission(r.Needs) != rbac.RootOnly {
				tried++
				a.as(r.Method, filled(r.Path), `{}`).refused(t, 403, "about all farms")
			}
		}
		if tried < 40 {
			t.Errorf("%d operations were tried", tried)
		}
	}
}

// Certificates and authorities used by farms hidden from the caller cannot be replaced.
func TestCertificatesOfOthersAreNotReplaced(t *testing.T) {
	a := divided(t)
	a.authorities("clients")
	a.must(200, "PUT", "/farms/theirs", `{"client_auth":"required","client_ca":"clients"}`)
	a.must(200, "PUT", "/rbac/groups/team", `{"role":"administration"}`)
	tried := 0
	for _, r := range a.server.Routes() {
		if ruleOf(r) != "certificate" || strings.Contains(r.Path, "letsencrypt") {
			continue
		}
		tried++
		path := strings.NewReplacer("{certificate}", "served.pem", "{authority}", "clients").Replace(r.Path)
		if !strings.HasSuffix(r.Path, "/actions") && (strings.HasPrefix(r.Path, "/certificates/{") || !strings.HasSuffix(r.Path, "/crl") && r.Method == "POST") {
			path += map[bool]string{true: "?replace=true"}[r.Method == "POST"]
		}
		a.send(r.Method, api.Base+path, "x", "ZAPI_KEY", annsKey, "Content-Type", "text/plain").refused(t, 403, "farms use it that your group does not see")
	}
	if tried < 8 {
		t.Errorf("%d operations were tried", tried)
	}
	a.send("POST", api.Base+"/certificates/served?replace=true", "x", "ZAPI_KEY", annsKey, "Content-Type", "text/plain").refused(t, 403, "farms use it that your group does not see")
	if r := a.as("DELETE", "/certificates/ours.pem", ""); r.status != 200 {
		t.Errorf("an unused certificate: %s", r.raw)
	}
}

// everyFarm stands for all future farms.
const everyFarm = "all"

// rights holds the rights of a user, or of anyone able to act as that user.
type rights struct {
	farms, permissions []string
	group              string
}

// crew returns an appliance with the farms shop and dns. Its groups are team (shop, role
// administration), other (dns, administration), whole (both farms, administration), clerks
// (both farms, only rbac-* permissions), helpers (shop, only rbac-* permissions), every (all
// current and future farms, administration). Each group has a user of the same name; the user
// alone is in no group.
func crew(t *testing.T) *appliance {
	a := newAppliance(t)
	a.shop(1)
	a.dns(1)
	for _, role := range []string{"people", "bare"} {
		a.must(201, "POST", "/rbac/roles", `{"name":"`+role+`"}`)
	}
	set := map[rbac.Permission]bool{}
	for _, p := range rbac.Permissions() {
		set[p] = strings.HasPrefix(p.Section(), "rbac-")
	}
	if _, err := a.users.ChangeRole("people", set); err != nil {
		t.Fatal(err)
	}
	for _, g := range []struct{ name, role, farms string }{{"team", "administration", "shop"}, {"other", "administration", "dns"}, {"whole", "administration", "shop dns"}, {"clerks", "people", "shop dns"}, {"helpers", "people", "shop"}, {"every", "administration", ""}} {
		a.must(201, "POST", "/rbac/groups", `{"name":"`+g.name+`"}`)
		a.must(200, "PUT", "/rbac/groups/"+g.name, `{"role":"`+g.role+`"}`)
		for name := range strings.FieldsSeq(g.farms) {
			a.must(201, "POST", "/rbac/groups/"+g.name+"/farms", `{"name":"`+name+`"}`)
		}
		for _, user := range []string{g.name, g.name + "2"} {
			a.user(user)
			a.must(201, "POST", "/rbac/groups/"+g.name+"/users", `{"name":"`+user+`"}`)
		}
	}
	a.must(200, "PUT", "/rbac/groups/every", `{"all_farms":"true"}`)
	a.user("alone")
	return a
}

// snapshot returns the rights of all users and groups, and the credentials of users.
func (a *appliance) snapshot() (who map[string]rights, secrets map[string]string) {
	who, secrets = map[string]rights{}, map[string]string{}
	roles := map[string][]string{}
	for _, r := range a.users.Roles() {
		for _, p := range r.Allowed {
			roles[r.Name] = append(roles[r.Name], string(p))
		}
		who["role "+r.Name] = rights{permissions: roles[r.Name]}
	}
	for _, g := range a.users.Groups() {
		of := rights{group: g.Name, permissions: roles[g.Role]}
		for _, id := range g.Farms {
			of.farms = append(of.farms, fmt.Sprint(id))
		}
		if g.AllFarms {
			of.farms = []string{"1", "2", everyFarm}
		}
		who["group "+g.Name] = of
		for _, user := range g.Users {
			who["user "+user] = of
		}
	}
	for _, u := range a.users.Users() {
		if _, in := who["user "+u.Name]; !in {
			who["user "+u.Name] = rights{}
		}
		second, _ := u.Second()
		secrets["user "+u.Name] = fmt.Sprint(u.Key, u.API, u.WebGUI, u.Epoch, second)
	}
	root, _ := a.users.User(rbac.Root)
	secrets["user root"] = fmt.Sprint(root.Key, root.API, root.WebGUI, root.Epoch)
	return who, secrets
}

func (r rights) covers(target rights) bool {
	in := func(all, some []string) bool {
		return !slices.ContainsFunc(some, func(one string) bool { return !slices.Contains(all, one) })
	}
	return in(r.farms, target.farms) && in(r.permissions, target.permissions)
}

// bodies returns the bodies to send to an operation on users, groups and roles.
func bodies(path string) []string {
	switch {
	case strings.HasSuffix(path, "/users/{user}"):
		return []string{`{"newpassword":"changed-1"}`, `{"zapikey":"Changed0123456789","zapi_permissions":"true"}`, `{"webgui_permissions":"false"}`}
	case path == "/rbac/users":
		return []string{`{"name":"made","password":"secret-1"}`, `{"name":"made","password":"secret-1","group":"team"}`, `{"name":"made","password":"secret-1","group":"other"}`,
			`{"name":"made","password":"secret-1","group":"clerks"}`, `{"name":"made","password":"secret-1","group":"every"}`}
	case strings.HasSuffix(path, "/groups/{group}"):
		return []string{`{"role":"administration"}`, `{"role":"people"}`, `{"role":"bare"}`, `{"role":null}`, `{"role":"monitoring"}`, `{"all_farms":"true"}`, `{"all_farms":"false"}`}
	case strings.HasSuffix(path, "/groups/{group}/users"):
		return []string{`{"name":"alone"}`, `{"name":"team"}`, `{"name":"clerks"}`, `{"name":"other"}`, `{"name":"helpers"}`, `{"name":"every"}`, `{"name":"made"}`}
	case strings.HasSuffix(path, "/groups/{group}/farms"):
		return []string{`{"name":"shop"}`, `{"name":"dns"}`}
	case path == "/rbac/roles":
		return []string{`{"name":"made"}`, `{"name":"made","copy_from":"administration"}`}
	case strings.HasSuffix(path, "/roles/{role}"):
		return []string{`{"system-service":{"modify":"true"},"farm":{"create":"true"}}`, `{"rbac-user":{"delete":"false"}}`, `{"rbac-user":{"delete":"true"}}`}
	case path == "/rbac/groups":
		return []string{`{"name":"made"}`}
	case path == "/system/users":
		return []string{`{"zapikey":"Changed0123456789"}`, `{"webgui_permissions":"true"}`}
	}
	return []string{`{}`}
}

// targets expands the path of an operation.
func targets(path string) (out []string) {
	out = []string{path}
	for name, all := range map[string][]string{"{user}": {"root", "team", "team2", "other", "whole", "clerks", "clerks2", "helpers", "helpers2", "every", "every2", "alone"}, "{group}": {"team", "other", "whole", "clerks", "helpers", "every"}, "{role}": {"administration", "people", "bare"}, "{farm}": {"shop", "dns"}} {
		var next []string
		for _, path := range out {
			if !strings.Contains(path, name) {
				next = append(next, path)
				continue
			}
			for _, one := range all {
				next = append(next, strings.Replace(path, name, one, 1))
			}
		}
		out = next
	}
	return out
}

// A caller who changes users, groups and roles must hold all their rights, before and after
// the change, and gains none. This holds for all operations, identities and targets.
func TestTheCallerCoversTheTarget(t *testing.T) {
	a := crew(t)
	var operations []api.Route
	for _, r := range a.server.Routes() {
		if rule := ruleOf(r); !r.Asks && (rule == "covers" || rule == "own" && strings.HasPrefix(r.Path, "/system/")) {
			operations = append(operations, r)
		}
	}
	if len(operations) < 17 {
		t.Errorf("%d operations", len(operations))
	}
	done := map[string]int{}
	for _, caller := range []string{"team", "whole", "clerks", "helpers", "every"} {
		for _, r := range operations {
			for _, path := range targets(r.Path) {
				for _, body := range bodies(r.Path) {
					if a.covered(t, caller, r.Method, path, body) {
						done[caller+" "+r.Method+" "+r.Path]++
						a = crew(t)
					}
				}
			}
		}
	}
	// The rule permits legitimate changes.
	for _, want := range []string{"team POST /rbac/users", "team DELETE /rbac/users/{user}", "helpers POST /rbac/users", "helpers DELETE /rbac/users/{user}", "team PUT /rbac/users/{user}", "team POST /system/users", "whole POST /rbac/users", "whole POST /rbac/groups/{group}/users", "whole PUT /rbac/users/{user}",
		"whole POST /rbac/roles", "whole PUT /rbac/roles/{role}", "clerks POST /rbac/users", "clerks POST /rbac/groups", "clerks PUT /rbac/users/{user}", "helpers PUT /rbac/users/{user}",
		"clerks POST /rbac/roles", "whole POST /rbac/groups/{group}/farms", "team DELETE /rbac/groups/{group}/users/{user}",
		"every PUT /rbac/groups/{group}", "every POST /rbac/groups/{group}/users", "every POST /rbac/groups/{group}/farms", "every PUT /rbac/users/{user}"} {
		if done[want] == 0 {
			t.Errorf("%s: refused for every target; done was %v", want, slices.Sorted(maps.Keys(done)))
		}
	}
}

// covered makes one call and reports whether it changed anything.
func (a *appliance) covered(t *testing.T, caller, method, path, body string) bool {
	t.Helper()
	who, secrets := a.snapshot()
	own := who["user "+caller]
	r := a.send(method, api.Base+path, body, "ZAPI_KEY", keyOf(caller))
	after, changed := a.snapshot()
	all := len(own.farms) >= 2
	for name := range maps.Keys(merged(who, after)) {
		before, now := who[name], after[name]
		if fmt.Sprint(before) == fmt.Sprint(now) && secrets[name] == changed[name] {
			continue
		}
		if !own.covers(before) || !own.covers(now) {
			t.Errorf("%s: %s %s %s: changed %s from %v to %v (%d)", caller, method, path, body, name, before, now, r.status)
		}
		_, existed := who[name] // a user of no group is of another one, too; a new one belongs to its group
		mine := before.group == own.group || !existed && now.group == own.group || strings.HasPrefix(name, "role ")
		if !all && name != "user "+caller && !mine {
			t.Errorf("%s: %s %s %s: changed %s, which is of another group (%d)", caller, method, path, body, name, r.status)
		}
	}
	if !own.covers(after["user "+caller]) {
		t.Errorf("%s: %s %s %s: has more rights: %v", caller, method, path, body, after["user "+caller])
	}
	if secrets["user root"] != changed["user root"] {
		t.Errorf("%s: %s %s %s: changed root", caller, method, path, body)
	}
	same := fmt.Sprint(who, secrets) == fmt.Sprint(after, changed)
	if r.status >= 300 && !same {
		t.Errorf("%s: %s %s %s: %d, but something changed", caller, method, path, body, r.status)
	}
	return !same
}

func merged(a, b map[string]rights) map[string]rights {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// A deleted farm stays in its group. This does not stop callers who see all farms from
// changing the group and its users.
func TestAFarmThatIsGoneHidesNoGroup(t *testing.T) {
	a := crew(t)
	a.must(201, "POST", "/farms", `{"farmname":"old","profile":"http","vip":"192.0.2.10","vport":9090}`)
	a.must(201, "POST", "/rbac/groups/other/farms", `{"name":"old"}`)
	whole := func(method, path, body string) reply {
		return a.send(method, api.Base+path, body, "ZAPI_KEY", keyOf("whole"))
	}
	whole("PUT", "/rbac/users/other", `{"newpassword":"changed-1"}`).refused(t, 403)
	a.must(200, "DELETE", "/farms/old", "")
	for _, c := range [][3]string{{"PUT", "/rbac/users/other", `{"newpassword":"changed-1"}`}, {"POST", "/rbac/groups/other/users", `{"name":"alone"}`}, {"DELETE", "/rbac/groups/other/users/other2", ""}} {
		if r := whole(c[0], c[1], c[2]); r.status >= 300 {
			t.Errorf("%v: %s", c, r.raw)
		}
	}
	a.send("PUT", api.Base+"/rbac/users/other", `{"newpassword":"changed-2"}`, "ZAPI_KEY", keyOf("team")).refused(t, 403)
}
