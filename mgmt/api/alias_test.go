package api_test

import (
	"strings"
	"testing"
)

func TestAliasesAreSetAndShown(t *testing.T) {
	a := newAppliance(t)
	a.shop(2)
	a.dns(1)
	const backends, interfaces = "/aliases/backends", "/aliases/interfaces"
	addr := a.must(200, "GET", "/farms/shop/services/web/backends", "").at("params.0.ip").(string)
	a.must(201, "POST", backends, `{"id":"`+addr+`","alias":"web-1"}`).want(t, "params.alias", "web-1")
	a.do("POST", backends, `{"id":"`+addr+`","alias":"other"}`).refused(t, 400, "has the alias web-1 already")
	a.must(200, "PUT", backends+"/2001:DB8::0:1", `{"alias":"six"}`).want(t, "params.id", "2001:db8::1")
	a.must(200, "PUT", interfaces+"/eth0:web", `{"alias":"office"}`)
	for _, body := range []string{`{"alias":"0"}`, `{"alias":"-rf"}`, `{"alias":"a b"}`, `{"alias":""}`, `{"name":"a"}`} {
		a.do("PUT", interfaces+"/eth0", body).refused(t, 400, "a")
	}
	a.do("PUT", backends+"/eth0", `{"alias":"a"}`).refused(t, 400, "id must be the address of one server")
	if r := a.do("POST", interfaces, `{}`); r.status != 400 || r.at("params.1.name") != "alias" {
		t.Errorf("an empty body is answered %d %s", r.status, r.raw)
	}
	list := a.must(200, "GET", backends, "")
	list.want(t, "params.0.id", addr)
	list.want(t, "params.1.alias", "six")
	a.must(200, "GET", interfaces, "").want(t, "params.0.id", "eth0:web")

	for path, at := range map[string]string{
		"/farms/shop": "services.0.backends.0.alias", "/farms/shop/services/web": "services.backends.0.alias",
		"/farms/shop/services/web/backends": "params.0.alias", "/stats/farms/shop": "backends.0.alias", "/stats/farms/shop/services/web/backends": "backends.0.alias",
	} {
		a.must(200, "GET", path, "").want(t, at, "web-1")
	}
	l4 := a.must(200, "GET", "/farms/dns", "").at("backends.0.ip").(string)
	a.must(200, "PUT", backends+"/"+l4, `{"alias":"ns"}`)
	a.must(200, "GET", "/farms/dns", "").want(t, "backends.0.alias", "ns")

	a.must(200, "PUT", backends+"/"+addr, `{"alias":"web-one"}`)
	a.must(200, "PUT", "/farms/shop/services/web/backends/0", `{"alias":"web-one","weight":2}`) // as shown
	a.must(200, "DELETE", backends+"/"+addr, "")
	a.must(200, "GET", "/farms/shop/services/web/backends", "").want(t, "params.0.alias", nil)
	a.do("DELETE", backends+"/"+addr, "").refused(t, 404, "has no alias")
	a.must(200, "PUT", backends+"/"+addr, `{"alias":"of-address"}`)
	a.must(200, "PUT", "/farms/shop/services/web/backends/0", `{"alias":"own"}`)
	a.must(200, "GET", "/farms/shop/services/web/backends", "").want(t, "params.0.alias", "own")
}

func TestInterfacesAreShownByTheirAlias(t *testing.T) {
	a := newAppliance(t)
	name := a.must(200, "GET", "/stats/system/network", "").at("params.interfaces.0.interface").(string)
	a.must(200, "PUT", "/aliases/interfaces/"+name, `{"alias":"uplink"}`)
	a.must(200, "GET", "/stats/system/network", "").want(t, "params.interfaces.0.alias", "uplink")
}

// The role management may see farms but not list aliases; readonly may list but not set
// them.
func TestAliasesAreForThoseWhoMay(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.people()
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"shop"}`)
	addr := a.must(200, "GET", "/farms/shop/services/web/backends", "").at("params.0.ip").(string)
	a.must(201, "POST", "/aliases/backends", `{"id":"`+addr+`","alias":"web-1"}`)
	a.as("GET", "/farms/shop/services/web/backends", "").want(t, "params.0.alias", nil)
	a.as("GET", "/stats/farms/shop", "").want(t, "backends.0.alias", nil)
	if a.as("GET", "/aliases/backends", "").status != 403 {
		t.Error("aliases are listed without the permission")
	}
	for _, role := range []struct {
		name        string
		set, remove int
	}{{"readonly", 403, 403}, {"administration", 200, 200}} {
		if err := a.users.GiveRole("team", role.name); err != nil {
			t.Fatal(err)
		}
		a.as("GET", "/farms/shop/services/web/backends", "").want(t, "params.0.alias", "web-1")
		if got := a.as("PUT", "/aliases/interfaces/eth0", `{"alias":"a"}`).status; got != role.set {
			t.Errorf("%s sets an alias: %d", role.name, got)
		}
		if got := a.as("DELETE", "/aliases/interfaces/eth0", "").status; got != role.remove {
			t.Errorf("%s deletes an alias: %d", role.name, got)
		}
	}
}

// Aliases are listed only for addresses of farms that the caller sees.
func TestAliasesOfOtherGroupsAreNotListed(t *testing.T) {
	a := divided(t)
	a.must(201, "POST", "/farms/theirs/services", `{"id":"web"}`)
	a.must(201, "POST", "/farms/theirs/services/web/backends", `{"ip":"192.0.2.77","port":80}`)
	addr := a.must(200, "GET", "/farms/shop/services/web/backends", "").at("params.0.ip").(string)
	a.must(201, "POST", "/aliases/backends", `{"id":"`+addr+`","alias":"ours"}`)
	a.must(201, "POST", "/aliases/backends", `{"id":"192.0.2.77","alias":"hidden"}`)
	if err := a.users.GiveRole("team", "administration"); err != nil {
		t.Fatal(err)
	}
	if r := a.as("GET", "/aliases/backends", ""); r.status != 200 || strings.Contains(r.raw, "hidden") || strings.Contains(r.raw, "192.0.2.77") || !strings.Contains(r.raw, "ours") {
		t.Errorf("listed: %s", r.raw)
	}
	a.must(200, "PUT", "/rbac/groups/team", `{"all_farms":"true"}`)
	if r := a.as("GET", "/aliases/backends", ""); !strings.Contains(r.raw, "hidden") {
		t.Errorf("listing of a user who sees all farms: %s", r.raw)
	}
}
