package api_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// twisted returns other spellings of a path that a router might treat as equal.
func twisted(path string) []string {
	first := path[:2]
	_, rest, _ := strings.Cut(path[1:], "/")
	return []string{
		path + "/", path + "//", "/" + path, "/." + path, "/x/.." + path, "/version/.." + path, "/farms/../.." + api.Base + path,
		path + "/.", path + "/..", path + "/../" + rest, path + ";x=1", path + ";/", path + "%00", path + "%2f", path + "%20", path + "%23", path + "%3f",
		path + ".json", path + "x", path + "[0]", path + "%5b0%5d", strings.ToUpper(path), "/%" + hex(path[1]) + path[2:],
		strings.Replace(path[1:], "/", "%2f", 1), "/" + strings.Replace(path[1:], "/", "%2f", 1), "/" + strings.Replace(path[1:], "/", "\\", 1), first + "%00" + path[2:],
	}
}

func hex(b byte) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[b>>4], digits[b&15]})
}

// whole returns everything in the store.
func (a *appliance) whole() any {
	a.t.Helper()
	cfg, rev, contents, err := a.store.Whole()
	if err != nil {
		a.t.Fatal(err)
	}
	return []any{cfg, rev.Number, contents}
}

// No spelling of a path, and no method override header, opens a route to a user without its
// permission. Strangers get no route at all. The attempts change nothing.
func TestRow22NoTrickOpensARoute(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.people()
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"shop"}`)
	overrides := []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-Original-URL", "X-Rewrite-URL", "X-Forwarded-Prefix"}
	tried := 0
	roles := a.users.Roles()
	for _, role := range roles {
		if err := a.users.GiveRole("team", role.Name); err != nil {
			t.Fatal(err)
		}
		before := a.whole()
		for _, route := range a.server.Routes() {
			needs := rbac.Permission(route.Needs)
			if needs == rbac.Public || needs == rbac.Open || role.May(needs) {
				continue
			}
			path := filled(route.Path)
			for _, twist := range twisted(path) {
				if !strings.HasPrefix(twist, "/") || strings.ContainsAny(twist, "\\ ") {
					continue // not a valid HTTP request line
				}
				tried++
				if r := a.as(route.Method, twist, `{"action":"delete","name":"x"}`); r.status < 400 || r.status == 500 {
					t.Errorf("%s: %s %s is answered %d: %.200s", role.Name, route.Method, twist, r.status, r.raw)
				}
			}
			// through a method or path that the user may use
			for _, header := range overrides {
				tried++
				value := route.Method
				if strings.HasSuffix(header, "URL") || strings.HasSuffix(header, "Prefix") {
					value = api.Base + path
				}
				a.send("GET", api.Base+"/system/users", `{}`, "ZAPI_KEY", annsKey, header, value).want(t, "params.user", "ann")
			}
		}
		if !reflect.DeepEqual(a.whole(), before) {
			t.Fatalf("%s: something was changed", role.Name)
		}
	}
	if tried < 1000 || len(roles) != 5 {
		t.Errorf("only %d tricks were tried with %d roles", tried, len(roles))
	}
}

// Strangers learn nothing about any path in any spelling.
func TestRow22NoTrickLetsAStrangerIn(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	before := a.whole()
	for _, route := range a.server.Routes() {
		if rbac.Permission(route.Needs) == rbac.Public || route.Path == "/session" {
			continue
		}
		for _, twist := range twisted(filled(route.Path)) {
			if !strings.HasPrefix(twist, "/") || strings.ContainsAny(twist, "\\ ") {
				continue
			}
			for _, base := range []string{api.Base, api.FamilyBase} {
				if r := a.send(route.Method, base+twist, `{}`, "X-Forwarded-For", "127.0.0.1", "X-Real-IP", "127.0.0.1", "Connection", "close, ZAPI_KEY"); r.status != 401 {
					t.Errorf("%s %s: a stranger is answered %d: %.200s", route.Method, base+twist, r.status, r.raw)
				}
			}
		}
	}
	if !reflect.DeepEqual(a.whole(), before) {
		t.Fatal("something was changed")
	}
}
