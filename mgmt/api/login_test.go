package api_test

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/oidc"
	"github.com/sluicelb/sluice/mgmt/oidc/oidctest"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

func TestTheDirectoryIsSetAndItsPasswordNotShown(t *testing.T) {
	a := newAppliance(t)
	r := a.must(200, "GET", "/rbac/ldap", "")
	for path, want := range map[string]any{"params.host": "", "params.port": 389, "params.security": "starttls", "params.scope": "sub", "params.filter": "(uid=%s)", "params.timeout": 5, "params.version": 3, "params.bind_password": ""} {
		r.want(t, path, want)
	}
	a.must(200, "GET", "/rbac/services", "").want(t, "params.ldap", "false")
	a.do("POST", "/rbac/services", `{"ldap":"true"}`).refused(t, 400, "set /rbac/ldap first")
	const set = `{"host":"127.0.0.1","port":1,"base_dn":"dc=a","bind_dn":"cn=b,dc=a","bind_password":"s3cret-pass","timeout":1}`
	if r := a.do("POST", "/rbac/ldap?dry_run=true", set); r.status != 200 {
		t.Errorf("only tried: %d %s", r.status, r.raw)
	}
	a.must(200, "GET", "/rbac/ldap", "").want(t, "params.host", "")
	a.must(200, "POST", "/rbac/ldap", set).want(t, "params.bind_password", "***")
	a.must(200, "PUT", "/rbac/ldap", `{"filter":"(cn=%s)","bind_password":"***"}`).want(t, "params.filter", "(cn=%s)")
	a.must(200, "GET", "/rbac/ldap", "").want(t, "params.bind_password", "***")
	a.must(200, "PUT", "/rbac/ldap", `{"security":"ldaps","bind_password":"s3cret-pass"}`).want(t, "params.port", 636)
	if r := a.must(200, "PUT", "/rbac/ldap", `{"security":"none","port":1,"bind_password":"s3cret-pass"}`); !strings.Contains(r.raw, "as they are") {
		t.Errorf("no warning: %s", r.raw)
	}
	for body, says := range map[string]string{
		`{"host":"a b"}`: "host:", `{"version":2}`: "only 3 is spoken", `{"version":4}`: "version", `{"timeout":16}`: "timeout", `{"security":"ssl"}`: "security", `{"filter":"uid"}`: "filter:",
		`{"host":"other.example"}`: "must be sent again", `{"fly":1}`: "unknown field", `{"ca":"none"}`: "ca:",
	} {
		a.do("PUT", "/rbac/ldap", body).refused(t, 400, says)
	}
	a.do("POST", "/rbac/ldap/actions", `{"action":"test"}`).refused(t, 400, "connection refused")
	a.do("POST", "/rbac/ldap/actions", `{"action":"fly"}`).refused(t, 400, "action must be")
	a.must(200, "POST", "/rbac/services", `{"ldap":"true"}`).want(t, "params.ldap", "true")
	everything := a.log.String()
	for _, path := range []string{"/rbac/ldap", "/audit", "/config?format=json"} {
		everything += a.do("GET", path, "").raw
	}
	if strings.Contains(everything, "s3cret-pass") {
		t.Error("the password is shown")
	}
}

func TestUsersOfTheDirectoryLogInWhenItIsAsked(t *testing.T) {
	a := newAppliance(t)
	a.users.Directory = func(_ context.Context, user, password string) (bool, error) {
		return user == "bob" && password == "his own", nil
	}
	a.must(201, "POST", "/rbac/users", `{"name":"bob","service":"ldap"}`)
	a.must(200, "PUT", "/rbac/users/bob", `{"webgui_permissions":"true"}`)
	a.login("bob", "his own").refused(t, 401)
	a.must(200, "POST", "/rbac/ldap", `{"host":"ldap.example","base_dn":"dc=a"}`)
	a.must(200, "POST", "/rbac/services", `{"ldap":"true"}`)
	if r := a.login("bob", "his own"); r.status != 200 {
		t.Errorf("%d %s", r.status, r.raw)
	}
	for _, password := range []string{"", "wrong"} {
		a.login("bob", password).refused(t, 401)
	}
	a.login(`bob)(uid=*`, "his own").refused(t, 401)
	a.login("bob\x00", "his own").refused(t, 401)
}

// provided returns an appliance with an enabled provider.
func provided(t *testing.T, change ...func(*apitest.Parts)) (*appliance, *oidctest.Provider) {
	t.Helper()
	p := oidctest.New(t, clock)
	a := newAppliance(t, change...)
	a.people()
	a.must(200, "PUT", "/system/global", `{"api_names":["lb.example"]}`)
	a.must(201, "POST", "/certificates/ca/house", string(p.PEM()), "Content-Type", "application/x-pem-file")
	r := a.must(200, "POST", "/rbac/oidc", `{"enabled":"true","issuer":"`+p.Issuer()+`","client_id":"`+oidctest.ClientID+`","client_secret":"`+oidctest.ClientSecret+`","redirect":"https://lb.example:444/api/v4.0`+oidc.Callback+`",
		"ca":"house","group_claim":"groups","groups":["ops=team"]}`)
	if r.want(t, "params.client_secret", "***"); strings.Contains(r.raw, oidctest.ClientSecret) {
		t.Fatalf("the secret is shown: %s", r.raw)
	}
	return a, p
}

// through logs in through the provider.
func (a *appliance) through(p *oidctest.Provider, change ...func(url.Values)) reply {
	a.t.Helper()
	begun := a.send("GET", api.Base+"/session/oidc", "")
	binding, _, _ := strings.Cut(begun.header.Get("Set-Cookie"), ";")
	if begun.status != 303 || !strings.HasPrefix(binding, "SLUICE_OIDC=") || begun.header.Get("Location") != begun.at("location") {
		a.t.Fatalf("%d %v %s", begun.status, begun.header, begun.raw)
	}
	for _, attribute := range []string{"HttpOnly", "Secure", "SameSite=Lax", "Max-Age=600"} {
		if !strings.Contains(begun.header.Get("Set-Cookie"), attribute) {
			a.t.Errorf("the cookie has no %s: %s", attribute, begun.header.Get("Set-Cookie"))
		}
	}
	q := p.LogIn(a.t, begun.header.Get("Location"))
	q.Set("session_state", "of the provider")
	for _, f := range change {
		f(q)
	}
	// as a browser returning from another site
	return a.send("GET", api.Base+oidc.Callback+"?"+q.Encode(), "", "Cookie", binding, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate")
}

func TestPeopleLogInThroughAProvider(t *testing.T) {
	a, p := provided(t)
	p.Claims = map[string]any{"preferred_username": "zoe", "groups": []string{"ops"}, "auth_time": clock().Unix()}
	r := a.through(p)
	if r.status != 200 || r.body["user"] != "zoe" {
		t.Fatalf("%d %s", r.status, r.raw)
	}
	cookie := cookieOf(t, r)
	a.send("GET", api.Base+"/system/users", "", "Cookie", cookie).want(t, "params.service", "oidc")
	a.must(200, "GET", "/rbac/users/zoe", "").want(t, "params.group", "team")
	a.send("POST", api.Base+"/system/users", `{"newpassword":"secret-9","password":""}`, "Cookie", cookie).refused(t, 400, "password")
	if r := a.do("GET", "/audit", ""); !strings.Contains(r.raw, "/session/oidc/callback") || !strings.Contains(r.raw, `"user": "zoe"`) {
		t.Errorf("the audit log has no entry of zoe's login: %s", r.raw)
	}
	if a.log.Has(`msg="logged in" user=zoe`) == false {
		t.Errorf("the login was not logged:\n%s", a.log)
	}
}

// browser is the Accept header of a browser.
const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

func TestABrowserEndsOnAPageOfTheAppliance(t *testing.T) {
	a, p := provided(t)
	p.Claims = map[string]any{"preferred_username": "zoe", "groups": []string{"ops"}}
	in := func(to string) reply {
		t.Helper()
		begun := a.send("GET", api.Base+"/session/oidc"+to, "", "Accept", browser)
		binding, _, _ := strings.Cut(begun.header.Get("Set-Cookie"), ";")
		q := p.LogIn(t, begun.header.Get("Location"))
		return a.send("GET", api.Base+oidc.Callback+"?"+q.Encode(), "", "Cookie", binding, "Accept", browser, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate")
	}
	show := func(r reply, location string) string {
		t.Helper()
		if r.status != 303 || r.header.Get("Location") != location || cookieOf(t, r) == "" {
			t.Fatalf("%d to %q, want %q: %s", r.status, r.header.Get("Location"), location, r.raw)
		}
		// still coming from another site: without the cookie
		page := a.send("GET", location, "", "Accept", browser, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate")
		if page.status != 200 || page.header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(page.raw, "You are logged in.") {
			t.Fatalf("%d %v %s", page.status, page.header, page.raw)
		}
		return page.raw
	}
	done := api.Base + "/session/oidc/done"
	if page := show(in(""), done); strings.Contains(page, "refresh") || !strings.Contains(page, `href="`+api.Base+`/system/users"`) {
		t.Error(page)
	}
	if page := show(in("?to=/gui/farms%3Fa=1"), done+"?to=%2Fgui%2Ffarms%3Fa%3D1"); !strings.Contains(page, `content="0; url=/gui/farms?a=1"`) || !strings.Contains(page, `href="/gui/farms?a=1"`) {
		t.Error(page)
	}
	a.must(200, "POST", "/rbac/oidc", `{"landing":"/gui/"}`).want(t, "params.landing", "/gui/")
	show(in(""), done+"?to=%2Fgui%2F")
	show(in("?to=/other"), done+"?to=%2Fother")
	if r := a.through(p); r.status != 200 || r.body["user"] != "zoe" {
		t.Errorf("login without a page: %d %s", r.status, r.raw)
	}
}

// A failed login in a browser is an HTML page, with the same status as for programs and
// without any injected markup.
func TestALogInThatFailsIsAPageInABrowser(t *testing.T) {
	a, p := provided(t)
	show := func(r reply, status int, says string) {
		t.Helper()
		if r.status != status || r.header.Get("Content-Type") != "text/html; charset=utf-8" || r.header.Get("Set-Cookie") != "" || r.header.Get("Location") != "" {
			t.Errorf("%d %v: %s", r.status, r.header, r.raw)
		}
		if !strings.HasPrefix(r.raw, "<!doctype html>") || !strings.Contains(r.raw, says) || !strings.Contains(r.raw, `<a href="`+api.Base+`/session/oidc">Begin again</a>`) || strings.Contains(r.raw, "<b>") {
			t.Errorf("want %q: %s", says, r.raw)
		}
	}
	come := func(query string) reply {
		return a.send("GET", api.Base+"/session/oidc"+query, "", "Accept", browser, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate")
	}
	p.Claims = map[string]any{"preferred_username": "<b>nobody"}
	begun := a.send("GET", api.Base+"/session/oidc", "", "Accept", browser)
	binding, _, _ := strings.Cut(begun.header.Get("Set-Cookie"), ";")
	q := p.LogIn(t, begun.header.Get("Location"))
	show(a.send("GET", api.Base+oidc.Callback+"?"+q.Encode(), "", "Cookie", binding, "Accept", browser), 401, "You may not log in.")
	show(come("/callback?error=access_denied&error_description=%3Cb%3E"), 401, "You may not log in.")
	show(come("?%3Cb%3E=1"), 400, "&lt;b&gt;")
	show(come("?to=//evil.example"), 400, "path of this appliance")
	for _, accept := range []string{"application/json", "text/html;q=0, */*", "*/*", ""} {
		if r := a.send("GET", api.Base+oidc.Callback, "", "Accept", accept); r.header.Get("Content-Type") != "application/json" {
			t.Errorf("Accept %q: %v", accept, r.header)
		} else {
			r.refused(t, 401, "may not log in")
		}
	}
	a.send("GET", api.Base+"/farms", "", "Accept", browser).refused(t, 401)
	a.must(200, "POST", "/rbac/oidc", `{"enabled":"true","issuer":"https://127.0.0.1:1","client_secret":"x"}`)
	show(come(""), 503, "cannot be asked now")
	a.must(200, "POST", "/rbac/oidc", `{"enabled":"false"}`)
	show(come(""), 404, "is off")
}

// The login never redirects to another site.
func TestLogInsRedirectNowhereElse(t *testing.T) {
	a, _ := provided(t)
	for _, to := range []string{"//evil.example", "///evil.example", "https://evil.example/", "/\\evil.example", "\\/evil.example", "javascript:alert(1)", "evil.example", "/\t/evil.example", "/\n/evil.example",
		"/a b", "/\"><script>", "/é", "/" + strings.Repeat("x", 2000)} {
		q := "?" + url.Values{"to": {to}}.Encode()
		if r := a.send("GET", api.Base+"/session/oidc"+q, ""); r.status != 400 || r.header.Get("Set-Cookie") != "" || r.header.Get("Location") != "" {
			t.Errorf("login with the target %q: %d %s", to, r.status, r.raw)
		}
		a.send("GET", api.Base+"/session/oidc/done"+q, "", "Accept", browser).refused(t, 400, "path of this appliance")
		body, _ := json.Marshal(map[string]string{"landing": to})
		a.do("POST", "/rbac/oidc", string(body)).refused(t, 400, "landing")
	}
}

func TestWhomAProviderDoesNotLetIn(t *testing.T) {
	a, p := provided(t)
	a.must(201, "POST", "/rbac/users", `{"name":"tim","service":"oidc"}`)
	for name, claims := range map[string]map[string]any{
		"root": {"preferred_username": "root", "groups": "ops"}, "a local user": {"preferred_username": "ann", "groups": "ops"}, "nobody": {"preferred_username": "zoe"},
		"without the permission": {"preferred_username": "tim"}, "an odd name": {"preferred_username": "../x", "groups": "ops"}, "no name": {"preferred_username": nil},
	} {
		p.Claims = claims
		r := a.through(p)
		if r.refused(t, 401, "may not log in"); r.header.Get("Set-Cookie") != "" {
			t.Errorf("%s has a session", name)
		}
	}
	p.Claims = map[string]any{"preferred_username": "tim"}
	a.must(200, "PUT", "/rbac/users/tim", `{"webgui_permissions":"true"}`)
	if r := a.through(p); r.status != 200 {
		t.Errorf("%d %s", r.status, r.raw)
	}
	a.through(p, func(q url.Values) { q.Set("state", "x") }).refused(t, 401)
	a.send("GET", api.Base+oidc.Callback, "").refused(t, 401)
	a.through(p, func(q url.Values) { q.Add("code", "x") }).refused(t, 400, "given twice")
	a.send("POST", api.Base+oidc.Callback, "").refused(t, 401)
	a.must(200, "POST", "/rbac/oidc", `{"enabled":"false"}`)
	a.send("GET", api.Base+"/session/oidc", "").refused(t, 404, "is off")
	a.must(200, "POST", "/rbac/oidc", `{"enabled":"true","issuer":"https://127.0.0.1:1","client_secret":"x"}`)
	a.send("GET", api.Base+"/session/oidc", "").refused(t, 503, "cannot be asked now")
	for body, says := range map[string]string{`{"issuer":"http://a"}`: "issuer:", `{"users":["a=root"]}`: "nobody comes in as root", `{"issuer":"https://other"}`: "must be sent again"} {
		a.do("POST", "/rbac/oidc", body).refused(t, 400, says)
	}
	if strings.Contains(a.log.String(), oidctest.ClientSecret) {
		t.Error("the log holds the secret")
	}
}

// These are the only paths that need no credential.
func TestWhatStrangersMay(t *testing.T) {
	a := newAppliance(t)
	var public []string
	for _, route := range a.server.Routes() {
		if rbac.Permission(route.Needs) == rbac.Public {
			public = append(public, route.Method+" "+route.Path)
			continue
		}
		want := 401
		if route.Method == "DELETE" && route.Path == "/session" {
			want = 400 // there is no session to end
		}
		for _, base := range []string{api.Base, api.FamilyBase} {
			if r := a.send(route.Method, base+filled(route.Path), "{}"); r.status != want {
				t.Errorf("%s %s: a stranger is answered %d", route.Method, route.Path, r.status)
			}
		}
	}
	if got := strings.Join(public, ", "); got != "GET /session/oidc, GET /session/oidc/callback, GET /session/oidc/done" {
		t.Errorf("strangers may %s", got)
	}
}
