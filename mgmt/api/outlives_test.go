package api_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/api/people"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/oidc"
)

// in sends a request in a session.
func (a *appliance) in(cookie, method, path, body string) reply {
	a.t.Helper()
	return a.send(method, api.Base+path, body, "Cookie", cookie)
}

// confirm sends password and code in a session.
func (a *appliance) confirm(cookie, password, code string) reply {
	a.t.Helper()
	return a.in(cookie, "POST", people.ConfirmPath, fmt.Sprintf(`{"password":%q,"code":%q}`, password, code))
}

// stolen returns a session of root whose login is older than a confirmation lasts.
func (a *appliance) stolen(now *time.Time) (cookie string) {
	a.t.Helper()
	cookie = cookieOf(a.t.(*testing.T), a.login("root", rootPassword))
	*now = now.Add(auth.RaisedTime)
	return cookie
}

// A thief of a session must not keep access through objects it creates.
func TestASessionMustBeConfirmedForWhatOutlivesIt(t *testing.T) {
	a, now := ticking(t)
	plugins(t, "check_own")
	a.must(200, "POST", fg, `{"name":"mine","command":"check_tcp -H HOST -p PORT"}`)
	a.must(201, "POST", "/system/backup", `{"name":"before"}`)
	cookie := a.stolen(now)
	document := a.must(200, "GET", "/config?format=json", "").raw
	asked := strings.Replace(document, "check_tcp -H HOST -p PORT", "check_own -H HOST", 1)
	snmp := `{"status":"true","community":"mine"}`
	writes := []struct{ method, path, body string }{
		{"POST", "/keys", `{"comment":"mine"}`},
		{"POST", "/rbac/users", `{"name":"tim","password":"secret-3"}`},
		{"PUT", "/rbac/users/ann", `{"newpassword":"secret-4"}`},
		{"PUT", "/rbac/users/ann", `{"zapikey":"AnnsNewKey0123456789"}`},
		{"POST", "/rbac/groups/team/users", `{"name":"tim"}`},
		{"PUT", "/rbac/groups/team", `{"role":""}`},
		{"PUT", "/rbac/roles/ops", `{"farm":{"delete":"true"}}`},
		{"POST", "/rbac/services", `{"ldap":"false"}`},
		{"POST", "/system/notifications/methods/webhooks", `{"name":"mine","url":"https://192.0.2.1/x"}`},
		{"POST", "/system/snmp", snmp},
		{"POST", "/transactions", transaction("POST", "/system/snmp", snmp)},
		{"POST", "/system/syslog", `{"servers":["udp://192.0.2.1:514"]}`},
		{"POST", "/system/rsyslog", `{"ip":"192.0.2.2"}`},
		{"POST", "/system/global", `{"session_timeout":1440}`},
		{"PUT", "/system/global", `{"api_names":["mine.example"],"cors_devel_mode":"true"}`},
		{"PUT", fg + "/mine", `{"command":"check_own -H HOST"}`},
		{"POST", "/transactions", transaction("PUT", fg+"/mine", `{"command":"check_own -H HOST -w 2"}`)},
		{"PUT", "/config", asked},
		{"POST", "/system/backup", `{"name":"mine","passphrase":"as long as it takes"}`},
		{"POST", "/system/backup/before/actions", `{"action":"apply","force":"true"}`},
		{"POST", "/system/users", `{"zapikey":"RootsKey0123456789","zapi_permissions":"true"}`},
	}
	before := a.everything()
	for _, w := range writes {
		r := a.in(cookie, w.method, w.path, w.body)
		if r.refused(t, 403, "confirm your password"); r.body["code"] != "confirm_session" {
			t.Errorf("%s %s: %s", w.method, w.path, r.raw)
		}
		path := w.path + "?dry_run=true"
		if r := a.in(cookie, w.method, path, w.body); r.status != 200 && r.status != 400 && r.status != 404 {
			t.Errorf("a dry run of %s %s: %d %s", w.method, w.path, r.status, r.raw)
		}
	}
	if after := a.everything(); after != before {
		t.Errorf("something changed:\n%s\n%s", before, after)
	}
	for _, password := range []string{"wrong", "secret-1", ""} {
		a.confirm(cookie, password, "").refused(t, 400)
	}
	a.in(cookie, "POST", "/keys", "").refused(t, 403)
	other := cookieOf(t, a.login("root", rootPassword)) // a login confirms its own session only
	a.in(cookie, "POST", "/keys", "").refused(t, 403)
	if r := a.in(other, "POST", "/keys", ""); r.status != 201 {
		t.Errorf("after a login: %d %s", r.status, r.raw)
	}
	// A session cannot start another one, which would be raised.
	if r := a.in(cookie, "POST", people.SessionPath, ""); r.status < 400 {
		t.Errorf("a session without a password: %d %s", r.status, r.raw)
	}
	if r := a.confirm(cookie, rootPassword, ""); r.status != 200 {
		t.Fatalf("%d %s", r.status, r.raw)
	}
	for _, w := range writes {
		if r := a.in(cookie, w.method, w.path, w.body); r.status == 403 || r.status == 401 {
			t.Errorf("confirmed: %s %s: %d %s", w.method, w.path, r.status, r.raw)
		}
		if strings.HasPrefix(w.path, "/system/backup/") {
			break // the rest ends the session
		}
	}
}

// Requests without a session need no confirmation.
func TestAKeyNeedsNoConfirmation(t *testing.T) {
	a := newAppliance(t)
	a.people()
	a.must(201, "POST", "/keys", "")
	a.do("POST", people.ConfirmPath, `{"password":"`+rootPassword+`"}`).refused(t, 400, "only sessions")
	a.send("POST", api.Base+people.ConfirmPath, `{"password":"`+rootPassword+`"}`).refused(t, 401)
}

// Ordinary changes of the configuration need no confirmation.
func TestASessionIsNotConfirmedForTraffic(t *testing.T) {
	a, now := ticking(t)
	a.shop(1)
	plugins(t, "check_own")
	a.must(200, "POST", fg, `{"name":"mine","command":"check_own -H HOST"}`)
	cookie := a.stolen(now)
	for _, w := range []struct{ method, path, body string }{
		{"PUT", "/farms/shop", `{"contimeout":7}`},
		{"POST", fg, `{"name":"new","command":"check_tcp -H HOST"}`},
		{"PUT", fg + "/mine", `{"interval":7}`},
		{"POST", "/system/ntp", `{"server":"ntp.example"}`},
		{"DELETE", "/rbac/groups/team/users/ann", ""},
		{"DELETE", "/rbac/users/ann", ""},
	} {
		if r := a.in(cookie, w.method, w.path, w.body); r.status >= 300 {
			t.Errorf("%s %s: %d %s", w.method, w.path, r.status, r.raw)
		}
	}
}

func TestAConfirmationIsGuessedWithinTheLimits(t *testing.T) {
	a := newAppliance(t)
	a.people()
	cookie := cookieOf(t, a.login("ann", "secret-1"))
	for range 10 {
		a.confirm(cookie, "wrong-1", "").refused(t, 400)
	}
	a.confirm(cookie, "secret-1", "").refused(t, 429, "wait")
	if r := a.in(cookie, "GET", "/farms", ""); r.status != 200 {
		t.Errorf("the session itself: %d", r.status)
	}
}

func TestAConfirmationNeedsTheSecondFactor(t *testing.T) {
	a, now := ticking(t)
	secret, _ := a.second(now)
	cookie := cookieOf(t, a.login("ann", "secret-1", "X-OTP", codeAt(t, secret, *now)))
	*now = now.Add(auth.RaisedTime)
	body := `{"newpassword":"secret-2","password":"secret-1"}`
	a.in(cookie, "POST", "/system/users", body).refused(t, 403, "confirm your password")
	for _, code := range []string{"", "000000"} {
		a.confirm(cookie, "secret-1", code).refused(t, 400, "not right")
	}
	code := codeAt(t, secret, *now)
	if r := a.confirm(cookie, "secret-1", code); r.status != 200 {
		t.Fatalf("%d %s", r.status, r.raw)
	}
	a.confirm(cookie, "secret-1", code).refused(t, 400, "not right") // already used
	if r := a.in(cookie, "POST", "/system/users", body); r.status != 200 {
		t.Errorf("%d %s", r.status, r.raw)
	}
}

// Users of OpenID Connect have no local password. They log in at the provider again.
func TestAUserOfAProviderConfirmsByALoginThere(t *testing.T) {
	a, p := provided(t)
	a.must(200, "PUT", "/rbac/groups/team", `{"role":"administration"}`)
	p.Claims = map[string]any{"preferred_username": "zoe", "groups": []string{"ops"}}
	body := `{"zapikey":"ZoesKey0123456789"}`
	cookie := cookieOf(t, a.through(p)) // the provider does not say when zoe entered the password
	a.in(cookie, "POST", "/system/users", body).refused(t, 403, "confirm your password")
	a.confirm(cookie, "any", "").refused(t, 400, "GET /session/oidc?reauthenticate=true")

	p.Claims["auth_time"] = clock().Unix()
	begun := a.send("GET", api.Base+"/session/oidc?reauthenticate=true", "")
	binding, _, _ := strings.Cut(begun.header.Get("Set-Cookie"), ";")
	to := begun.header.Get("Location")
	if !strings.Contains(to, "max_age=0") || !strings.Contains(to, "prompt=login") {
		t.Errorf("the provider is not asked for a new password entry: %s", to)
	}
	back := a.send("GET", api.Base+oidc.Callback+"?"+p.LogIn(t, to).Encode(), "", "Cookie", binding, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate")
	if r := a.in(cookieOf(t, back), "POST", "/system/users", body); r.status != 200 {
		t.Errorf("%d %s", r.status, r.raw)
	}
}

// exempt lists the operations that change something but need no confirmed session, by
// reason.
var exempt = map[string][]string{
	"takes access away": {
		"DELETE /keys/{key}", "DELETE /rbac/users/{user}", "DELETE /rbac/groups/{group}", "DELETE /rbac/groups/{group}/users/{user}",
		"DELETE /rbac/groups/{group}/farms/{farm}", "DELETE /rbac/roles/{role}", "DELETE /rbac/sessions", "DELETE /rbac/sessions/{session}",
		"DELETE /system/notifications/methods/webhooks/{webhook}", "DELETE /cloud/credentials",
	},
	"changes the configuration: the step is checked, however it is made (rest.Call.permitAccess, permitPrograms)": {
		"POST /config", "PUT /config", "POST /config/reload", "POST /history/rollback", "POST /transactions", "POST /history/{revision}/confirm", "DELETE /pending",
		"POST /monitoring/fg", "PUT /monitoring/fg/{check}", "DELETE /monitoring/fg/{check}", "PUT /certificates/letsencrypt/config", "PUT /certificates/letsencryptz/config",
		"POST /system/dns", "POST /system/http", "POST /system/https/certificate", "POST /system/ntp", "POST /system/proxy", "POST /system/rsyslog", "POST /system/snmp",
		"POST /system/ssh", "POST /system/syslog",
		"POST /aliases/backends", "PUT /aliases/backends/{address}", "DELETE /aliases/backends/{address}",
		"POST /aliases/interfaces", "PUT /aliases/interfaces/{interface}", "DELETE /aliases/interfaces/{interface}",
	},
	"is about the keys that traffic is served with: it gives no access to the appliance": {
		"POST /certificates", "POST /certificates/pem", "POST /certificates/pkcs12", "POST /certificates/{certificate}", "PUT /certificates/{certificate}", "DELETE /certificates/{certificate}", "POST /certificates/{certificate}/actions",
		"POST /certificates/ca/{authority}", "PUT /certificates/ca/{authority}", "DELETE /certificates/ca/{authority}",
		"PUT /certificates/ca/{authority}/crl", "DELETE /certificates/ca/{authority}/crl", "PUT /certificates/ocsp",
		"POST /certificates/letsencrypt", "PUT /certificates/letsencrypt/{certificate}", "DELETE /certificates/letsencrypt/{certificate}", "POST /certificates/letsencrypt/{certificate}/actions",
		"POST /certificates/letsencryptz", "PUT /certificates/letsencryptz/{certificate}", "DELETE /certificates/letsencryptz/{certificate}", "POST /certificates/letsencryptz/{certificate}/actions",
	},
	"gives no access: it is applied, sent or started by operations that need a confirmed session, or changes what is shown": {
		"POST /certificates/activation", "DELETE /certificates/activation", "POST /cloud/credentials", "DELETE /connections", "POST /history/tags", "DELETE /history/tags/{tag}",
		"PUT /system/backup/{backup}", "DELETE /system/backup/{backup}", "PUT /system/geoip", "DELETE /system/geoip",
		"POST /system/kernel/clean", "POST /system/language",
		"POST /system/notifications/alerts/{alert}/actions", "POST /system/notifications/alerts/backends", "PUT /system/notifications/alerts/backends",
		"POST /system/notifications/alerts/cluster", "PUT /system/notifications/alerts/cluster", "POST /system/notifications/alerts/interfaces", "PUT /system/notifications/alerts/interfaces",
		"POST /system/notifications/methods/email/actions", "PUT /system/notifications/methods/scripts", "PUT /system/notifications/methods/syslog",
		"POST /system/notifications/methods/webhooks/{webhook}/actions",
	},
}

// Every operation that changes something needs a confirmed session or is exempt with a
// reason.
func TestEveryOperationNeedsAConfirmedSessionOrIsExempt(t *testing.T) {
	a := newAppliance(t)
	known := map[string]bool{}
	exempt := maps.Clone(exempt)
	maps.Copy(exempt, exemptOfFarms)
	for _, route := range a.server.Routes() {
		if route.Asks {
			continue
		}
		op := route.Method + " " + route.Path
		known[op] = true
		reason := ""
		for why, operations := range exempt {
			if slices.Contains(operations, op) {
				reason = why
			}
		}
		switch {
		case route.Outlives && reason != "":
			t.Errorf("%s needs a confirmed session, and is exempt: %s", op, reason)
		case !route.Outlives && reason == "":
			t.Errorf("%s creates something: mark it with Outlives, or give a reason in exempt", op)
		}
	}
	for _, operations := range exempt {
		for _, op := range operations {
			if !known[op] {
				t.Errorf("%s is in exempt, but does not exist or changes nothing", op)
			}
		}
	}
}
