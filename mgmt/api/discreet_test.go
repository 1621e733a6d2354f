package api_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/eventlog"
)

// Messages, diffs and views name farms only to callers who see them.
func TestMessagesNameNoFarmOfAnotherGroup(t *testing.T) {
	a := divided(t)
	a.must(201, "POST", "/farms", `{"farmname":"names","profile":"gslb","vip":"192.0.2.10","vport":5300}`)
	quiet := func(r reply) reply {
		t.Helper()
		for _, name := range []string{"dns", "theirs", "names"} {
			if strings.Contains(strings.ReplaceAll(r.raw, "dns_farm", ""), name) {
				t.Errorf("%s is named:\n%s", name, r.raw)
			}
		}
		return r
	}
	quiet(a.as("PUT", "/farms/shop", `{"vport":8443}`)).refused(t, 400, "a farm of another group")
	quiet(a.as("PUT", "/farms/shop?dry_run=true", `{"vport":8443}`)).refused(t, 400, "a farm of another group")
	quiet(a.as("POST", "/transactions", transaction("PUT", "/farms/shop", `{"vport":8443}`))).refused(t, 400, "a farm of another group")
	r := quiet(a.as("PUT", "/farms/shop?dry_run=true", `{"vport":8081}`))
	if diff, _ := r.at("params.diff").(string); !strings.Contains(diff, "8081") {
		t.Errorf("the difference is %q", diff)
	}
	missing := a.as("PUT", web, `{"dns_farm":"nobody"}`)
	missing.refused(t, 400, "there is none named")
	got := a.as("PUT", web, `{"dns_farm":"names"}`)
	got.refused(t, 400)
	if strings.ReplaceAll(got.raw, "names", "nobody") != missing.raw {
		t.Errorf("a hidden gslb farm and a missing one have different answers:\n%s\n%s", got.raw, missing.raw)
	}
	// A farm of the caller is needed by a service of another group.
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"names"}`)
	a.must(200, "PUT", "/rbac/roles/ops", `{"farm":{"delete":"true"}}`)
	a.must(200, "PUT", "/farms/theirs", `{"listener":"http"}`)
	a.must(201, "POST", "/farms/theirs/services", `{"id":"quokka"}`)
	a.must(200, "PUT", "/farms/theirs/services/quokka", `{"dns_farm":"names"}`)
	for _, r := range []reply{a.as("DELETE", "/farms/names", ""), a.as("POST", "/transactions", transaction("DELETE", "/farms/names", `{}`))} {
		r.refused(t, 400, "a farm of another group: dns_farm must be")
		if strings.Contains(r.raw, "theirs") || strings.Contains(r.raw, "quokka") {
			t.Errorf("a service is named: %s", r.raw)
		}
	}
	if r := a.do("PUT", "/farms/shop", `{"vport":8443}`); !strings.Contains(r.raw, "collides with farm theirs") && !strings.Contains(r.raw, `farm \"theirs\"`) {
		t.Errorf("root does not see the conflicting farm:\n%s", r.raw)
	}
}

// Credentials in rules are shown only to callers who may change them.
func TestCredentialsInRulesAreForWhoMayChangeThem(t *testing.T) {
	a := divided(t)
	a.must(200, "PUT", web, `{"headrequire":["^X-Token: s3cr3t"]}`)
	a.must(201, "POST", web+"/addrequestheader", `{"header":"Authorization: Basic s3cr3t"}`)
	a.must(200, "POST", fg, `{"name":"sends","command":"check_tcp -H HOST -p PORT -s s3cr3t"}`)
	for _, name := range []string{"dns", "theirs"} {
		a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"`+name+`"}`)
	}
	paths := []string{"/farms/shop", web, "/config", "/config?format=json", "/history/1", "/history/1/diff", fg + "/sends", fg, "/status", "/lint"}
	shown := 0
	for _, path := range paths {
		if strings.Contains(a.do("GET", path, "").raw, "s3cr3t") {
			shown++
		}
	}
	if shown < 4 {
		t.Errorf("root finds it in %d places", shown)
	}
	if err := a.users.GiveRole("team", "readonly"); err != nil {
		t.Fatal(err)
	}
	_, rev := a.applier.Current()
	for n := uint64(1); n <= rev.Number; n++ {
		paths = append(paths, "/history/"+quoteAny(n), "/history/"+quoteAny(n)+"/diff")
	}
	for _, path := range paths {
		if r := a.as("GET", path, ""); strings.Contains(r.raw, "s3cr3t") {
			t.Errorf("%s:\n%s", path, r.raw)
		}
	}
}

// If a document shown with hidden credentials is applied by another user, the credentials
// are kept.
func TestADocumentWithoutCredentialsKeepsThem(t *testing.T) {
	a := divided(t)
	a.must(200, "PUT", web, `{"headrequire":["^X-Token: s3cr3t"]}`)
	a.must(201, "POST", web+"/addrequestheader", `{"header":"Authorization: Basic s3cr3t"}`)
	a.must(201, "POST", web+"/replacerequestheader", `{"header":"^X-Api-Key$","match":"s3cr3t","replace":"s3cr3t-2"}`)
	a.must(200, "PUT", fg+"/hidden-alive", `{"command":"check_tcp -H HOST -p PORT","force":"true"}`)
	for _, name := range []string{"dns", "theirs"} {
		a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"`+name+`"}`)
	}
	if err := a.users.GiveRole("team", "readonly"); err != nil {
		t.Fatal(err)
	}
	before := a.must(200, "GET", "/config", "").raw
	shown := a.as("GET", "/config", "").raw
	if strings.Contains(shown, "s3cr3t") || !strings.Contains(shown, "***") {
		t.Fatalf("shown:\n%s", shown)
	}
	put := func(document string) reply {
		return a.do("PUT", "/config", document, "Content-Type", "application/yaml")
	}
	if r := put(shown); r.status != 200 {
		t.Fatal(r.raw)
	}
	if got := a.must(200, "GET", "/config", "").raw; got != before {
		t.Errorf("it is now\n%s", got)
	}
	if r := put(strings.Replace(shown, "vport: 80\n", "vport: 88\n", 1)); r.status != 200 {
		t.Fatal(r.raw)
	}
	if got := a.must(200, "GET", "/config", "").raw; strings.Replace(got, "vport: 88\n", "vport: 80\n", 1) != before {
		t.Errorf("it is now\n%s", got)
	}
	put(strings.Replace(shown, "Authorization: ***", "X-Other-Token: ***", 1)).refused(t, 400, "***")
	a.do("POST", web+"/addrequestheader", `{"header":"X-Other-Token: ***"}`).refused(t, 400, "***")
}

// The problem of a farm may name another one, which is masked for callers who do not see it. That
// applies to refused starts, to reports of the engine and of the kernel, to health checks and to
// events.
func TestProblemsNameNoFarmOfAnotherGroup(t *testing.T) {
	checked, warns := "", true
	a := divided(t, inTime, func(d *apitest.Parts) {
		d.Checked = func(uint32) string { return checked }
		d.State.Unreachable = func(f *farm.Farm) string {
			if checked != "" && f.Name == "shop" {
				return "farm theirs is in the way"
			}
			return ""
		}
		d.State.Warnings = func(*farm.Farm) []string {
			if warns {
				return []string{"the farm theirs takes its packets"}
			}
			return nil
		}
	})
	a.must(201, "POST", "/farms", `{"farmname":"relay","profile":"l4xnat","vip":"192.0.2.10","vport":"91"}`)
	a.must(201, "POST", "/farms", `{"farmname":"names","profile":"gslb","vip":"192.0.2.10","vport":92}`)
	for _, name := range []string{"relay", "names"} {
		a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"`+name+`"}`)
	}
	reads := []string{"/farms", "/farms/modules/lslb", "/status", "/stats", "/stats/farms", "/timeline", web,
		web + "/backends",
		"/stats/farms/shop", "/stats/farms/shop/backends", web + "/backends/0/health"}
	for _, name := range []string{"shop", "relay", "names"} {
		for _, part := range []string{"", "/summary", "/status", "/explain", "/lint", "/headroom"} {
			reads = append(reads, "/farms/"+name+part)
		}
	}
	look := func(when string, shown int) {
		t.Helper()
		named := 0
		for _, path := range reads {
			if r := a.as("GET", path, ""); strings.Contains(r.raw, "theirs") {
				t.Errorf("%s: GET %s names it: %s", when, path, around(r.raw, "theirs"))
			}
			if strings.Contains(a.do("GET", path, "").raw, "farm theirs") {
				named++
			}
		}
		if named < shown {
			t.Errorf("%s: root finds it in %d places", when, named)
		}
	}
	a.must(200, "PUT", "/farms/relay/actions", `{"action":"stop"}`)
	a.must(200, "PUT", "/farms/shop/actions", `{"action":"stop"}`)
	a.as("PUT", "/farms/shop", `{"vport":8443}`)
	a.as("PUT", "/farms/shop/actions", `{"action":"start"}`).refused(t, 400, "a farm of another group")
	a.as("PUT", "/farms/relay", `{"vport":"8443"}`)
	a.as("PUT", "/farms/relay/actions", `{"action":"start"}`).refused(t, 400, "a farm of another group")
	a.events.Add(eventlog.Event{Time: time.Now(), Kind: eventlog.Health, Farms: []uint32{a.config().Farm("shop").ID},
		Farm: "shop", Text: "the farm is down: it collides with farm theirs on 8443"})
	look("a refused start", 7)
	srv := httptest.NewServer(a.server.Handler())
	t.Cleanup(srv.Close) // runs after the subscribers have left
	next, _, leave := following(t, srv.URL, annsKey)
	masked := false
	for range 4 { // the revision and three farms
		got := next()
		if masked = masked || strings.Contains(got, "a farm of another group"); strings.Contains(got, "theirs") {
			t.Errorf("the stream of changes: %s", got)
		}
	}
	if leave(); !masked {
		t.Error("the stream of changes has no reason")
	}
	// A farm that is renamed or deleted cannot be masked any more.
	a.events.Add(eventlog.Event{Time: time.Now(), Kind: eventlog.Health, Farms: []uint32{a.config().Farm("theirs").ID},
		Farm: "theirs", Text: "the farm is up"})
	a.must(200, "PUT", "/farms/theirs", `{"newfarmname":"elsewhere"}`)
	warns = false
	look("after the farm was renamed", 1)
	a.must(200, "PUT", "/farms/elsewhere", `{"newfarmname":"theirs"}`)
	a.must(200, "PUT", "/farms/shop", `{"vport":80}`)
	a.must(200, "PUT", "/farms/shop/actions", `{"action":"start"}`)
	checked = "is at the address of farm theirs, which clients cannot use"
	look("a health check and an address", 4)
}

// around returns the surroundings of a word.
func around(text, word string) string {
	at := max(0, strings.Index(text, word))
	return text[max(0, at-200):min(len(text), at+100)]
}
