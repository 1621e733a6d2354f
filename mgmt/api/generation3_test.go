package api_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/api"
)

const third = "/zapi/v3.1/zapi.cgi"

// old sends a request to generation 3.1.
func (a *appliance) old(method, path, body string) reply {
	a.t.Helper()
	return a.send(method, third+path, body, "ZAPI_KEY", a.key)
}

// Health checks were fields before 3.2; what there is of them is none.
func TestGeneration3HasHealthChecksInline(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.dns(1)
	for path, at := range map[string]string{"/farms/shop": "services.0", "/farms/shop/services/web": "params", "/farms/dns": "params"} {
		r := a.old("GET", path, "")
		for field, want := range map[string]any{"fgenabled": "false", "fgtimecheck": 5, "fgscript": "", "fglog": "false"} {
			r.want(t, at+"."+field, want)
		}
		if r.header.Get("Deprecation") == "" {
			t.Errorf("%s: not said to be deprecated", path)
		}
	}
	r := a.send("GET", "/zapi/v3.2/zapi.cgi/farms/shop", "", "ZAPI_KEY", a.key)
	if s := r.at("services.0").(map[string]any); s["fgenabled"] != nil || s["farmguardian"] != "" {
		t.Errorf("3.2: %v", s)
	}
	if s := a.must(200, "GET", "/farms/shop", "").at("services.0").(map[string]any); s["fgenabled"] != nil {
		t.Errorf("now: %v", s)
	}
}

func TestAHealthCheckOfGeneration3CannotBeSwitchedOn(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.dns(1)
	before := a.written()
	for _, c := range []struct {
		path, body string
		status     int
		says       string
	}{
		{"/farms/shop/fg", `{"service":"web","fgenabled":"false","fgtimecheck":5,"fgscript":"x","fglog":"true"}`, 200, "not kept"},
		{"/farms/dns/fg", `{"fgenabled":"false"}`, 200, "not kept"},
		{"/farms/dns/fg", `{"fgtimecheck":"7"}`, 200, "not kept"},
		{"/farms/shop/fg", `{"service":"web","fgenabled":"true"}`, 400, "no health checks by commands"},
		{"/farms/none/fg", `{"fgenabled":"false"}`, 404, "not found"},
		{"/farms/shop/fg", `{"service":"none","fgenabled":"false"}`, 404, "not found"},
		{"/farms/shop/fg", `{"fgenabled":"false"}`, 404, "not found"},
		{"/farms/dns/fg", `{"service":"web","fgenabled":"false"}`, 400, "l4xnat"},
		{"/farms/dns/fg", `{"fgenabled":"yes"}`, 400, "fgenabled"},
		{"/farms/dns/fg", `{"fglog":1}`, 400, "fglog"},
		{"/farms/dns/fg", `{"fgtimecheck":0}`, 400, "fgtimecheck"},
		{"/farms/dns/fg", `{"fgtimecheck":-1}`, 400, "fgtimecheck"},
		{"/farms/dns/fg", `{"fgtimecheck":1.5}`, 400, "fgtimecheck"},
		{"/farms/dns/fg", `{"fgtimecheck":99999999999999999999}`, 400, "fgtimecheck"},
		{"/farms/dns/fg", `{"fgscript":""}`, 400, "fgscript"},
		{"/farms/dns/fg", `{"fgshell":"x"}`, 400, "fgshell"},
		{"/farms/dns/fg", `{}`, 400, "No parameter"},
		{"/farms/dns/fg", `{`, 400, "JSON"},
		{"/farms/dns/fg", `[]`, 400, "JSON"},
		{"/farms/dns/fg", ``, 400, "JSON"},
	} {
		r := a.old("PUT", c.path, c.body)
		if r.status != c.status || !strings.Contains(r.raw, c.says) {
			t.Errorf("%s %s: %d, want %d with %q: %s", c.path, c.body, r.status, c.status, c.says, r.raw)
		}
	}
	if a.written() != before {
		t.Error("something was changed")
	}
	a.send("PUT", "/zapi/v3.2/zapi.cgi/farms/dns/fg", `{"fgenabled":"false"}`, "ZAPI_KEY", a.key).refused(t, 404)
	a.send("PUT", api.FamilyBase+"/farms/dns/fg", `{"fgenabled":"false"}`, "ZAPI_KEY", a.key).refused(t, 404)
	a.people()
	r := a.send("PUT", third+"/farms/dns/fg", `{"fgenabled":"false"}`, "ZAPI_KEY", annsKey)
	r.refused(t, 403, "farm.modify")
}

// Left out is what generation 3 showed in answers; what is misspelt is refused, and what
// is newer takes no part in it.
func TestGeneration3TakesBackWhatItShowed(t *testing.T) {
	a := newAppliance(t)
	a.shop(2)
	a.dns(1)
	a.must(201, "POST", "/farms", `{"farmname":"tls","profile":"http","vip":"192.0.2.10","vport":443,"listener":"https"}`)
	const backend = web + "/backends/0"
	for _, c := range []struct {
		path, body string
		status     int
	}{
		{"/farms/shop", `{"farmname":"shop","status":"up","certlist":[],"services":[],"contimeout":7}`, 200},
		{"/farms/shop", `{"disable_tlsv1":"false","cipherc":"","contimeout":8}`, 200},
		{"/farms/shop", `{"contimeut":7}`, 400},
		{"/farms/shop", `{"error503":"x","contimeout":"many"}`, 400},
		{"/farms/shop", `{"contimeout":7,"contimeout":8,"x":1}`, 400},
		{"/farms/shop", `{`, 400},
		{"/farms/shop", `{"status":"up"}`, 400}, // nothing is left: what could be sent
		{"/farms/dns", `{"listener":"","contimeout":0,"error503":"","algorithm":"roundrobin"}`, 200},
		{"/farms/dns", `{"algorithm":"dice"}`, 400},
		{"/farms/tls", `{"disable_tlsv1":"true","ciphers":"highsecurity"}`, 200},
		{"/farms/tls", `{"ciphers":"lowsecurity"}`, 400},
		{"/farms/none", `{"status":"up","contimeout":7}`, 404},
		{web, `{"id":"web","farmname":"shop","backends":[],"fgenabled":"true","redirect":"","redirecttype":"","urlp":"^/x"}`, 200},
		{web, `{"redirect":"https://example.com","redirecttype":"never"}`, 400},
		{web, `{"urlpp":"^/x"}`, 400},
		{backend, `{"id":0,"status":"down","farmname":"shop","servicename":"web","weight":4}`, 200},
		{backend, `{"wait":4}`, 400},
		{"/farms/dns/backends/0", `{"id":0,"status":"down","farmname":"dns","servicename":"","weight":4}`, 200},
	} {
		if r := a.old("PUT", c.path, c.body); r.status != c.status {
			t.Errorf("%s %s: %d, want %d: %s", c.path, c.body, r.status, c.status, r.raw)
		}
	}
	r := a.old("GET", web, "")
	r.want(t, "params.urlp", "^/x")
	r.want(t, "services.urlp", "^/x")
	r.want(t, "params.backends.0.weight", 4)
	r.want(t, "params.backends.0.status", "up") // nobody has asked it yet
	a.must(200, "GET", web, "").want(t, "services.backends.0.status", "undefined")
	a.old("GET", web+"/backends", "").want(t, "params.1.status", "up")
	for _, base := range []string{api.FamilyBase, api.Base} {
		a.send("PUT", base+"/farms/shop", `{"status":"up","contimeout":7}`, "ZAPI_KEY", a.key).refused(t, 400, "status")
	}
	r = a.send("PUT", third+web+"?dry_run=true", `{"urlp":"^/y"}`, "ZAPI_KEY", a.key)
	if r.status != 200 || !strings.Contains(r.raw, "^/y") || a.config().Farm("shop").HTTP.Services[0].URL != "^/x" {
		t.Errorf("%d %s", r.status, r.raw)
	}
}

// Generation 3 had a user for keys, who was root.
func TestGeneration3KeepsTheKeyOfRoot(t *testing.T) {
	a := newAppliance(t)
	r := a.old("GET", "/system/users/zapi", "")
	r.want(t, "params.user", "zapi")
	r.want(t, "params.key", "") // never shown
	if r := a.old("POST", "/system/users/zapi", `{"key":"AnotherKey0123456789","status":"enable","newpassword":"x"}`); r.status != 200 {
		t.Fatalf("%d %s", r.status, r.raw)
	}
	a.old("GET", "/system/users/zapi", "").want(t, "params.status", "true")
	if r := a.send("GET", third+"/farms", "", "ZAPI_KEY", "AnotherKey0123456789"); r.status != 200 {
		t.Errorf("the new key is answered %d", r.status)
	}
	a.old("POST", "/system/users/zapi", `{"kee":"x"}`).refused(t, 400, "kee")
	a.old("POST", "/system/users/zapi", `{`).refused(t, 400)
	a.old("POST", "/system/users/root", `{"password":"wrong","newpassword":"a new passw0rd"}`).refused(t, 400)
	if r := a.old("POST", "/system/users/root", `{"password":"`+rootPassword+`","newpassword":"a new passw0rd"}`); r.status != 200 || a.system.password != "a new passw0rd" {
		t.Errorf("%d %s", r.status, r.raw)
	}
	a.people()
	for method, path := range map[string]string{"GET": "/system/users/zapi", "POST": "/system/users/zapi"} {
		a.send(method, third+path, `{"status":"disable"}`, "ZAPI_KEY", annsKey).refused(t, 403)
	}
}

// What our answers have beside the family's may be sent back by who does not know it.
func TestClientsOfTheFamilyMaySendBackWhatIsOurs(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.dns(1)
	const ours = `"configured":"up","maintenance":"none","actual":"up","problem":"it is slow"`
	for _, base := range []string{api.FamilyBase, third, "/api/v4.0/api.cgi"} {
		for path, field := range map[string]string{"/farms/shop": `"contimeout":9`, "/farms/dns": `"algorithm":"roundrobin"`, web: `"urlp":"^/z"`, web + "/backends/0": `"weight":2`, "/farms/dns/backends/0": `"weight":2`} {
			if r := a.send("PUT", base+path, `{`+ours+`,`+field+`}`, "ZAPI_KEY", a.key); r.status != 200 {
				t.Errorf("%s%s: %d %s", base, path, r.status, r.raw)
			}
		}
	}
	a.must(400, "PUT", "/farms/shop", `{`+ours+`,"contimeout":9}`)
	a.send("PUT", api.FamilyBase+"/farms/shop/actions", `{`+ours+`,"action":"stop"}`, "ZAPI_KEY", a.key).refused(t, 400)
}
