package api_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/trial"
)

// shopWrites creates a farm with a service and a backend.
const shopWrites = `{"method":"POST","path":"/farms","body":{"farmname":"shop","profile":"http","vip":"192.0.2.10","vport":80}},
	{"method":"POST","path":"/farms/shop/services","body":{"id":"web"}},
	{"method":"POST","path":"/farms/shop/services/web/backends","body":{"ip":"10.0.0.1","port":8080}}`

func TestATransactionOfTheAPIIsOneRevision(t *testing.T) {
	a := newAppliance(t)
	r := a.must(200, "POST", "/transactions", `{"comment":"all of it","writes":[`+shopWrites+`,
		{"method":"PUT","path":"/farms/shop/services/web/backends/0","body":{"weight":3}},
		{"method":"PUT","path":"/farms/shop/actions","body":{"action":"stop"}}]}`)
	r.want(t, "params.revision", 1)
	r.want(t, "params.answers.0.status", 201)
	r.want(t, "params.answers.0.body.params.farmname", "shop")
	r.want(t, "params.answers.3.body.params.weight", 3)
	r.want(t, "params.answers.4.path", "/farms/shop/actions")
	if n := len(r.at("params.answers").([]any)); n != 5 {
		t.Errorf("%d answers", n)
	}
	if r.header.Get("ETag") != `"1"` || !strings.Contains(fmt.Sprint(r.at("params.diff")), "+  - name: shop") {
		t.Errorf("ETag %s\n%s", r.header.Get("ETag"), r.raw)
	}
	if a.engine.published != 2 { // one at the start
		t.Errorf("%d publications", a.engine.published)
	}
	a.must(200, "GET", "/history/1", "").want(t, "params.comment", "all of it")
	f := a.config().Farms[0]
	if !f.Stopped || f.HTTP.Services[0].Backends[0].Weight != 3 {
		t.Errorf("%+v", f)
	}
	a.must(200, "POST", "/transactions", `{"writes":[{"method":"PUT","path":"/farms/shop","body":{"vport":81}},{"method":"DELETE","path":"/farms/shop/services/web/backends/0"}]}`, "If-Match", `"1"`)
	a.must(200, "GET", "/history/2", "").want(t, "params.comment", "transaction: modify farm shop; delete backend 0 of service web of farm shop")
	a.do("POST", "/transactions", `{"writes":[{"method":"PUT","path":"/farms/shop","body":{"vport":82}}]}`, "If-Match", `"1"`).refused(t, 412, "changed by someone else")
}

func TestARefusedWriteOfATransactionIsNamedAndChangesNothing(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	was, published := a.config(), a.engine.published
	first := `{"method":"PUT","path":"/farms/shop","body":{"vport":81}}`
	for _, c := range []struct {
		writes string
		status int
		index  any
		texts  []string
	}{
		{first + `,{"method":"POST","path":"/farms","body":{"farmname":"x_"}}`, 400, 1, []string{"writes[1], POST /farms: ", "nothing was changed"}},
		{first + `,{"method":"DELETE","path":"/farms/none"}`, 404, 1, []string{"the farm none does not exist; nothing was changed"}},
		{first + `,{"method":"POST","path":"/farms","body":{"farmname":"b","profile":"http","vip":"192.0.2.10","vport":81}}`, 400, nil, []string{"collides"}},
		{first + `,{"method":"POST","path":"/keys","body":{}}`, 400, 1, []string{"no change of the configuration", "send it alone"}},
		{`{"method":"POST","path":"/rbac/users","body":{"user":"x"}}`, 400, 0, []string{"send it alone"}},
		{`{"method":"POST","path":"/config/reload"}`, 400, 0, []string{"send it alone"}},
		{`{"method":"POST","path":"/transactions","body":{"writes":[` + first + `]}}`, 400, 0, []string{"send it alone"}},
		{`{"method":"POST","path":"/system/kernel/clean","body":{}}`, 400, 0, []string{"send it alone"}},
		{`{"method":"PUT","path":"/farms/shop/actions","body":{"action":"restart"}}`, 400, 0, []string{"the restart of a farm is no change of the configuration"}},
		{`{"method":"POST","path":"/farms/shop/explain","body":{"path":"/"}}`, 400, 0, []string{"it only asks"}},
		{`{"method":"PUT","path":"/farms/shop","body":{}}`, 400, 0, []string{"no field was sent, allowed are", "vport"}},
		{`{"method":"PUT","path":"/nowhere"}`, 404, 0, []string{"the path /api/v4.0/nowhere does not exist"}},
		{`{"method":"PUT","path":"/farms/../farms/shop"}`, 404, 0, []string{"does not exist"}},
		{`{"method":"GET","path":"/farms"}`, 400, 0, []string{`writes[0]: method: GET is not allowed`}},
		{`{"method":"PUT","path":"/farms/shop?dry_run=true"}`, 400, 0, []string{"a query is for the whole transaction"}},
		{`{"method":"PUT","path":"http://other/farms"}`, 400, 0, []string{"write it as /farms/shop"}},
		{`{"method":"PUT","path":"/farms","query":"x"}`, 400, 0, []string{"writes[0]: unknown field query"}},
		{`{"method":"PUT","method":"PUT"}`, 400, 0, []string{"writes[0]: method: given twice"}},
		{`7`, 400, 0, []string{"writes[0]: it must be an object"}},
		{`{"method":7}`, 400, 0, []string{"a value of the wrong kind"}},
		{``, 400, nil, []string{"writes: 0 are not allowed, allowed are 1 to 256"}},
		{strings.Repeat(first+",", 256) + first, 400, nil, []string{"writes: 257 are not allowed"}},
	} {
		r := a.do("POST", "/transactions", `{"writes":[`+c.writes+`]}`)
		r.refused(t, c.status, c.texts...)
		if c.index != nil {
			c.index = float64(c.index.(int))
		}
		if r.body["write"] != c.index {
			t.Errorf("%s: the write is %v, want %v", c.writes, r.body["write"], c.index)
		}
	}
	for _, body := range []string{`[]`, `{"writes":{}}`, `{"writes":[]} x`, `{"writes":[`, `{"comments":""}`} {
		a.do("POST", "/transactions", body).refused(t, 400, "a transaction is")
	}
	a.do("POST", "/transactions", `{"writes":[`+first+`],"comment":"`+strings.Repeat("x", 2000)+`"}`).refused(t, 400, "comment")
	a.do("POST", "/transactions", "").want(t, "params.0.name", "writes")
	if now := a.config(); now != was || a.engine.published != published {
		t.Error("something changed")
	}
}

func TestATransactionMayHaveDocumentsAndRollbacks(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.must(200, "POST", "/transactions", `{"writes":[{"method":"POST","path":"/history/rollback","body":{"revision":1}},{"method":"PUT","path":"/farms/shop","body":{"vport":90}}]}`)
	if f := a.config().Farms[0]; len(f.HTTP.Services) != 0 || f.VPort != 90 {
		t.Errorf("%+v", f)
	}
	a.must(200, "POST", "/transactions", `{"writes":[{"method":"PUT","path":"/config","body":"farms:\n  - {name: new, profile: http, vip: 192.0.2.10, vport: 99}\n"}]}`)
	if cfg := a.config(); len(cfg.Farms) != 1 || cfg.Farms[0].Name != "new" {
		t.Errorf("%+v", cfg.Farms)
	}
}

func TestATransactionMayBeTriedAndIsRepeatedOnce(t *testing.T) {
	a := newAppliance(t)
	r := a.must(200, "POST", "/transactions?dry_run=true", `{"writes":[`+shopWrites+`]}`)
	r.want(t, "params.dry_run", "true")
	if !strings.Contains(fmt.Sprint(r.at("params.diff")), "+  - name: shop") || len(a.config().Farms) != 0 {
		t.Errorf("%s", r.raw)
	}
	for range 2 {
		a.must(200, "POST", "/transactions", `{"writes":[`+shopWrites+`]}`, "Idempotency-Key", "one")
	}
	if _, rev := a.applier.Current(); rev.Number != 1 {
		t.Errorf("revision %d", rev.Number)
	}
}

func TestRightsAreCheckedForEachWriteOfATransaction(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.people()
	a.must(200, "PUT", "/rbac/roles/ops", `{"farm":{"create":"true","modify":"true","menu":"true"}}`)
	ann := func(writes string) reply {
		return a.send("POST", api.Base+"/transactions", `{"writes":[`+writes+`]}`, "ZAPI_KEY", annsKey)
	}
	ann(`{"method":"PUT","path":"/farms/shop","body":{"vport":81}}`).refused(t, 404, "the farm shop does not exist")
	a.must(200, "GET", "/audit", "").want(t, "params.0.path", api.Base+"/transactions")
	made := strings.ReplaceAll(shopWrites, "shop", "anns")
	made = strings.ReplaceAll(made, `"vport":80`, `"vport":8000`)
	if r := ann(made + `,{"method":"PUT","path":"/farms/anns","body":{"vport":8001}}`); r.status != 200 {
		t.Fatalf("a farm of one's own: %s", r.raw)
	}
	if r := a.send("GET", api.Base+"/farms/anns", "", "ZAPI_KEY", annsKey); r.status != 200 {
		t.Errorf("the creator of a farm does not see it: %s", r.raw)
	}
	if r := ann(`{"method":"POST","path":"/history/rollback","body":{"revision":1}}`); r.status != 403 || r.body["write"] != 0.0 {
		t.Errorf("a rollback: %s", r.raw)
	}
}

func TestAChangeOfTheAPIGoesBackUnlessConfirmed(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.must(200, "GET", "/pending", "").want(t, "params.pending", "false")
	r := a.must(200, "PUT", "/farms/shop?confirm=5m", `{"vport":81}`)
	if until, err := time.Parse(time.RFC3339, r.header.Get("Confirm-Before")); err != nil || time.Until(until) > 5*time.Minute {
		t.Errorf("Confirm-Before: %q", r.header.Get("Confirm-Before"))
	}
	p := a.must(200, "GET", "/pending", "")
	p.want(t, "params.revision", 4)
	p.want(t, "params.base", 3)
	p.want(t, "params.author", "root (key 1)")
	p.want(t, "params.farms.0", "shop")
	a.must(200, "GET", "/status", "").want(t, "params.pending.revision", 4)
	a.do("PUT", "/farms/shop", `{"vport":82}`).refused(t, 409, "revision 4 of root (key 1) is pending", "sluice confirm")
	a.do("POST", "/history/3/confirm", "").refused(t, 409, "revision 3 is not pending")
	a.must(200, "POST", "/history/4/confirm?dry_run=true", "")
	a.must(200, "GET", "/pending", "").want(t, "params.pending", "true")
	c := a.must(200, "POST", "/history/4/confirm", "")
	c.want(t, "params.pending", "false")
	c.want(t, "params.last.outcome", "confirmed")
	a.do("POST", "/history/4/confirm", "").refused(t, 409, "revision 4 is not pending")
	a.do("DELETE", "/pending", "").refused(t, 404, "no change is pending")
	a.must(200, "PUT", "/farms/shop?confirm=1h", `{"vport":83}`)
	a.must(200, "DELETE", "/pending", "").want(t, "params.last.outcome", "taken back")
	if f := a.config().Farms[0]; f.VPort != 81 {
		t.Errorf("port %d", f.VPort)
	}
	a.must(200, "POST", "/transactions?confirm=1h", `{"writes":[{"method":"PUT","path":"/farms/shop","body":{"vport":84}}]}`)
	a.must(200, "POST", "/history/rollback", `{"revision":6}`).want(t, "params.revision", 8)
	a.must(200, "GET", "/pending", "").want(t, "params.last.revision", 7)
	for query, text := range map[string]string{"confirm=x": "as 5m", "confirm=500ms": "from 1s to 24h", "confirm=25h": "from 1s", "confirm=1m&guard=errors<1%25": "one of them",
		"guard=errors": "neither a condition", "guard=errors<1%25&guard_window=1s": "from 10s", "guard=errors<1%25&guard_window=x": "write it as 10m", "guard_window=10m": "there is no guard"} {
		a.do("PUT", "/farms/shop?"+query, `{"vport":85}`).refused(t, 400, text)
	}
	a.do("PUT", "/farms/shop?guard=errors<1%25", `{"vport":85}`).refused(t, 400, "nothing is measured here")
	a.do("POST", "/keys?confirm=5m", `{}`).refused(t, 400, "confirm: it is no change of the configuration", "leave confirm out")
	a.do("PUT", "/farms/shop/actions?confirm=5m", `{"action":"restart"}`).refused(t, 400, "confirm: the restart of a farm is no change of the configuration")
	a.do("GET", "/farms?guard_window=10m", "").refused(t, 400, "guard_window: it changes nothing that could go back")
	if p := a.applier.Pending(); p != nil {
		t.Errorf("revision %d is pending", p.Revision)
	}
}

func TestStaticSessionsAndSettingsOfTheMachineMayBeOnTrial(t *testing.T) {
	table := &sessionTable{}
	a := newAppliance(t, func(d *apitest.Parts) { d.Traffic.SessionTable = table })
	a.shop(1)
	a.must(200, "PUT", "/farms/shop/services/web", `{"persistence":"COOKIE","sessionid":"SID"}`)
	const sessions = "/farms/shop/services/web/sessions"
	for _, c := range []struct{ method, path, body string }{
		{"POST", sessions, `{"id":0,"session":"ann"}`},
		{"DELETE", sessions + "/ann", ""},
		{"POST", sessions, `{"id":0,"session":"bob"}`},
		{"DELETE", sessions + "?session=bob", ""},
		{"POST", "/system/ssh", `{"port":"2222"}`},
		{"POST", "/system/rsyslog", `{"ip":"192.0.2.14"}`},
	} {
		both := c.path + "?confirm=5m"
		if strings.Contains(c.path, "?") {
			both = c.path + "&confirm=5m"
		}
		_, before := a.applier.Current()
		a.must(map[bool]int{true: 201, false: 200}[strings.HasSuffix(c.path, "/sessions")], c.method, both, c.body)
		if p := a.applier.Pending(); p == nil || p.Revision != before.Number+1 {
			t.Errorf("%s %s: pending is %+v", c.method, c.path, p)
			continue
		}
		a.must(200, "POST", fmt.Sprintf("/history/%d/confirm", before.Number+1), "")
	}
	a.must(200, "POST", "/transactions", `{"writes":[{"method":"POST","path":"`+sessions+`","body":{"id":0,"session":"eve"}},{"method":"POST","path":"/system/dns","body":{"primary":"192.0.2.53"}}]}`)
	if cfg := a.config(); cfg.Farms[0].HTTP.Services[0].Backends[0].Sessions[0] != "eve" || cfg.System.DNS.Primary.String() != "192.0.2.53" {
		t.Errorf("%+v", cfg)
	}
	for _, c := range []struct{ method, path, body string }{
		{"POST", sessions, `{"id":0,"session":"ann","ttl":60}`},
		{"DELETE", sessions, ""},
		{"DELETE", sessions + "/c", ""},
	} {
		a.do(c.method, c.path+"?confirm=5m", c.body).refused(t, 400, "confirm: what becomes of dynamic sessions is no change of the configuration")
		if c.body == "" {
			c.body = "null"
		}
		a.do("POST", "/transactions", `{"writes":[{"method":"`+c.method+`","path":"`+c.path+`","body":`+c.body+`}]}`).
			refused(t, 400, "what becomes of dynamic sessions is no change of the configuration, so no transaction can have it")
	}
	if learned := table.learned; len(learned) > 0 || table.gone {
		t.Errorf("dynamic sessions were made or deleted: %q", learned)
	}
}

func TestAGuardIsShownWithWhatItMeasures(t *testing.T) {
	var seen trial.Spec
	a := newAppliance(t, func(d *apitest.Parts) {
		d.Host.Trial = func(s trial.Spec) apply.Trial {
			seen = s
			return trial.New(trial.Options{Counters: silent{}}).Guard(s)
		}
		d.Revisions.Progress = func() *trial.Progress { return &trial.Progress{Revision: 4, Measured: []string{"errors 0%"}} }
	})
	a.shop(1)
	a.must(200, "PUT", "/farms/shop?guard=errors<1%25,p99<1s&guard_window=20m", `{"vport":81}`)
	if seen.Window != 20*time.Minute || len(seen.Conditions) != 2 {
		t.Errorf("%+v", seen)
	}
	p := a.must(200, "GET", "/pending", "")
	p.want(t, "params.guard", "errors<1%,p99<1s")
	p.want(t, "params.measured.0", "errors 0%")
	a.must(200, "GET", "/status", "").want(t, "params.pending.guard", "errors<1%,p99<1s")
}

// Neither the state of hidden farms is shown by a guard, nor reverts it a change because of them.
func TestGuardsOfLimitedUsersWatchOnlyFarmsTheySee(t *testing.T) {
	var seen trial.Spec
	a := newAppliance(t, func(d *apitest.Parts) {
		d.Host.Trial = func(s trial.Spec) apply.Trial {
			seen = s
			return trial.New(trial.Options{Counters: silent{}}).Guard(s)
		}
	})
	a.shop(1)
	a.people()
	a.must(200, "PUT", "/rbac/roles/ops", `{"farm":{"create":"true","modify":"true","menu":"true"},"system-service":{"menu":"true"}}`)
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"shop"}`)
	a.must(201, "POST", "/farms", `{"farmname":"other","profile":"http","vip":"192.0.2.10","vport":99}`)
	cfg, _ := a.applier.Current()
	shop, other := cfg.Farm("shop").ID, cfg.Farm("other").ID
	for _, guard := range []string{"errors<1%25", "all,errors<1%25"} {
		path := "/farms/shop?guard=" + guard + "&dry_run=true"
		if r := a.send("PUT", api.Base+path, `{"vport":81}`, "ZAPI_KEY", annsKey); r.status != 200 || seen.Sees == nil || !seen.Sees(shop) || seen.Sees(other) {
			t.Errorf("%s by ann: %s", guard, r.raw)
		}
		if r := a.do("PUT", path, `{"vport":81}`); r.status != 200 || seen.Sees != nil {
			t.Errorf("%s by root: %s", guard, r.raw)
		}
	}
}

func TestAPendingChangeIsEndedByItsAuthorOrWhoMayRollBack(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.people()
	a.must(200, "PUT", "/rbac/roles/ops", `{"farm":{"create":"true","modify":"true","menu":"true"},"system-service":{"menu":"true"}}`)
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"shop"}`)
	ann := func(method, path, body string) reply {
		return a.send(method, api.Base+path, body, "ZAPI_KEY", annsKey)
	}
	a.must(201, "POST", "/farms", `{"farmname":"other","profile":"http","vip":"192.0.2.10","vport":99}`)
	a.must(200, "PUT", "/farms/shop?confirm=5m", `{"vport":81}`)
	ann("POST", "/history/5/confirm", "").refused(t, 403, "of somebody else")
	ann("DELETE", "/pending", "").refused(t, 403, "of somebody else")
	p := ann("GET", "/pending", "")
	p.want(t, "params.revision", 5)
	p.want(t, "params.author", nil)
	status := ann("GET", "/status", "")
	status.want(t, "params.pending.revision", 5)
	status.want(t, "params.pending.author", nil)
	blocked := ann("PUT", "/farms/shop", `{"vport":83}`)
	blocked.refused(t, 409, "revision 5 is pending")
	if strings.Contains(blocked.raw, "root") {
		t.Errorf("the owner is shown: %s", blocked.raw)
	}
	a.do("PUT", "/farms/shop", `{"vport":83}`).refused(t, 409, "revision 5 of root (key 1) is pending")
	a.must(200, "GET", "/status", "").want(t, "params.pending.author", "root (key 1)")
	a.must(200, "DELETE", "/pending", "")
	if r := ann("PUT", "/farms/shop?confirm=5m", `{"vport":82}`); r.status != 200 {
		t.Fatal(r.raw)
	}
	ann("GET", "/pending", "").want(t, "params.author", "ann")
	ann("GET", "/status", "").want(t, "params.pending.author", "ann")
	a.must(200, "DELETE", "/rbac/groups/team/farms/shop", "") // the author no longer has it
	ann("POST", "/history/7/confirm", "").refused(t, 403, "does not see any more")
	ann("DELETE", "/pending", "").refused(t, 403, "does not see any more")
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"shop"}`)
	if r := ann("POST", "/history/7/confirm", ""); r.status != 200 {
		t.Errorf("one's own: %s", r.raw)
	}
}

// A pending change by a caller who sees some farms blocks only these, for at most ten
// minutes.
func TestAPendingChangeBlocksItsFarmsAlone(t *testing.T) {
	a := divided(t)
	a.must(200, "PUT", "/rbac/roles/ops", `{"farm":{"maintenance":"true"}}`)
	a.must(201, "POST", web+"/backends", `{"ip":"192.0.2.21","port":80}`)
	for _, query := range []string{"confirm=24h", "guard=errors<1%25&guard_window=24h"} {
		if r := a.as("PUT", "/farms/shop?"+query, `{"vport":81}`); r.status != 200 && strings.HasPrefix(query, "confirm") {
			t.Fatalf("%s: %s", query, r.raw)
		}
		p := a.applier.Pending()
		if p == nil {
			continue // nothing is measured here
		}
		if p.Wait != 10*time.Minute {
			t.Errorf("%s: it waits for %v", query, p.Wait)
		}
		a.must(200, "PUT", "/farms/theirs", `{"vport":8444}`)
		a.must(200, "PUT", "/farms/theirs", `{"vport":8443}`)
		a.do("PUT", "/farms/shop", `{"vport":82}`).refused(t, 409, "is pending")
		a.do("PUT", "/farms/dns?confirm=1m", `{"vport":54}`).refused(t, 409, "is pending")
		for _, action := range []string{"stop", "start"} {
			a.must(200, "PUT", "/farms/shop/actions", `{"action":"`+action+`"}`)
		}
		for _, action := range []string{"maintenance", "up"} {
			a.must(200, "PUT", web+"/backends/1/maintenance", `{"action":"`+action+`"}`)
		}
		a.must(200, "PUT", "/farms/theirs", `{"vport":8445}`)
		a.must(200, "DELETE", "/pending", "")
		a.must(200, "GET", "/farms/shop", "").want(t, "params.vport", 80)
		a.must(200, "GET", "/farms/theirs", "").want(t, "params.vport", 8445)
		a.must(200, "PUT", "/farms/theirs", `{"vport":8443}`)
	}
	// A caller who sees all farms may request more.
	a.must(200, "PUT", "/farms/shop?confirm=24h", `{"vport":81}`)
	if p := a.applier.Pending(); p.Wait != 24*time.Hour {
		t.Errorf("it waits for %v", p.Wait)
	}
}

func TestThePendingChangeIsStreamed(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	srv := httptest.NewServer(a.server.Handler())
	t.Cleanup(srv.Close)
	next, _, _ := following(t, srv.URL, a.key)
	until := func(parts ...string) {
		t.Helper()
		for got := next(); ; got = next() {
			if strings.HasPrefix(got, "pending") || got == "end" {
				for _, part := range parts {
					if !strings.Contains(got, part) {
						t.Errorf("got %s, want %s", got, part)
					}
				}
				return
			}
		}
	}
	next()
	a.must(200, "PUT", "/farms/shop?confirm=5m", `{"vport":81}`)
	until(`"pending":"true"`, `"revision":4`)
	if err := a.applier.GoBack(t.Context(), 4, apply.TimerSource, apply.NotConfirmed); err != nil {
		t.Fatal(err)
	}
	until(`"pending":"false"`, `"outcome":"went back"`, `"reason":"not confirmed"`, `"now":5`)
}

func TestTagsNameRevisions(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.must(201, "POST", "/history/tags", `{"name":"release-1.0","revision":2,"comment":"before the fair"}`).want(t, "params.author", "root (key 1)")
	a.must(201, "POST", "/history/tags", `{"name":"now"}`).want(t, "params.revision", 3)
	a.must(200, "POST", "/history/tags?dry_run=true", `{"name":"tried"}`)
	tags := a.must(200, "GET", "/history/tags", "")
	tags.want(t, "params.0.name", "now")
	tags.want(t, "params.1.comment", "before the fair")
	if list := tags.at("params").([]any); len(list) != 2 {
		t.Errorf("%d tags", len(list))
	}
	a.must(200, "GET", "/history/release-1.0", "").want(t, "params.number", 2)
	a.must(200, "GET", "/history", "").want(t, "params.1.tags.0", "release-1.0")
	d := a.must(200, "GET", "/history/now/diff?from=release-1.0", "")
	d.want(t, "params.from", 2)
	d.want(t, "params.to", 3)
	a.must(200, "POST", "/history/rollback", `{"revision":"release-1.0"}`).want(t, "params.revision", 4)
	if n := len(a.config().Farms[0].HTTP.Services[0].Backends); n != 0 {
		t.Errorf("%d backends", n)
	}
	a.do("GET", "/history/none", "").refused(t, 404, "there is no such tag")
	a.do("GET", "/history/now/diff?from=none", "").refused(t, 404, "there is no such tag")
	a.do("POST", "/history/rollback", `{"revision":"none"}`).refused(t, 404, "there is no such tag")
	a.do("POST", "/history/rollback", `{"revision":"-1"}`).refused(t, 400, "a number from 0 on, or a tag")
	a.do("POST", "/history/tags", `{"name":"now","revision":1}`).refused(t, 409, "now is revision 3")
	a.do("POST", "/history/tags", `{"name":"x","revision":77}`).refused(t, 404, "revision 77 does not exist")
	a.do("POST", "/history/tags", `{"name":"x","revision":0}`).refused(t, 400, "a number from 1 on")
	a.do("POST", "/history/tags", `{"name":"x","comment":7}`).refused(t, 400, "comment must be a text")
	for _, bad := range []string{"7", "", "tags", "rollback", "a b", "a/b", "ä", strings.Repeat("x", 65)} {
		a.do("POST", "/history/tags", `{"name":`+quote(bad)+`}`).refused(t, 400, "a letter, then letters")
	}
	a.must(200, "DELETE", "/history/tags/now?dry_run=true", "")
	a.must(200, "DELETE", "/history/tags/now", "")
	a.do("DELETE", "/history/tags/now", "").refused(t, 404, "the tag now does not exist")
}

func TestOneHundredCallsAtOnceMakeOneHistory(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	var all sync.WaitGroup
	var mu sync.Mutex
	told, lost := map[string]string{}, 0 // the action by revision
	for i := range 100 {
		all.Go(func() {
			body, headers := fmt.Sprintf(`{"vport":%d}`, 1000+i), []string{}
			method, path := "PUT", "/farms/shop"
			switch i % 3 {
			case 1:
				headers = []string{"If-Match", a.do("GET", "/farms/shop", "").header.Get("ETag")}
			case 2:
				method, path, body = "POST", "/transactions", `{"writes":[{"method":"PUT","path":"/farms/shop","body":{"vport":9}},{"method":"PUT","path":"/farms/shop","body":`+body+`}]}`
			}
			r := a.do(method, path, body, headers...)
			mu.Lock()
			defer mu.Unlock()
			switch at := r.header.Get("ETag"); {
			case r.status == 412 && len(headers) > 0:
				lost++
			case r.status != 200 || told[at] != "":
				t.Errorf("%s: status %d, revision %s, which also was %q\n%s", body, r.status, at, told[at], r.raw)
			default:
				told[at] = fmt.Sprint(1000 + i)
			}
		})
	}
	all.Wait()
	_, rev := a.applier.Current()
	if int(rev.Number)-3 != len(told) || len(told)+lost != 100 {
		t.Errorf("revision %d, %d were reported, %d too late", rev.Number, len(told), lost)
	}
	for at, port := range told {
		var n uint64
		fmt.Sscan(strings.Trim(at, `"`), &n)
		cfg, _, err := a.store.Get(n)
		if err != nil || fmt.Sprint(cfg.Farms[0].VPort) != port {
			t.Errorf("revision %d has another port than %s (%v)", n, port, err)
		}
	}
}

// silent measures nothing.
type silent struct{}

func (silent) SumFarm(uint32) stats.Farm       { return stats.Farm{} }
func (silent) SumFarmTimes(uint32) stats.Times { return stats.Times{} }
