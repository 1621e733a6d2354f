package api_test

import (
	"fmt"
	"strings"
	"testing"
)

// everything returns all data that calls can change, as text.
func (a *appliance) everything() string {
	a.t.Helper()
	var out strings.Builder
	for _, path := range []string{"/config", "/history", "/keys", "/rbac/users", "/rbac/groups", "/rbac/roles/ops", "/certificates", "/certificates/ca", "/certificates/ocsp", "/letsencryptz", "/system/global"} {
		fmt.Fprintln(&out, path, a.do("GET", path, "").raw)
	}
	fmt.Fprint(&out, a.engine.published)
	return out.String()
}

// A dry run changes nothing and reports what it would do.
func TestEveryWriteCanBeTried(t *testing.T) {
	a := newAppliance(t)
	a.shop(2)
	a.rules()
	a.dns(2)
	a.people()
	a.must(201, "POST", "/keys", "")
	tried := map[string]bool{}
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/farms", `{"farmname":"new","profile":"http","vip":"192.0.2.10","vport":81}`},
		{"PUT", "/farms/shop", `{"contimeout":7}`},
		{"PUT", "/farms/shop/actions", `{"action":"stop"}`},
		{"PUT", "/farms/shop/actions", `{"action":"restart"}`},
		{"DELETE", "/farms/shop", ""},
		{"POST", "/farms/shop/services", `{"id":"new"}`},
		{"PUT", "/farms/shop/services/web", `{"leastresp":"true"}`},
		{"DELETE", "/farms/shop/services/web", ""},
		{"POST", "/farms/shop/services/web/backends", `{"ip":"10.0.0.9","port":80}`},
		{"PUT", "/farms/shop/services/web/backends/0", `{"weight":3}`},
		{"DELETE", "/farms/shop/services/web/backends/0", ""},
		{"PUT", "/farms/shop/services/web/backends/0/maintenance", `{"action":"maintenance"}`},
		{"POST", "/farms/dns/backends", `{"ip":"10.0.0.9","port":53}`},
		{"DELETE", "/farms/dns/backends/0", ""},
		{"POST", "/farms/shop/addheader", `{"header":"X-New: 1"}`},
		{"DELETE", "/farms/shop/addheader/0", ""},
		{"POST", "/history/rollback", `{"revision":1}`},
		{"POST", "/certificates", `{"name":"new","fqdn":"a.example","country":"ES","state":"S","locality":"L","organization":"O","division":"D","mail":"a@a.example"}`},
		{"PUT", "/certificates/ocsp", `{"enabled":"false"}`},
		{"POST", "/system/global", `{"api_names":"lb.example"}`},
		{"POST", "/keys", `{"comment":"new"}`},
		{"DELETE", "/keys/2", ""},
		{"DELETE", "/connections", ""},
		{"POST", "/system/kernel/clean", ""},
		{"POST", "/rbac/users", `{"name":"bob","password":"secret-1"}`},
		{"PUT", "/rbac/users/ann", `{"webgui_permissions":"false"}`},
		{"DELETE", "/rbac/users/ann", ""},
		{"POST", "/rbac/groups", `{"name":"new"}`},
		{"PUT", "/rbac/groups/team", `{"role":""}`},
		{"DELETE", "/rbac/groups/team", ""},
		{"DELETE", "/rbac/groups/team/users/ann", ""},
		{"POST", "/rbac/groups/team/farms", `{"name":"shop"}`},
		{"POST", "/rbac/roles", `{"name":"new"}`},
		{"PUT", "/rbac/roles/ops", `{"farm":{"delete":"true"}}`},
		{"POST", "/system/users", `{"zapi_permissions":"false"}`},
	} {
		before := a.everything()
		r := a.must(200, c.method, c.path+"?dry_run=true", c.body)
		r.want(t, "params.dry_run", "true")
		r.want(t, "message", "Only tried: nothing was changed.")
		if after := a.everything(); after != before {
			t.Fatalf("%s %s changed something:\n%s\n%s", c.method, c.path, before, after)
		}
		a.do(c.method, c.path+"?dry_run=maybe", c.body).refused(t, 400, "dry_run")
		tried[c.method+" "+c.path] = true
	}
	for _, c := range []struct {
		status       int
		method, path string
		body         string
	}{
		{400, "PUT", "/farms/shop", `{"contimeout":-7}`},
		{404, "PUT", "/farms/none", `{"contimeout":7}`},
		{404, "DELETE", "/keys/77", ""},
		{404, "DELETE", "/rbac/users/none", ""},
		{400, "POST", "/rbac/users", `{"name":"ann","password":"secret-1"}`},
		{404, "POST", "/history/rollback", `{"revision":777}`},
		{404, "DELETE", "/letsencryptz/none.pem", ""},
	} {
		a.do(c.method, c.path+"?dry_run=true", c.body).refused(t, c.status)
	}
}

func TestATriedChangeSaysWhatItWouldCost(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.dns(1)
	for _, c := range []struct{ method, path, body, impact, diff string }{
		{"PUT", "/farms/shop", `{"contimeout":7}`, `[]`, "+    contimeout: 7"},
		{"PUT", "/farms/shop", `{"maxconnections":7}`, `[{"cost":"connections","farm":"shop","fields":["maxconnections"]}]`, "+    maxconnections: 7"},
		{"PUT", "/farms/shop", `{"vport":81}`, `[{"cost":"restart","farm":"shop","fields":["vport"]}]`, "+    vport: 81"},
		{"PUT", "/farms/dns", `{"algorithm":"roundrobin","ttl":9}`, `[{"cost":"connections","farm":"dns","fields":["algorithm","ttl"]}]`, "roundrobin"},
		{"DELETE", "/farms/dns", ``, `[{"cost":"traffic","farm":"dns","fields":[]}]`, "-  - name: dns"},
		{"PUT", "/farms/shop/actions", `{"action":"stop"}`, `[{"cost":"traffic","farm":"shop","fields":[]}]`, "+    stopped: true"},
		{"PUT", "/farms/shop/actions", `{"action":"restart"}`, `[{"cost":"traffic","farm":"shop","fields":[]}]`, ""},
		{"PUT", "/farms/shop", `{"newfarmname":"store"}`, `[]`, "store"},
		{"POST", "/keys", ``, `[]`, ""},
	} {
		r := a.must(200, c.method, c.path+"?dry_run=true", c.body)
		diff, _ := r.at("params.diff").(string)
		if got := quoteAny(r.at("params.impact")); got != c.impact || !strings.Contains(diff, c.diff) || (diff == "") != (c.diff == "") {
			t.Errorf("%s %s %s: impact %s, diff\n%s", c.method, c.path, c.body, got, diff)
		}
	}
}

// Maintenance with cut ends connections; drain does not.
func TestADryRunSaysWhoseConnectionsEnd(t *testing.T) {
	a := newAppliance(t)
	a.shop(2)
	a.dns(2)
	impact := func(path, body, want string) {
		t.Helper()
		r := a.must(200, "PUT", path+"?dry_run=true", body)
		var got []string
		for _, i := range within(r.body, "params", "impact").([]any) {
			i := i.(map[string]any)
			got = append(got, fmt.Sprint(i["farm"], " ", i["cost"], " ", i["backends"]))
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s %s: %q, want %q", path, body, got, want)
		}
	}
	web, dns := "/farms/shop/services/web/backends/0/maintenance", "/farms/dns/backends/1/maintenance"
	impact(web, `{"action":"maintenance"}`, "")
	impact(web, `{"action":"maintenance","mode":"cut"}`, "shop cut [10.0.0.1:8080 of service web of farm shop]")
	impact(dns, `{"action":"maintenance","mode":"cut"}`, "dns cut [10.0.0.2 of farm dns]")
	a.must(200, "PUT", web, `{"action":"maintenance"}`)
	impact(web, `{"action":"maintenance","mode":"cut"}`, "shop cut [10.0.0.1:8080 of service web of farm shop]")
	a.must(200, "PUT", web, `{"action":"maintenance","mode":"cut"}`)
	impact("/farms/shop/services/web/backends/1/maintenance", `{"action":"maintenance","mode":"drain"}`, "")
	impact("/farms/shop/services/web/backends/1/maintenance", `{"action":"maintenance","mode":"cut"}`, "shop cut [10.0.0.2:8080 of service web of farm shop]")
}

// A dry run returns the warnings that the change causes, and the warnings about farms that it
// changes.
func TestADryRunLeavesOutWarningsOfOtherFarms(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.must(201, "POST", "/farms", `{"farmname":"relay","profile":"l4xnat","vip":"192.0.2.10","vport":"85","nattype":"dnat"}`)
	for _, c := range []struct{ method, path, body, warnings string }{
		{"PUT", "/farms/shop", `{"contimeout":7}`, `[]`},
		{"POST", "/farms", `{"farmname":"new","profile":"http","vip":"192.0.2.10","vport":81}`, `[]`},
		{"PUT", "/farms/relay", `{"ttl":7}`, `[{"field":"farmguardian","message":"no health check: the kernel, which carries the farm, does not notice failures, and a backend that is down keeps getting clients; link a check","object":"farm \"relay\""}]`},
	} {
		r := a.must(200, c.method, c.path+"?dry_run=true", c.body)
		if got := quoteAny(r.at("params.warning_details")); got != c.warnings {
			t.Errorf("%s %s %s: %s, want %s", c.method, c.path, c.body, got, c.warnings)
		}
	}
}
