package api_test

import (
	"context"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/api/state"
)

func TestHostNeedsItsRequiredOptions(t *testing.T) {
	for name, without := range map[string]func(*apitest.Parts){
		"Applier": func(d *apitest.Parts) { d.Applier = nil }, "Keys": func(d *apitest.Parts) { d.Host.Keys = nil },
		"Users": func(d *apitest.Parts) { d.Host.Users = nil }, "Settings": func(d *apitest.Parts) { d.Host.Settings = nil },
	} {
		newAppliance(t, func(d *apitest.Parts) {
			lacking := *d
			without(&lacking)
			if _, err := lacking.Server(); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("without %s: %v", name, err)
			}
		})
	}
}

// Optional parts that are missing have no operations.
func TestPartsThatAreNotThereHaveNoOperations(t *testing.T) {
	whole := len(newAppliance(t).server.Routes())
	for name, c := range map[string]struct {
		without func(*apitest.Parts)
		path    string
		fewer   int
	}{
		"ACME": {func(d *apitest.Parts) { d.ACME = nil }, "/certificates/letsencryptz", 16}, "explanations": {func(d *apitest.Parts) { d.Farms.Explain = nil }, "POST /farms/{farm}/explain", 1}, "the kernel": {func(d *apitest.Parts) { d.Kernel = nil }, "/system/kernel", 2},
		"connections": {func(d *apitest.Parts) { d.Traffic.Tracked, d.Traffic.Forwarded = nil, nil }, "}/connections", 2}, "sessions": {func(d *apitest.Parts) { d.Traffic.SessionTable = nil }, "}/sessions", 8}, "a directory": {func(d *apitest.Parts) { d.People.Directory = nil }, "/rbac/ldap", 4}, "a provider": {func(d *apitest.Parts) { d.People.Provider = nil }, "/oidc", 6},
		"logs": {func(d *apitest.Parts) { d.System.Logs = nil }, "/system/logs", 3}, "numbers over time": {func(d *apitest.Parts) { d.Numbers = nil }, "/graphs", 23}, "series": {func(d *apitest.Parts) { d.Numbers = nil }, "/series", 23}, "the machine": {func(d *apitest.Parts) { d.Statistics.Usage = nil }, "/stats/system", 30},
		"those of the kernel": {func(d *apitest.Parts) { d.Traffic.Tracked = nil }, "", 0}, "those of the engine": {func(d *apitest.Parts) { d.Traffic.Forwarded = nil }, "", 0},
	} {
		routes := newAppliance(t, c.without).server.Routes()
		for _, r := range routes {
			if c.path != "" && strings.Contains(r.Method+" "+r.Path, c.path) {
				t.Errorf("without %s there is %s %s", name, r.Method, r.Path)
			}
		}
		if whole-len(routes) != c.fewer {
			t.Errorf("without %s there are %d operations fewer, want %d", name, whole-len(routes), c.fewer)
		}
	}
}

func TestAnApplianceKnowsItsOwnAddressesAndNames(t *testing.T) {
	a := newAppliance(t, func(d *apitest.Parts) { d.LocalAddrs, d.Host.HostNames, d.Kernel, d.Resolved = nil, nil, nil, nil })
	r := a.must(201, "POST", "/farms", `{"farmname":"own","profile":"l4xnat","vip":"127.0.0.1","vport":25,"datapath":"kernel","protocol":"udp"}`)
	r.want(t, "interface", "lo")
	r.want(t, "params.interface", "lo")
	a.do("POST", "/farms", `{"farmname":"foreign","profile":"http","vip":"192.0.2.10","vport":80}`).refused(t, 400, "192.0.2.10")
	a.must(200, "GET", "/farms/own/explain", "").want(t, "warning", "the rules are not known: nobody can be asked for them")
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for name, status := range map[string]int{host: 200, "x" + host: 403} {
		w := a.sendTo(name, "GET", "/farms", "Origin", "https://"+name)
		if w.status != status {
			t.Errorf("a browser that asks for %s: %d %s", name, w.status, w.raw)
		}
	}
}

// A farm can start only while its address is local. Documents may contain stopped farms
// with other addresses.
func TestAddressesThatAreGoneKeepFarmsFromStarting(t *testing.T) {
	here := []netip.Addr{netip.MustParseAddr("192.0.2.10")}
	a := newAppliance(t, func(d *apitest.Parts) { d.LocalAddrs = func() []netip.Addr { return here } })
	a.shop(1)
	here = nil
	a.do("PUT", "/farms/shop/actions", `{"action":"restart"}`).refused(t, 400, "vip", "192.0.2.10")
	yaml := []string{"Content-Type", "application/yaml"}
	const document = "farms:\n- {name: a, profile: http, vip: 192.0.2.10, vport: 80, stopped: true}\n- {name: b, profile: http, vip: 127.0.0.1, vport: 80}\n"
	a.must(200, "PUT", "/config", document, yaml...).want(t, "params.problems.0", nil)
	a.engine.problems["b"] = "the port is taken"
	r := a.must(200, "PUT", "/config", document+"- {name: c, profile: http, vip: 127.0.0.1, vport: 81}\n", yaml...)
	r.want(t, "params.problems.0", "farm b: the port is taken")
	r.want(t, "params.problems.1", nil)
	r = a.do("PUT", "/config", "farms:\n- {name: a, profile: http, vip: 192.0.2.99, vport: 81}\n", yaml...)
	if !strings.Contains(r.raw, "192.0.2.99") {
		t.Errorf("an address that is not here: %d %s", r.status, r.raw)
	}
}

func TestFarmsStartOnInterfacesThatAreUp(t *testing.T) {
	down := ""
	a := newAppliance(t, func(d *apitest.Parts) {
		d.Farms.DownInterface = func(vip netip.Addr) string {
			if vip.String() != "192.0.2.10" {
				t.Errorf("the VIP is %s", vip)
			}
			return down
		}
	})
	a.shop(1)
	down = "eth1"
	a.do("PUT", "/farms/shop/actions", `{"action":"restart"}`).refused(t, 400, "interface", "192.0.2.10", "ip link set eth1 up")
	a.must(200, "PUT", "/farms/shop/actions", `{"action":"stop"}`)
	a.do("PUT", "/farms/shop/actions", `{"action":"start"}`).refused(t, 400, "interface", "192.0.2.10", "ip link set eth1 up")
	a.must(200, "GET", "/farms/shop", "").want(t, "params.status", "down")
	down = ""
	a.must(200, "PUT", "/farms/shop/actions", `{"action":"start"}`)
}

func TestSessionsAreInTheStatisticsOfAFarm(t *testing.T) {
	var asked []string
	a := newAppliance(t, func(d *apitest.Parts) {
		d.Statistics.Sessions = func(_ context.Context, f *farm.Farm, service string) ([]state.Session, int, error) {
			asked = append(asked, f.Name+"/"+service)
			return []state.Session{{Session: "c", Service: "web"}}, 7, nil
		}
	})
	a.shop(1)
	for path, want := range map[string]string{"/stats/farms/shop": "shop/", "/stats/farms/shop/services/web/backends": "shop/web"} {
		asked = nil
		r := a.must(200, "GET", path, "")
		r.want(t, "sessions.0.session", "c")
		r.want(t, "total_sessions", 7)
		if len(asked) != 1 || asked[0] != want {
			t.Errorf("%s requested %q", path, asked)
		}
	}
}

func TestTextsAreBoundedAndPrintable(t *testing.T) {
	a, _ := withOrders(t)
	a.shop(1)
	a.dns(1)
	for _, c := range []struct{ method, path, body, says string }{
		{"POST", "/keys", `{"comment":"a\u0007b"}`, `comment: only printable characters are allowed, got '\a'`}, {"POST", "/keys", `{"comment":"` + strings.Repeat("a", 5000) + `"}`, "bytes are too many, allowed are"},
		{"POST", "/farms/shop/explain", `{"url":"/","to":"192.0.2.10"}`, "to is for farms of profile l4xnat"}, {"POST", "/farms/dns/explain", `{"sni":"` + strings.Repeat("a", 10_000) + `"}`, "sni is too long: at most"},
		{"PUT", "/certificates/letsencryptz/a.pem", `{"autorenewal":"maybe"}`, "autorenewal"}, {"PUT", "/certificates/letsencryptz/a.pem", `{"autorenewal":true,"restart":"maybe"}`, "restart"}, {"PUT", "/certificates/letsencryptz/a.pem", `{"autorenewal":true,"vip":"x"}`, "vip"},
		{"POST", "/certificates/letsencryptz/a.pem/actions", `{"action":"renew","force_renewal":"maybe"}`, "force_renewal"}, {"POST", "/certificates/letsencryptz/a.pem/actions", `{"action":"renew","restart":7}`, "restart"},
		{"POST", "/certificates/letsencryptz/a.pem/actions", `{"action":"renew","vip":"x"}`, "vip"}, {"POST", "/certificates/letsencryptz", `{"domains":["a.test"],"test":"maybe"}`, "test"},
	} {
		a.do(c.method, c.path, c.body).refused(t, 400, c.says)
	}
}
