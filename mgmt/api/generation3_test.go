package api_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/probe/all"
)

const third = "/zapi/v3.1/zapi.cgi"

// old sends a request to generation 3.1.
func (a *appliance) old(method, path, body string) reply {
	a.t.Helper()
	return a.send(method, third+path, body, "ZAPI_KEY", a.key)
}

// Before 3.2, health checks were fields. These are their values without a check.
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
			t.Errorf("%s: no Deprecation header", path)
		}
		if etag := r.header.Get("ETag"); !strings.HasPrefix(etag, fmt.Sprintf(`"%d.`, a.revision())) {
			t.Errorf("%s: revision %s", path, etag)
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

// Commands are validated as with the real probes.
func init() { all.Use() }

// tcp is a valid check command.
const tcp = "check_tcp -H HOST -p PORT"

// guards changes a health check with generation 3.1 and verifies the response.
func (a *appliance) guards(t *testing.T, path, body string, fields ...any) reply {
	t.Helper()
	r := a.old("PUT", path, body)
	if r.status != 200 {
		t.Fatalf("%s %s: %d %s", path, body, r.status, r.raw)
	}
	for i := 0; i < len(fields); i += 2 {
		r.want(t, "params."+fields[i].(string), fields[i+1])
	}
	return r
}

func (a *appliance) revision() uint64 {
	_, revision := a.applier.Current()
	return revision.Number
}

func TestHealthChecksOfGeneration3AreKept(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.dns(1)
	a.guards(t, "/farms/dns/fg", `{"fgenabled":"false","fgtimecheck":5,"fglog":"false"}`, "fgenabled", "false") // unchanged
	if checks := a.config().Checks; len(checks) != 0 {
		t.Errorf("checks were created for nothing: %v", checks)
	}
	before := a.revision()
	a.guards(t, "/farms/shop/fg", `{"service":"web","fgenabled":"true","fgscript":"`+tcp+`","fglog":"true"}`,
		"fgenabled", "true", "fgscript", tcp, "fgtimecheck", 5, "fglog", "true")
	if now := a.revision(); now != before+1 {
		t.Errorf("%d revisions", now-before)
	}
	a.old("GET", web, "").want(t, "params.fgscript", tcp)
	a.old("GET", "/farms/shop", "").want(t, "services.0.fgenabled", "true")
	a.must(200, "GET", fg+"/shop_web_fg", "").want(t, "params.farms.0", "shop_web")
	// A single field leaves the others unchanged, also in a farm with its own backends.
	a.guards(t, "/farms/shop/fg", `{"service":"web","fgtimecheck":"7","fgscript":"`+tcp+` -t 2"}`, "fgenabled", "true", "fgtimecheck", 7, "fglog", "true")
	a.guards(t, "/farms/dns/fg", `{"fgtimecheck":9.0}`, "fgenabled", "false", "fgtimecheck", 9, "fgscript", "")
	a.old("PUT", "/farms/dns/fg", `{"fgenabled":"true"}`).refused(t, 400, "needs fgscript")
	a.guards(t, "/farms/dns/fg", `{"fgscript":"`+tcp+`"}`, "fgenabled", "false")
	a.guards(t, "/farms/dns/fg", `{"fgenabled":"true"}`, "fgenabled", "true", "fgtimecheck", 9, "fgscript", tcp)
	a.old("GET", "/farms/dns", "").want(t, "params.fgtimecheck", 9)
	// Disabling and re-enabling restores the check.
	a.guards(t, "/farms/dns/fg", `{"fgenabled":"false"}`, "fgenabled", "false", "fgscript", tcp)
	if check := a.config().Farm("dns").L4.Check; check != "" {
		t.Errorf("%s is linked still", check)
	}
	a.guards(t, "/farms/dns/fg", `{"fgenabled":"true"}`, "fgenabled", "true", "fgtimecheck", 9)
}

// A check that others use, or that these fields did not create, stays unchanged.
func TestHealthChecksOfGeneration3AreTheirOwn(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.dns(1)
	a.must(200, "POST", fg, `{"name":"alive","command":"`+tcp+`","interval":20,"timeout":3}`)
	a.must(200, "POST", web+"/fg", `{"name":"alive"}`)
	a.must(200, "POST", "/farms/dns/fg", `{"name":"alive"}`)
	linked := func(check, dns string) {
		t.Helper()
		if f := a.config().Farm("dns"); f.L4.Check != dns || a.config().Farm("shop").HTTP.Services[0].Check != check {
			t.Errorf("%q and %q are linked", a.config().Farm("shop").HTTP.Services[0].Check, f.L4.Check)
		}
	}
	a.old("GET", web, "").want(t, "params.fgtimecheck", 20)
	a.guards(t, "/farms/shop/fg", `{"service":"web","fgenabled":"true","fgscript":"`+tcp+`","fgtimecheck":20.0}`, "fgenabled", "true") // as read
	linked("alive", "alive")
	a.guards(t, "/farms/shop/fg", `{"service":"web","fgscript":"check_tcp -H HOST -p 81"}`, "fgenabled", "true", "fgtimecheck", 20)
	linked("shop_web_fg", "alive")
	a.must(200, "GET", fg+"/alive", "").want(t, "params.command", tcp)
	a.must(200, "GET", fg+"/shop_web_fg", "").want(t, "params.timeout", 3)
	// A check linked meanwhile takes precedence over the stored one.
	a.must(200, "PUT", web, `{"farmguardian":"alive"}`)
	a.guards(t, "/farms/shop/fg", `{"service":"web","fglog":"true"}`, "fgscript", tcp, "fglog", "true")
	linked("shop_web_fg", "alive")
	a.guards(t, "/farms/dns/fg", `{"fgenabled":"false"}`, "fgenabled", "false", "fgscript", "", "fgtimecheck", 5)
	linked("shop_web_fg", "")
	a.old("PUT", "/farms/dns/fg", `{"fgenabled":"true"}`).refused(t, 400, "needs fgscript")
	// Another group uses it, too.
	a.must(200, "POST", "/farms/dns/fg", `{"name":"shop_web_fg"}`)
	a.guards(t, "/farms/shop/fg", `{"service":"web","fgtimecheck":4}`, "fgtimecheck", 4)
	linked("shop_web_fg2", "shop_web_fg")
	a.old("GET", "/farms/dns", "").want(t, "params.fgtimecheck", 20)
}

// A farm's stored check belongs to that farm alone: it is renamed and deleted with it.
func TestHealthChecksOfGeneration3GoWithTheirFarm(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.dns(1)
	names := func() (out string) {
		for _, c := range a.config().Checks {
			out += c.Name + " "
		}
		return out
	}
	wantNames := func(want string) {
		t.Helper()
		if got := names(); got != want {
			t.Errorf("there are %q, wanted %q", got, want)
		}
	}
	a.guards(t, "/farms/shop/fg", `{"service":"web","fgenabled":"true","fgscript":"`+tcp+`"}`, "fgenabled", "true")
	a.guards(t, "/farms/dns/fg", `{"fgscript":"`+tcp+`","fgtimecheck":7}`, "fgenabled", "false") // stored, but not linked
	wantNames("shop_web_fg dns_fg ")
	a.must(200, "PUT", "/farms/shop", `{"newfarmname":"store"}`)
	a.must(200, "PUT", "/farms/dns", `{"newfarmname":"names"}`)
	wantNames("store_web_fg names_fg ")
	if got := a.config().Farm("store").HTTP.Services[0].Check; got != "store_web_fg" {
		t.Errorf("%s is linked", got)
	}
	a.old("GET", "/farms/names", "").want(t, "params.fgtimecheck", 7)
	// A check that another group uses stays, and so does one with a description.
	a.must(200, "POST", "/farms/names/fg", `{"name":"store_web_fg"}`)
	a.must(200, "DELETE", "/farms/store/services/web", "")
	wantNames("store_web_fg names_fg ")
	a.must(200, "PUT", "/farms/names", `{"farmguardian":"names_fg"}`)
	a.must(200, "DELETE", "/farms/names", "")
	wantNames("")
	a.dns(1)
	a.old("GET", "/farms/dns", "").want(t, "params.fgscript", "")
	a.guards(t, "/farms/dns/fg", `{"fgscript":"`+tcp+`"}`)
	a.must(200, "PUT", fg+"/dns_fg", `{"description":"mine"}`)
	a.must(200, "DELETE", "/farms/dns", "")
	wantNames("dns_fg ")
}

func TestHealthChecksOfGeneration3HaveNamesOfTheirOwn(t *testing.T) {
	a := newAppliance(t)
	long := strings.Repeat("x", 60)
	a.must(201, "POST", "/farms", `{"farmname":"a-`+long+`","profile":"http","vip":"192.0.2.10","vport":80}`)
	for _, service := range []string{long + "b", long + "c"} {
		a.must(201, "POST", "/farms/a-"+long+"/services", `{"id":"`+service+`"}`)
		a.guards(t, "/farms/a-"+long+"/fg", `{"service":"`+service+`","fgscript":"`+tcp+`"}`, "fgenabled", "false") // unused
	}
	checks := a.config().Checks
	if len(checks) != 2 || checks[0].Name == checks[1].Name || len(checks[0].Name) != 64 {
		t.Errorf("%v", checks)
	}
}

func TestHealthChecksOfGeneration3AreTriedAndExpected(t *testing.T) {
	a := newAppliance(t)
	a.dns(1)
	const on = `{"fgenabled":"true","fgscript":"` + tcp + `"}`
	before := a.written()
	r := a.send("PUT", third+"/farms/dns/fg?dry_run=true", on, "ZAPI_KEY", a.key)
	r.want(t, "params.dry_run", "true")
	if diff, _ := r.at("params.diff").(string); !strings.Contains(diff, "dns_fg") {
		t.Error(r.raw)
	}
	a.send("PUT", third+"/farms/dns/fg?dry_run=true", on, "ZAPI_KEY", a.key, "If-None-Match", "*").want(t, "params.dry_run", "true")
	a.send("PUT", third+"/farms/dns/fg?dry_run=maybe", on, "ZAPI_KEY", a.key).refused(t, 400, "dry_run")
	a.send("PUT", third+"/farms/dns/fg", on, "ZAPI_KEY", a.key, "If-Match", `"999"`).refused(t, 412, "changed by someone else")
	if a.written() != before {
		t.Error("something was changed")
	}
	etag := fmt.Sprintf("%q", fmt.Sprint(a.revision()))
	if r := a.send("PUT", third+"/farms/dns/fg", on, "ZAPI_KEY", a.key, "If-Match", etag); r.status != 200 || r.header.Get("ETag") != fmt.Sprintf("%q", fmt.Sprint(a.revision())) || r.header.Get("ETag") == etag {
		t.Errorf("%d, revision %s: %s", r.status, r.header.Get("ETag"), r.raw)
	}
}

// Two clients change two farms concurrently. Neither gets a conflict.
func TestHealthChecksOfGeneration3ChangeAtOnce(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.dns(1)
	var all sync.WaitGroup
	for path, body := range map[string]string{"/farms/dns/fg": `{`, "/farms/shop/fg": `{"service":"web",`} {
		all.Go(func() {
			if r := a.old("PUT", path, body+`"fgenabled":"true","fgscript":"`+tcp+`"}`); r.status != 200 {
				t.Errorf("%s: %d %s", path, r.status, r.raw)
			}
		})
	}
	all.Wait()
	if checks := a.config().Checks; len(checks) != 2 {
		t.Errorf("%v", checks)
	}
}

func TestWrongHealthChecksOfGeneration3ChangeNothing(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.dns(1)
	before := a.written()
	for _, c := range []struct {
		path, body string
		status     int
		says       string
	}{
		{"/farms/shop/fg", `{"service":"web","fgenabled":"false","fgtimecheck":7,"fgscript":"x","fglog":"true"}`, 400, `"fgscript cannot be run`},
		{"/farms/shop/fg", `{"service":"web","fgenabled":"true","fgscript":"check_tcp 'x"}`, 400, "a quote is not closed"},
		{"/farms/shop/fg", `{"service":"web","fgenabled":"true"}`, 400, "needs fgscript"},
		{"/farms/dns/fg", `{"fgtimecheck":999999999}`, 400, `"fgtimecheck must be`},
		{"/farms/none/fg", `{"fgenabled":"false"}`, 404, "not found"},
		{"/farms/shop/fg", `{"service":"none","fgenabled":"false"}`, 404, "not found"},
		{"/farms/shop/fg", `{"service":7,"fgenabled":"false"}`, 404, "not found"},
		{"/farms/shop/fg", `{"fgenabled":"false"}`, 404, "not found"},
		{"/farms/dns/fg", `{"service":"web","fgenabled":"false"}`, 400, "l4xnat"},
		{"/farms/dns/fg", `{"service":7,"fgenabled":"false"}`, 400, "l4xnat"},
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
		if r.status != c.status || !strings.Contains(r.raw, c.says) || r.body["write"] != nil || strings.Contains(r.raw, "writes[") {
			t.Errorf("%s %s: %d, want %d with %q: %s", c.path, c.body, r.status, c.status, c.says, r.raw)
		}
	}
	if a.written() != before {
		t.Error("something was changed")
	}
	for _, base := range []string{"/zapi/v3.2/zapi.cgi", api.FamilyBase, "/api/v4.0/api.cgi", api.Base} {
		a.send("PUT", base+"/farms/dns/fg", `{"fgenabled":"false"}`, "ZAPI_KEY", a.key).refused(t, 405)
	}
}

// The permissions of the underlying operations apply: linking needs another one than
// changing.
func TestHealthChecksOfGeneration3NeedTheRightsOfToday(t *testing.T) {
	a := newAppliance(t)
	a.dns(1)
	a.guards(t, "/farms/dns/fg", `{"fgscript":"check_mysql -H HOST -P PORT -u mon --password=hunter22"}`, "fgenabled", "false")
	a.people()
	ann := func(method, path, body string) reply { return a.send(method, third+path, body, "ZAPI_KEY", annsKey) }
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"dns"}`)
	ann("PUT", "/farms/dns/fg", `{"fgenabled":"false"}`).refused(t, 403, "farm.modify")
	a.must(200, "PUT", "/rbac/roles/ops", `{"farm":{"modify":"true"},"farmguardian":{"menu":"true","modify":"false"}}`)
	if r := ann("GET", "/farms/dns", ""); strings.Contains(r.raw, "hunter22") || !strings.Contains(r.raw, "***") {
		t.Error(r.raw)
	}
	read, _ := ann("GET", "/farms/dns", "").at("params.fgscript").(string)
	if r := ann("PUT", "/farms/dns/fg", `{"fgenabled":"true","fgscript":"`+read+`"}`); r.status != 200 {
		t.Errorf("writing back what was read is refused: %s", r.raw)
	}
	before := a.written()
	ann("PUT", "/farms/dns/fg", `{"fgenabled":"false","fgscript":"check_mysql -H HOST -P PORT -u mon --password=hunter22"}`).refused(t, 403, "farmguardian.modify")
	ann("PUT", "/farms/dns/fg", `{"fgenabled":"false","fgtimecheck":6}`).refused(t, 403, "farmguardian.modify")
	if a.written() != before {
		t.Error("something was changed")
	}
	a.must(200, "PUT", "/rbac/roles/ops", `{"farmguardian":{"menu":"false"}}`)
	r := ann("GET", "/farms/dns", "")
	r.want(t, "params.fgenabled", "true")
	r.want(t, "params.fgscript", "")
}

// Fields that generation 3 returned are dropped. Misspelt fields are rejected, and so are
// newer ones.
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
		{"/farms/shop", `{"status":"up"}`, 400}, // nothing is left, so the response lists the possible fields
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
	r.want(t, "params.backends.0.status", "up") // not probed yet
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

// Generation 3 had a separate user for keys, equivalent to root.
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

// Clients may send back fields that are not part of the family's API.
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
