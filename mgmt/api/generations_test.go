package api_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/api"
)

func TestEveryBaseOfTheFamilyIsServed(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	for base, deprecated := range map[string]bool{
		"/api/v4.0": false, "/api/v4.0/api.cgi": false, "/zapi/v4.0/zapi.cgi": false, "/zapi/v4.0.1/zapi.cgi": false, "/zapi/v4.0.2/zapi.cgi": false,
		"/zapi/v3/zapi.cgi": true, "/zapi/v3.0/zapi.cgi": true, "/zapi/v3.1/zapi.cgi": true, "/zapi/v3.2/zapi.cgi": true,
	} {
		r := a.send("GET", base+"/farms/shop", "", "ZAPI-KEY", a.key)
		if r.status != 200 || r.at("params.vip") != "192.0.2.10" {
			t.Errorf("%s: %d %s", base, r.status, r.raw)
		}
		if got := r.header.Get("Deprecation") != ""; got != deprecated || got && !strings.Contains(r.header.Get("Link"), "/zapi/v4.0/zapi.cgi/farms/shop>") {
			t.Errorf("%s: deprecated %q, %q", base, r.header.Get("Deprecation"), r.header.Get("Link"))
		}
		a.send("GET", base+"/farms/shop", "").refused(t, 401)
		a.send("GET", base+"/nothing", "", "ZAPI_KEY", a.key).refused(t, 404)
	}
	for _, path := range []string{"/zapi/v5.0/zapi.cgi/farms", "/zapi/v3.1/farms", "/zapi/v3.1/zapi.cgifarms", "/zapi/v/zapi.cgi/farms", "/api/v4.0/api.cgifarms", "/zapi/v3.1/zapi.cgi/farms%2Fshop", "/zapi/v3.1/zapi.cgi"} {
		a.send("GET", path, "", "ZAPI_KEY", a.key).refused(t, 404)
	}
}

// Before generation 4, login and logout used GET.
func TestClientsOfGeneration3LogInAndOut(t *testing.T) {
	a := newAppliance(t)
	const base = "/zapi/v3.1/zapi.cgi"
	in := a.send("GET", base+"/session/login", "", "Authorization", "Basic cm9vdDpwYSQkd29yZCAx")
	if in.status != 200 || in.body["user"] != "root" {
		t.Fatalf("%d %s", in.status, in.raw)
	}
	cookie := cookieOf(t, in)
	if r := a.send("GET", base+"/farms", "", "Cookie", cookie); r.status != 200 {
		t.Errorf("%d %s", r.status, r.raw)
	}
	if r := a.send("GET", base+"/session/logout", "", "Cookie", cookie); r.status != 200 {
		t.Errorf("%d %s", r.status, r.raw)
	}
	a.send("GET", base+"/farms", "", "Cookie", cookie).refused(t, 401)
	a.send("GET", api.FamilyBase+"/session/login", "", "ZAPI_KEY", a.key).refused(t, 404)
}

// The family's command line completes names from this tree and expects null at its leaves.
func TestTheTreeOfNames(t *testing.T) {
	a := newAppliance(t)
	r := a.must(200, "GET", "/ids", "")
	if tree := r.body["params"].(map[string]any); tree["farms"] != nil || tree["certificates"] == nil {
		t.Errorf("of an empty appliance: %s", r.raw)
	}
	a.shop(2)
	a.dns(2)
	a.must(201, "POST", "/farms", `{"farmname":"safe","profile":"http","vip":"192.0.2.10","vport":443}`)
	a.must(200, "PUT", "/farms/safe", `{"listener":"https"}`)
	a.must(200, "DELETE", "/farms/shop/services/web/backends/0", "")
	r = a.must(200, "GET", "/ids", "")
	for at, want := range map[string]string{
		"params.farms.shop":              `{"services":{"web":{"backends":{"1":null}}}}`,
		"params.farms.dns":               `{"services":{"default_service":{"backends":{"0":null,"1":null}}}}`,
		"params.farms.safe.services":     `null`,
		"params.farms.safe.certificates": `{"api.pem":null}`,
		"params.system":                  `{"backup":null,"logs":{"sluice-audit.log":null}}`,
		"params.interfaces.bonding":      `null`,
	} {
		if got := quoteAny(r.at(at)); got != want {
			t.Errorf("%s is %s, want %s", at, got, want)
		}
	}
}

func TestModulesWithoutFarmsAreEmptyLists(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	for path, want := range map[string]int{"/farms/modules/lslb": 1, "/farms/modules/gslb": 0, "/farms/modules/dslb": 0} {
		if got, is := a.must(200, "GET", path, "").at("params").([]any); !is || len(got) != want {
			t.Errorf("%s: %v", path, got)
		}
		if got, is := a.must(200, "GET", "/stats"+path, "").at("farms").([]any); !is || len(got) != want {
			t.Errorf("/stats%s: %v", path, got)
		}
		a.do("GET", "/stats"+path+"?status=flying", "").refused(t, 400)
	}
}

func TestWhatClientsAdaptTo(t *testing.T) {
	a := newAppliance(t)
	a.must(200, "GET", "/system/version", "").want(t, "params.zevenet_version", "1.2.3")
	r := a.must(200, "GET", "/system/info", "")
	for at, want := range map[string]any{"params.user": "root", "params.last_zapi_version": "4.0.2", "params.supported_zapi_versions.0": "3", "params.language": "en", "params.edition": "enterprise", "params.sluice_version": "1.2.3"} {
		r.want(t, at, want)
	}
}
