package api_test

import (
	"crypto/x509"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
)

// fetch simulates a browser's cross-origin request (Fetch standard, CORS). It sends a
// preflight if needed, sends the request only if allowed, and reports whether the page may
// read the response.
func fetch(a *appliance, method, host, path, body string, headers ...string) (sent, readable bool, status int) {
	const page = "https://portal.example"
	allowed := func(h map[string][]string) bool {
		origin := strings.Join(h["Access-Control-Allow-Origin"], ",")
		return origin == "*" || origin == page
	}
	var asked []string
	for i := 0; i < len(headers); i += 2 {
		if simple := strings.EqualFold(headers[i], "Content-Type") && headers[i+1] == "text/plain"; !simple {
			asked = append(asked, strings.ToLower(headers[i]))
		}
	}
	slices.Sort(asked)
	ask := func(method string, with ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "https://"+host+api.Base+path, strings.NewReader(body))
		r.RemoteAddr = "198.51.100.7:4000"
		for i := 0; i < len(with); i += 2 {
			r.Header.Set(with[i], with[i+1])
		}
		w := httptest.NewRecorder()
		a.server.Handler().ServeHTTP(w, r)
		return w
	}
	if len(asked) > 0 || method != "GET" && method != "POST" {
		w := ask("OPTIONS", "Origin", page, "Sec-Fetch-Site", "cross-site", "Access-Control-Request-Method", method, "Access-Control-Request-Headers", strings.Join(asked, ","))
		names := strings.ToLower(w.Header().Get("Access-Control-Allow-Headers"))
		if w.Code != 200 || !allowed(w.Header()) || !strings.Contains(w.Header().Get("Access-Control-Allow-Methods"), method) ||
			slices.ContainsFunc(asked, func(name string) bool { return !strings.Contains(names, name) }) {
			return false, false, 0
		}
	}
	w := ask(method, append(headers, "Origin", page, "Sec-Fetch-Site", "cross-site")...)
	return true, allowed(w.Header()), w.Code
}

func TestAPageOfAnotherOriginMayDoWithAKeyWhatThePreflightAllows(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.must(200, "PUT", "/system/global", `{"api_names":["lb.example"]}`)
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/farms", "", 200}, {"POST", "/farms", `{"farmname":"b","profile":"http","vip":"192.0.2.10","vport":81}`, 201},
		{"PUT", "/farms/b", `{"contimeout":5}`, 200}, {"DELETE", "/farms/b", "", 200},
	} {
		sent, readable, status := fetch(a, c.method, "lb.example:444", c.path, c.body, "ZAPI_KEY", a.key, "Content-Type", "application/json")
		if !sent || !readable || status != c.status {
			t.Errorf("%s %s with the key: sent %v, readable %v, status %d", c.method, c.path, sent, readable, status)
		}
		if _, readable, status := fetch(a, c.method, "lb.example:444", c.path, c.body, "ZAPI_KEY", "wrong"); status != 401 || !readable {
			t.Errorf("%s %s with a wrong key: readable %v, status %d", c.method, c.path, readable, status)
		}
	}
}

// Without a key, a browser could add its own credential, e.g. a session cookie. Foreign
// pages are blocked in that case.
func TestAPageOfAnotherOriginMayDoNothingWithoutAKey(t *testing.T) {
	a := newAppliance(t)
	a.must(200, "PUT", "/system/global", `{"api_names":["lb.example"]}`)
	const body = `{"farmname":"b","profile":"http","vip":"192.0.2.10","vport":81}`
	for _, c := range []struct {
		method  string
		headers []string
		sent    bool // browsers always send requests that need no preflight
	}{
		{"GET", nil, true}, {"POST", nil, true}, {"POST", []string{"Content-Type", "text/plain"}, true},
		{"POST", []string{"Content-Type", "application/json"}, false}, {"PUT", nil, false}, {"DELETE", nil, false},
		{"POST", []string{"Authorization", "Basic cm9vdDpyb290"}, false},
	} {
		sent, readable, status := fetch(a, c.method, "lb.example:444", "/farms", body, c.headers...)
		if want := map[bool]int{true: 403}[sent]; sent != c.sent || readable || c.method != "GET" && status != want {
			t.Errorf("%s %v: sent %v, readable %v, status %d", c.method, c.headers, sent, readable, status)
		}
	}
}

func TestBrowsersReachTheAPIByItsNamesOnly(t *testing.T) {
	leaf := root(t).Issue("one.example", func(c *x509.Certificate) { c.DNSNames = append(c.DNSNames, "*.wild.example") })
	a := newAppliance(t, func(d *apitest.Parts) { d.Host.Certificate = leaf.Cert })
	reach := func(host string) bool {
		sent, readable, status := fetch(a, "GET", host, "/farms", "", "ZAPI_KEY", a.key)
		r := httptest.NewRequest("GET", "https://"+host+api.Base+"/farms", nil)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("ZAPI_KEY", a.key)
		w := httptest.NewRecorder()
		a.server.Handler().ServeHTTP(w, r)
		if same := w.Code == 200; same != sent || sent && (!readable || status != 200) || !same && w.Code != 403 {
			t.Errorf("%s: same origin %d, others sent %v, readable %v, %d", host, w.Code, sent, readable, status)
		}
		return w.Code == 200
	}
	a.must(200, "POST", "/system/global", `{"api_names":["LB.example.","shop"]}`).want(t, "params.api_names.0", "lb.example")
	for host, want := range map[string]bool{
		"192.0.2.10": true, "[2001:db8::1]:444": true, "localhost:444": true, "a.localhost": true,
		"lb7": true, "LB7.example.net:444": true, "lb7.example.net.": true, // of the host
		"one.example": true, "x.wild.example": true, "x.y.wild.example": false, "wild.example": false, // of the certificate
		"lb.example": true, "shop": true, // configured
		"lb7.example": false, "example.net": false, "evil.example": false, "lb.example.evil.example": false,
	} {
		if got := reach(host); got != want {
			t.Errorf("%s: %v, want %v", host, got, want)
		}
	}
	a.do("GET", "/farms", "", "Sec-Fetch-Site", "same-origin") // lb.example
	r := a.do("GET", "/farms", "", "Sec-Fetch-Site", "same-origin")
	if r.status != 200 {
		t.Errorf("status %d", r.status)
	}
	a.must(200, "PUT", "/system/global", `{"api_names":null}`)
	a.do("GET", "/farms", "", "Sec-Fetch-Site", "same-origin").refused(t, 403, "lb.example", "api_names")
	if names, _ := a.must(200, "GET", "/system/global", "").at("params.api_names").([]any); names == nil || len(names) != 0 {
		t.Errorf("the names are %v", names)
	}
}

func TestNamesOfTheAPIAreHostNames(t *testing.T) {
	a := newAppliance(t)
	for body, says := range map[string]string{
		`{"api_names":["a b"]}`: "no host name", `{"api_names":["lb:444"]}`: "without a port", `{"api_names":["*.example.com"]}`: "no host name",
		`{"api_names":[""]}`: "no host name", `{"api_names":[7]}`: "list of texts", `{"names":["a"]}`: "api_names",
		`{"api_names":"a` + strings.Repeat(",a", 32) + `"}`: "at most 32", `{"api_names":"a,,b"}`: "no host name",
		`{"api_names":["a` + strings.Repeat(`","a`, 32) + `"]}`: "at most 32",
	} {
		a.do("PUT", "/system/global", body).refused(t, 400, says)
	}
	a.must(200, "PUT", "/system/global", `{"api_names":"one.example"}`).want(t, "params.api_names.0", "one.example")
	a.must(200, "PUT", "/system/global", `{"api_names":"b.example, c.example"}`).want(t, "params.api_names.1", "c.example")
	a.must(200, "PUT", "/system/global", `{"api_names":["d.example,e.example"]}`).want(t, "params.api_names.1", "e.example")
	a.must(200, "PUT", "/system/global", `{"api_names":""}`)
	if strings.Contains(a.must(200, "GET", "/system/global", "").raw, "one.example") {
		t.Error("an empty text keeps the names")
	}
}
