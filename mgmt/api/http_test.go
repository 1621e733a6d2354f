package api_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/api/system"
	"github.com/sluicelb/sluice/mgmt/store"
)

func wantHeaders(t *testing.T, where string, h http.Header) {
	t.Helper()
	for name, want := range map[string]string{
		"Pragma": "no-cache", "Expires": "-1", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
		"Access-Control-Allow-Credentials": "true", "Strict-Transport-Security": "max-age=31536000",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s: %s is %q, want %q", where, name, got, want)
		}
	}
	if got := h.Get("Cache-Control"); !strings.Contains(got, "no-cache") {
		t.Errorf("%s: Cache-Control %q", where, got)
	}
	if got := h.Get("Content-Security-Policy"); !strings.Contains(got, "frame-ancestors 'none'") {
		t.Errorf("%s: Content-Security-Policy %q", where, got)
	}
}

func TestEveryAnswerForbidsCachingAndFraming(t *testing.T) {
	a := newAppliance(t)
	for where, r := range map[string]reply{
		"200":     a.do("GET", "/farms", ""),
		"400":     a.do("POST", "/farms", "{"),
		"401":     a.send("GET", api.Base+"/farms", ""),
		"404":     a.do("GET", "/nowhere", ""),
		"405":     a.do("PATCH", "/farms", ""),
		"OPTIONS": a.send("OPTIONS", "/anything", ""),
	} {
		wantHeaders(t, where, r.header)
	}
	if got := a.do("GET", "/farms", "").header.Get("Access-Control-Allow-Origin"); got != "*" {
		t.Errorf("with a key: allowed origin %q, want *", got)
	}
	r := a.send("GET", api.Base+"/farms", "", "Origin", "https://evil.example")
	if got := r.header.Get("Access-Control-Allow-Origin"); got != "https://lb.example:444" {
		t.Errorf("without a key: allowed origin %q, want our own", got)
	}
}

func TestOptionsAnswersEveryPathWithoutAKey(t *testing.T) {
	a := newAppliance(t)
	r := a.send("OPTIONS", "/zapi/v4.0/zapi.cgi/farms/x", "")
	if r.status != 200 || r.raw != "" {
		t.Errorf("status %d, body %q", r.status, r.raw)
	}
	for name, want := range map[string]string{
		"Access-Control-Allow-Methods":  "GET, POST, PUT, DELETE, OPTIONS",
		"Access-Control-Allow-Headers":  "ZAPI_KEY, Authorization, Set-cookie, Content-Type, X-Requested-With",
		"Access-Control-Expose-Headers": "Set-Cookie, Content-Disposition",
	} {
		if got := r.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestBothBasesAreTheSameAPI(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	for _, path := range []string{"/farms", "/farms/shop", "/stats/farms", "/farms/modules/summary", "/openapi.json"} {
		ours := a.do("GET", path, "")
		theirs := a.send("GET", api.FamilyBase+path, "", "ZAPI-KEY", a.key)
		if path == "/openapi.json" {
			theirs.raw = strings.ReplaceAll(theirs.raw, api.FamilyBase, api.Base)
		}
		if ours.status != 200 || ours.status != theirs.status || ours.raw != theirs.raw {
			t.Errorf("%s: %d and %d differ\n%s\n%s", path, ours.status, theirs.status, ours.raw, theirs.raw)
		}
	}
}

func TestHeadIsGetWithoutABody(t *testing.T) {
	a := newAppliance(t)
	srv := httptest.NewServer(a.server.Handler())
	defer srv.Close()
	r, _ := http.NewRequest(http.MethodHead, srv.URL+api.Base+"/farms", nil)
	r.Header.Set("ZAPI_KEY", a.key)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 200 || len(body) != 0 || resp.Header.Get("ETag") == "" {
		t.Errorf("status %d, %d bytes, ETag %q", resp.StatusCode, len(body), resp.Header.Get("ETag"))
	}
}

func TestAnswersArePrettyWithSortedKeysAndEscaped(t *testing.T) {
	a := newAppliance(t)
	a.shop(0)
	a.must(200, "PUT", "/farms/shop", `{"error503":"<script>alert(1)</script>"}`)
	raw := a.must(200, "GET", "/farms/shop/status", "").raw
	if want := "{\n  \"description\": \"Get the status of farm shop\",\n  \"params\": {\n    \"actual\": \"up\",\n    \"configured\": \"up\",\n    \"maintenance\": \"none\",\n    \"problem\": \"it has no backends\",\n    \"status\": \"critical\"\n  }\n}\n"; raw != want {
		t.Errorf("got\n%s\nwant\n%s", raw, want)
	}
	if raw := a.must(200, "GET", "/farms/shop", "").raw; strings.Contains(raw, "<script>") {
		t.Errorf("a text field is returned as HTML:\n%s", raw)
	}
}

func TestNobodyComesInWithoutAKey(t *testing.T) {
	a := newAppliance(t)
	for name, headers := range map[string][]string{
		"nothing":   {},
		"wrong key": {"ZAPI_KEY", "wrong"},
		"method":    {"X-HTTP-Method-Override", "GET"},
		"forwarded": {"X-Forwarded-For", "127.0.0.1", "Connection", "ZAPI_KEY"},
	} {
		r := a.send("GET", api.Base+"/farms", "", headers...)
		r.refused(t, 401, "Authorization required")
		if strings.Contains(r.raw, "wrong") {
			t.Errorf("%s: the answer tells why\n%s", name, r.raw)
		}
	}
	a.send("GET", api.Base+"/nowhere", "").refused(t, 401) // unauthenticated callers do not learn which paths exist
}

// Wrong keys slow down only further wrong keys. Programs behind the same address are not
// affected.
func TestTooManyWrongKeysAreAnswered429(t *testing.T) {
	a := newAppliance(t)
	a.people()
	if r := a.as("GET", "/system/users", ""); r.status != 200 {
		t.Fatal(r.raw)
	}
	for range 10 {
		a.send("GET", api.Base+"/farms", "", "ZAPI_KEY", "wrong").refused(t, 401)
	}
	r := a.send("GET", api.Base+"/farms", "", "ZAPI_KEY", "wrong")
	r.refused(t, 429, "wait")
	if r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	a.must(200, "GET", "/farms", "")
	if r := a.as("GET", "/system/users", ""); r.status != 200 {
		t.Errorf("the key of a user: %d %s", r.status, r.raw)
	}
}

// The rejection of a key that is already in use would reveal it.
func TestKeysOfOthersCannotBeGuessedByChoosingThem(t *testing.T) {
	a := newAppliance(t)
	a.people()
	a.must(200, "POST", "/system/users", `{"zapikey":"RootsKey0123456789"}`)
	for _, dry := range []string{"?dry_run=true", ""} {
		for range 5 { // a dry run gives the same response
			a.as("POST", "/system/users"+dry, `{"zapikey":"RootsKey0123456789"}`).refused(t, 400, "choose another one")
		}
	}
	a.as("POST", "/system/users", `{"zapikey":"RootsKey0123456789"}`).refused(t, 429, "wait")
	a.as("POST", "/system/users", `{"zapikey":"AnotherKey0123456789"}`).refused(t, 429, "wait")
	if r := a.as("GET", "/system/users", ""); r.status != 200 {
		t.Errorf("the user is locked out: %s", r.raw)
	}
	for i := range 20 {
		a.must(200, "PUT", "/rbac/users/ann", fmt.Sprintf(`{"zapikey":"ManyKeys%03d"}`, i)) // root may set the keys of many users
	}
}

func TestDeletedKeyIsRefusedFromTheNextRequestOn(t *testing.T) {
	a := newAppliance(t)
	r := a.must(201, "POST", "/keys", `{"comment":"ci"}`)
	key, id := r.at("params.key").(string), r.at("params.id").(float64)
	if len(key) != store.KeyLength {
		t.Errorf("key %q", key)
	}
	if r := a.send("GET", api.Base+"/keys", "", "ZAPI_KEY", key); r.status != 200 || strings.Contains(r.raw, key) || !strings.Contains(r.raw, "ci") {
		t.Errorf("list: %d\n%s", r.status, r.raw)
	}
	a.must(200, "DELETE", "/keys/"+quoteAny(id), "")
	a.send("GET", api.Base+"/farms", "", "ZAPI_KEY", key).refused(t, 401)
	a.do("DELETE", "/keys/"+quoteAny(id), "").refused(t, 404)
	a.do("DELETE", "/keys/x", "").refused(t, 404)
	a.must(201, "POST", "/keys", "")
	a.do("POST", "/keys", `{"comment":7}`).refused(t, 400, "comment")
	a.do("POST", "/keys", `{"name":"x"}`).refused(t, 400, "name", "comment")
}

func TestOddPathsAreRefused(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	for _, path := range []string{
		"/nowhere", "/farms/", "/farms//shop", "/farms/../keys", "/farms/./shop", "/farms/shop/", "/farms/sh%6fp",
		"/farms/shop%2f..%2fshop", "/farms/shop;x=1", "/farms/shop%00", "/farmsx", "/FARMS", "/farms[0]", "/farms/shop/services/web/backends/0x0/maintenance",
	} {
		method := "GET"
		if strings.HasSuffix(path, "maintenance") {
			method = "PUT"
		}
		r := a.do(method, path, `{"action":"up"}`)
		r.refused(t, 404)
	}
	a.do("GET", "/nowhere", "").refused(t, 404, "/nowhere")
	for _, path := range []string{"/", "/api", "/api/v4.0", "/zapi/v4.0/zapi.cgi", "/zapi/v4.0/zapi.cgix/farms", "/api/v4.0x/farms"} {
		a.send("GET", path, "", "ZAPI_KEY", a.key).refused(t, 404)
	}
}

func TestWrongVerbNamesTheRightOnes(t *testing.T) {
	a := newAppliance(t)
	r := a.do("PATCH", "/farms", `{}`)
	r.refused(t, 405, "GET", "POST")
	if allow := r.header.Get("Allow"); !strings.Contains(allow, "GET") || !strings.Contains(allow, "POST") {
		t.Errorf("Allow %q", allow)
	}
}

func TestMethodOverrideIsIgnored(t *testing.T) {
	a := newAppliance(t)
	a.shop(0)
	for _, header := range []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"} {
		a.must(200, "GET", "/farms/shop?", "", header, "DELETE")
	}
	a.do("GET", "/farms/shop?_method=DELETE", "").refused(t, 400, "_method")
	a.must(200, "GET", "/farms/shop", "")
}

func TestContentTypes(t *testing.T) {
	a := newAppliance(t)
	a.shop(0)
	for kind, status := range map[string]int{
		"":                                  200,
		"application/json":                  200,
		"application/json; charset=utf-8":   200,
		"text/plain":                        200,
		"application/json; charset=utf-16":  415,
		"application/x-www-form-urlencoded": 415,
		"multipart/form-data; boundary=x":   415,
		"text/html":                         415,
		"application/yaml":                  415,
		"/":                                 415,
	} {
		headers := []string{"Content-Type", kind}
		if kind == "" {
			headers = nil
		}
		if r := a.do("PUT", "/farms/shop", `{"contimeout":5}`, headers...); r.status != status {
			t.Errorf("%q: status %d, want %d\n%s", kind, r.status, status, r.raw)
		}
	}
	a.do("PUT", "/farms/shop", `{"contimeout":5}`, "Content-Encoding", "gzip").refused(t, 415, "gzip")
}

// Windows editors put a byte order mark before a text, and clients send files unchanged.
func TestAMarkBeforeABodyStandsForNothing(t *testing.T) {
	const mark = "\ufeff"
	a := newAppliance(t)
	a.shop(0)
	a.must(200, "PUT", "/farms/shop", mark+`{"contimeout":7}`).want(t, "params.contimeout", 7)
	a.must(200, "PUT", "/config", mark+`{"farms":[]}`, "Content-Type", "application/json")
	a.must(200, "PUT", "/config", mark+"farms: []\n", "Content-Type", "application/yaml")
	a.do("POST", "/farms", mark+mark+"{}").refused(t, 400, "broken JSON")
	a.must(400, "POST", "/farms", mark).want(t, "message", "No parameter has been sent. Please, try with:")
}

func TestBodiesAreBounded(t *testing.T) {
	a := newAppliance(t)
	a.shop(0)
	big := `{"error503":"` + strings.Repeat("a", 1<<20) + `"}`
	a.do("PUT", "/farms/shop", big).refused(t, 413, "1048576")
	deep := strings.Repeat(`{"a":`, 10000) + "1" + strings.Repeat("}", 10000)
	a.do("PUT", "/farms/shop", deep).refused(t, 400)
	many := "{"
	for i := range 10000 {
		many += `"` + quoteAny(i) + `":1,`
	}
	a.do("PUT", "/farms/shop", many+`"x":1}`).refused(t, 400, "fields")
}

func TestEmptyObjectIsAnsweredWithHelp(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	for _, c := range [][2]string{
		{"POST", "/farms"}, {"PUT", "/farms/shop"}, {"PUT", "/farms/shop/actions"}, {"POST", "/farms/shop/services"},
		{"PUT", web}, {"POST", web + "/actions"}, {"POST", web + "/backends"}, {"PUT", web + "/backends/0"},
		{"PUT", web + "/backends/0/maintenance"}, {"POST", "/history/rollback"},
	} {
		for _, body := range []string{"{}", "", " "} {
			r := a.do(c[0], c[1], body)
			message, _ := r.body["message"].(string)
			if r.status != 400 || !strings.HasPrefix(message, "No parameter has been sent") || r.body["error"] != nil || r.at("params.0.name") == nil {
				t.Errorf("%s %s %q: %d\n%s", c[0], c[1], body, r.status, r.raw)
			}
		}
	}
	r := a.do("POST", "/farms", "{}")
	r.want(t, "params.0.name", "farmname")
	r.want(t, "params.3.interval", "1,65535")
}

func TestQueryParametersAreChecked(t *testing.T) {
	a := newAppliance(t)
	a.do("GET", "/farms?x=1", "").refused(t, 400, "query parameter x is unknown: allowed are name,")
	a.do("GET", "/farms?profil=1", "").refused(t, 400, `(did you mean "profile"?): allowed are name,`)
	a.do("GET", "/farms?bind=1", "").refused(t, 400, `(did you mean "vip" or "vport"?): allowed are name,`)
	a.do("GET", "/stats/farms?status=odd", "").refused(t, 400, "status", "critical")
	a.do("GET", "/stats/farms?status=up&status=down", "").refused(t, 400, "status", "twice")
	a.do("GET", "/history?limit=0", "").refused(t, 400, "limit", "1 to 1000")
	a.do("GET", "/history?limit=%zz", "").refused(t, 400, "query")
	a.do("PUT", "/config?dry_run=yes", "farms: []").refused(t, 400, "dry_run", "true")
}

func TestPagesOfOtherSitesCannotChangeAnything(t *testing.T) {
	a := newAppliance(t)
	a.shop(0)
	for name, c := range map[string]struct {
		method  string
		headers []string
		status  int
	}{
		"other origin":         {"POST", []string{"Origin", "https://evil.example"}, 403},
		"null origin":          {"POST", []string{"Origin", "null"}, 403},
		"cross-site":           {"PUT", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		"same site":            {"DELETE", []string{"Sec-Fetch-Site", "same-site"}, 403},
		"rebound name, get":    {"GET", []string{"Sec-Fetch-Site", "same-origin"}, 403},
		"rebound name, origin": {"POST", []string{"Origin", "https://lb.example:444"}, 403},
		"no browser":           {"GET", nil, 200},
	} {
		r := a.do(c.method, "/farms", `{"farmname":"evil","profile":"http","vip":"192.0.2.10","vport":81}`, c.headers...) // lb.example is not a name of the appliance
		if r.status != c.status {
			t.Errorf("%s: %d, want %d\n%s", name, r.status, c.status, r.raw)
		}
	}
	if len(a.config().Farms) != 1 {
		t.Error("a page of another site created a farm")
	}
	a.must(200, "PUT", "/system/global", `{"api_names":["lb.example"]}`)
	a.must(200, "GET", "/farms", "", "Sec-Fetch-Site", "same-origin")
	a.must(400, "POST", "/farms", "{}", "Origin", "https://lb.example:444", "Sec-Fetch-Site", "same-origin")
}

func TestAPanicIsAnsweredWithoutDetails(t *testing.T) {
	a := newAppliance(t, func(d *apitest.Parts) { d.System.Roles = func() []system.Role { panic("secret detail") } })
	r := a.do("GET", "/status", "")
	r.refused(t, 500, "internal fault")
	if strings.Contains(r.raw, "secret") || strings.Contains(r.raw, ".go") {
		t.Errorf("the answer shows internals:\n%s", r.raw)
	}
}
