package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/api"
)

func TestAuthorsAndRejectionsAreAudited(t *testing.T) {
	a := newAppliance(t)
	a.people()
	a.shop(1)
	before, _ := a.must(200, "GET", "/audit?limit=1", "").at("params.0.number").(float64)
	a.must(200, "PUT", "/farms/shop", `{"contimeout":7}`)
	a.must(200, "PUT", "/farms/shop?dry_run=true", `{"contimeout":8}`) // dry run
	a.must(200, "GET", "/farms", "")                                   // read only
	a.do("PUT", "/farms/shop", `{"contimeout":-1}`).refused(t, 400)
	a.as("POST", "/farms", `{}`).refused(t, 403)
	a.as("GET", "/keys", "").refused(t, 403)
	a.send("GET", api.Base+"/farms", "", "ZAPI_KEY", "wrongKey123456").refused(t, 401)
	a.send("GET", api.Base+"/farms", "").refused(t, 401)
	a.login("ann", "wrong-1").refused(t, 401)
	if r := a.login("ann", "secret-1"); r.status != 200 {
		t.Fatal(r.raw)
	}
	a.must(404, "DELETE", "/farms/none", "")
	var got []string
	entries, _ := a.must(200, "GET", "/audit?limit=100", "").at("params").([]any)
	for _, e := range entries {
		e := e.(map[string]any)
		if e["number"].(float64) > before {
			got = append(got, fmt.Sprint(e["user"], " ", e["method"], " ", e["path"], " ", e["status"], ": ", e["message"]))
		}
	}
	want := []string{
		`root (key 1) DELETE /api/v4.0/farms/none 404: the farm none does not exist`,
		`ann POST /zapi/v4.0/zapi.cgi/session 200: Log in`,
		`<nil> POST /zapi/v4.0/zapi.cgi/session 401: Authorization required`,
		`<nil> GET /api/v4.0/farms 401: Authorization required`,
		`<nil> GET /api/v4.0/farms 401: Authorization required`,
		`ann GET /api/v4.0/keys 403: you may not do this: the permission "root" is needed`,
		`ann POST /api/v4.0/farms 403: you may not do this: the permission "farm.create" is needed`,
		`root (key 1) PUT /api/v4.0/farms/shop 400: `,
		`root (key 1) PUT /api/v4.0/farms/shop 200: Modify a farm`,
	}
	if len(got) != len(want) {
		t.Fatalf("got\n%s", strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("got %s, want %s", got[i], want[i])
		}
	}
	r := a.must(200, "GET", "/audit/export", "")
	if lines := strings.Count(r.raw, "\n"); lines < len(want) || strings.Contains(r.raw, "secret-1") || strings.Contains(r.raw, "wrong") {
		t.Errorf("%d lines exported:\n%s", lines, r.raw)
	}
	if at := a.must(200, "GET", fmt.Sprintf("/audit?limit=1&before=%d", int(before)), "").at("params.0.number"); at != before-1 {
		t.Errorf("before %v comes %v", before, at)
	}
	a.do("GET", "/audit?limit=0", "").refused(t, 400, "limit")
	revision, _ := a.must(200, "GET", "/audit", "").at("params.8.revision").(float64)
	if _, now := a.applier.Current(); uint64(revision) != now.Number {
		t.Errorf("the change made revision %d, kept is %v", now.Number, revision)
	}
}
