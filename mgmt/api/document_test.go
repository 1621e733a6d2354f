package api_test

import (
	"strings"
	"testing"
)

// Objects beside the configuration have revisions of their own: one for users, groups and
// roles, and one for the settings of each service.
func TestALostUpdateBesideTheConfigurationIsRefused(t *testing.T) {
	for _, c := range []struct{ name, path, body, other, otherBody, read string }{
		{"a user", "PUT /rbac/users/ann", `{"newpassword":"secret-2A"}`, "PUT /rbac/users/ann", `{"webgui_permissions":true}`, "/rbac/users/ann"},
		{"a group", "PUT /rbac/groups/team", `{"role":"monitoring"}`, "PUT /rbac/groups/team", `{"role":"readonly"}`, "/rbac/groups/team"},
		{"a role", "PUT /rbac/roles/ops", `{"farm":{"delete":true}}`, "PUT /rbac/roles/ops", `{"farm":{"create":true}}`, "/rbac/roles/ops"},
		{"global settings", "PUT /system/global", `{"api_names":["a.test"]}`, "POST /system/global", `{"api_names":["b.test"]}`, "/system/global"},
		{"keys", "DELETE /keys/2", "", "POST /keys", `{"comment":"new"}`, "/keys"},
		{"OCSP", "PUT /certificates/ocsp", `{"enabled":"false"}`, "PUT /certificates/ocsp", `{"private_responders":"true"}`, "/certificates/ocsp"},
		{"ACME", "PUT /certificates/letsencryptz/config", `{"email":"a@example.com","dns_wait":7}`, "PUT /certificates/letsencrypt/config", `{"email":"a@example.com","dns_wait":8}`, "/certificates/letsencryptz/config"},
		{"mails", "PUT /system/notifications/methods/email", `{"server":"a.example.com","from":"a@example.com","to":["b@example.com"]}`, "PUT /system/notifications/methods/email", `{"server":"b.example.com","from":"a@example.com","to":["b@example.com"]}`, "/system/notifications/methods/email"},
		{"alerts", "PUT /system/notifications/alerts/backends", `{"avoidflappingtime":"7"}`, "POST /system/notifications/alerts/backends", `{"avoidflappingtime":"8"}`, "/system/notifications/alerts/backends"},
		{"a webhook", "PUT /system/notifications/methods/webhooks/ops", `{"severity":"error"}`, "PUT /system/notifications/methods/webhooks/ops", `{"secret":"fedcba9876543210"}`, "/system/notifications/methods/webhooks/ops"},
	} {
		a := newAppliance(t)
		a.must(201, "POST", "/system/notifications/methods/webhooks", `{"name":"ops","url":"https://a.example.com/","secret":"0123456789abcdef"}`)
		a.must(201, "POST", "/rbac/users", `{"name":"ann","password":"secret-1A","service":"local"}`)
		a.must(201, "POST", "/rbac/groups", `{"name":"team"}`)
		a.must(201, "POST", "/rbac/roles", `{"name":"ops"}`)
		a.must(201, "POST", "/keys", `{"comment":"old"}`)
		send := func(request, body string, headers ...string) reply {
			method, path, _ := strings.Cut(request, " ")
			return a.do(method, path, body, headers...)
		}
		tag := a.must(200, "GET", c.read, "").header.Get("ETag")
		if again := a.must(200, "GET", c.read, "").header.Get("ETag"); again != tag {
			t.Errorf("%s: read twice, %s and %s", c.name, tag, again)
		}
		a.must(201, "POST", "/farms", `{"farmname":"shop","profile":"http","vip":"192.0.2.10","vport":80}`) // does not change it
		if now := a.must(200, "GET", c.read, "").header.Get("ETag"); now != tag {
			t.Errorf("%s: a change of the configuration made %s %s", c.name, tag, now)
		}
		if r := send(c.other, c.otherBody); r.status >= 300 {
			t.Fatalf("%s: %s", c.name, r.raw)
		}
		before := a.must(200, "GET", c.read, "").raw
		if r := send(c.path, c.body, "If-Match", tag); r.status != 412 {
			t.Errorf("%s: changed from an older revision: %d %s", c.name, r.status, r.raw)
		}
		if r := send(c.path+"?dry_run=true", c.body, "If-Match", tag); r.status != 412 {
			t.Errorf("%s: tried from an older revision: %d %s", c.name, r.status, r.raw)
		}
		read := a.must(200, "GET", c.read, "")
		if read.raw != before {
			t.Errorf("%s: a refused change changed it: %s", c.name, read.raw)
		}
		if r := send(c.path, c.body, "If-Match", read.header.Get("ETag")); r.status != 200 || r.header.Get("ETag") == read.header.Get("ETag") {
			t.Errorf("%s: changed from the newest revision: %d %s, then %s", c.name, r.status, r.raw, r.header.Get("ETag"))
		}
	}
}
