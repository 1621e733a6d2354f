package api_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/system"
	"github.com/sluicelb/sluice/mgmt/apply"
)

func TestStatisticsShowCountersAndStatus(t *testing.T) {
	a := newAppliance(t)
	a.shop(2)
	f := a.config().Farm("shop")
	first, second := f.HTTP.Services[0].Backends[0].ID, f.HTTP.Services[0].Backends[1].ID
	a.engine.farms[f.ID] = stats.Farm{Established: 5, Pending: 2, Requests: 100, Responses: [5]uint64{0, 90, 5, 4, 1}, BytesOut: 1 << 60}
	a.engine.backends[first] = stats.Backend{Established: 3, Pending: 1, Requests: 60, Connects: 2, ConnectNanos: 4e6}
	a.engine.health[first] = farm.StatusUp

	r := a.must(200, "GET", "/stats/farms", "")
	r.want(t, "farms.0.farmname", "shop")
	r.want(t, "farms.0.status", "up")
	r.want(t, "farms.0.established", 5)
	r.want(t, "farms.0.pending", 2)
	r.want(t, "farms.0.counters.responses.2xx", 90)
	if !strings.Contains(r.raw, "1152921504606846976") {
		t.Errorf("a large counter lost digits:\n%s", r.raw)
	}
	for _, path := range []string{"/stats/farms/shop", "/stats/farms/shop/backends", "/stats/farms/shop/services/web/backends", "/stats/farms/shop/service/web/backends"} {
		r := a.must(200, "GET", path, "")
		r.want(t, "backends.0.id", 0)
		r.want(t, "backends.0.service", "web")
		r.want(t, "backends.0.status", "up")
		r.want(t, "backends.0.established", 3)
		r.want(t, "backends.0.pending", 1)
		r.want(t, "backends.0.counters.connect_time", 0.002)
		r.want(t, "total_sessions", 0)
		r.want(t, "backends.1.status", "up")
	}
	a.engine.health[second] = farm.StatusDown
	a.must(200, "GET", "/stats/farms?status=problem&profile=http", "").want(t, "farms.0.status", "problem")
	if r := a.must(200, "GET", "/stats/farms?status=up", ""); r.at("farms.0") != nil {
		t.Errorf("filter:\n%s", r.raw)
	}
	a.do("GET", "/stats/farms/none", "").refused(t, 404, "none")
	a.do("GET", "/stats/farms/shop/services/none/backends", "").refused(t, 404, "none")
}

func TestModulesAndVersion(t *testing.T) {
	a := newAppliance(t)
	a.shop(0)
	r := a.must(200, "GET", "/farms/modules/summary", "")
	r.want(t, "params.lslb.0.name", "shop")
	r.want(t, "params.lslb.0.services.0", "web")
	a.must(200, "GET", "/farms/modules/lslb", "").want(t, "params.0.farmname", "shop")
	r = a.must(200, "GET", "/system/version", "")
	r.want(t, "params.sluice_version", "1.2.3")
	if r.at("params.kernel_version") == "" || r.at("params.hostname") == "" {
		t.Error(r.raw)
	}
}

const documentText = `farms:
- name: shop
  profile: http
  vip: 192.0.2.10
  vport: 80
  services:
  - name: web
    backends:
    - ip: 10.0.0.1
      port: 8080
`

func TestADocumentIsPlannedAppliedAndExported(t *testing.T) {
	a := newAppliance(t)
	kind := []string{"Content-Type", "application/yaml"}
	r := a.must(200, "PUT", "/config?dry_run=true", documentText, kind...)
	r.want(t, "params.dry_run", "true")
	r.want(t, "params.unchanged", "false")
	if diff, _ := r.at("params.diff").(string); !strings.Contains(diff, "+") || !strings.Contains(diff, "10.0.0.1") {
		t.Errorf("diff %q", diff)
	}
	if problems, _ := r.at("params.problems").([]any); len(problems) != 0 {
		t.Errorf("problems %v of a farm that can run", problems)
	}
	foreign := strings.Replace(documentText, "192.0.2.10", "198.51.100.99", 1)
	a.must(200, "PUT", "/config?dry_run=true", foreign, kind...).
		want(t, "params.problems.0", "farm shop: vip must be an address of this machine, got 198.51.100.99: add it to an interface first")
	if len(a.config().Farms) != 0 {
		t.Fatal("a dry run changed something")
	}
	r = a.must(200, "POST", "/config?comment=first+try", documentText, kind...)
	r.want(t, "params.revision", 1)
	exported := a.must(200, "GET", "/config", "")
	if exported.header.Get("Content-Type") != "application/yaml" || !strings.Contains(exported.raw, "name: shop") {
		t.Errorf("%s\n%s", exported.header.Get("Content-Type"), exported.raw)
	}
	r = a.must(200, "PUT", "/config", exported.raw, kind...)
	r.want(t, "params.unchanged", "true")
	r.want(t, "params.revision", 1)
	asJSON := a.must(200, "GET", "/config?format=json", "")
	a.must(200, "PUT", "/config", asJSON.raw, "Content-Type", "application/json").want(t, "params.unchanged", "true")
	a.must(200, "GET", "/history/1", "").want(t, "params.comment", "first try")

	a.do("PUT", "/config", "farms:\n- nam: x\n", kind...).refused(t, 400, "line 2", "nam")
	a.do("PUT", "/config", "farms: [", kind...).refused(t, 400)
	a.do("PUT", "/config", strings.Replace(documentText, "192.0.2.10", "300.1.1.1", 1), kind...).refused(t, 400, "line 4", "vip")
	a.do("PUT", "/config", documentText, "Content-Type", "application/x-www-form-urlencoded").refused(t, 415)
	a.do("PUT", "/config?comment=%1b", documentText, kind...).refused(t, 400, "comment")
}

func TestHistoryDiffAndRollback(t *testing.T) {
	a := newAppliance(t)
	a.shop(1) // revisions 1 to 3
	r := a.must(200, "GET", "/history", "")
	r.want(t, "params.0.number", 3)
	r.want(t, "params.0.author", "root (key 1)")
	r.want(t, "params.0.source", "api 198.51.100.7")
	r.want(t, "params.2.comment", "create farm shop")
	a.must(200, "GET", "/history?limit=1&before=3", "").want(t, "params.0.number", 2)
	if diff, _ := a.must(200, "GET", "/history/3/diff", "").at("params.diff").(string); !strings.Contains(diff, "10.0.0.1") {
		t.Errorf("diff %q", diff)
	}
	if diff, _ := a.must(200, "GET", "/history/3/diff?from=1", "").at("params.diff").(string); !strings.Contains(diff, "web") {
		t.Errorf("diff %q", diff)
	}
	a.do("GET", "/history/3/diff?from=99", "").refused(t, 404, "the revision 99 does not exist")
	a.do("POST", "/history/rollback", `{"revision":99}`).refused(t, 404, "the revision 99 does not exist, or is no longer kept")
	a.must(200, "POST", "/history/rollback", `{"revision":"2"}`).want(t, "params.revision", 4)
	if n := len(a.config().Farms[0].HTTP.Services[0].Backends); n != 0 {
		t.Errorf("%d backends after the rollback", n)
	}
	a.do("POST", "/history/rollback", `{"revision":99}`).refused(t, 404)
	a.do("POST", "/history/rollback", `{"revision":"x"}`).refused(t, 404, "no such tag")
	a.do("GET", "/history/99", "").refused(t, 404, "99")
	a.do("GET", "/history/x", "").refused(t, 404)
	a.do("GET", "/history/99/diff", "").refused(t, 404)
}

// A change with the tag of a farm competes only with changes of that farm.
func TestAChangeOfAnotherFarmMeanwhileDoesNotMatter(t *testing.T) {
	for changed, want := range map[string]int{"other": 200, "shop": 412} {
		a := newAppliance(t)
		a.shop(0)
		a.must(201, "POST", "/farms", `{"farmname":"other","profile":"http","vip":"192.0.2.10","vport":81}`)
		tag := a.must(200, "GET", "/farms/shop", "").header.Get("ETag")
		*a.meanwhile = func() { a.must(200, "PUT", "/farms/"+changed, `{"contimeout":7}`) }
		if r := a.do("PUT", "/farms/shop", `{"restimeout":8}`, "If-Match", tag); r.status != want {
			t.Errorf("after a change of %s: %d %s", changed, r.status, r.raw)
		}
		if *a.meanwhile != nil {
			t.Error("no other change")
		}
	}
}

func TestStaleWriterIsRefused(t *testing.T) {
	a := newAppliance(t)
	a.shop(0)
	tag := a.must(200, "GET", "/farms/shop", "").header.Get("ETag")
	changed := a.must(200, "PUT", "/farms/shop", `{"contimeout":5}`, "If-Match", tag)
	if changed.header.Get("ETag") == tag {
		t.Error("the change kept the ETag")
	}
	a.do("PUT", "/farms/shop", `{"contimeout":6}`, "If-Match", tag).refused(t, 412, "changed")
	a.do("DELETE", "/farms/shop", "", "If-Match", tag).refused(t, 412)
	a.do("PUT", "/config", documentText, "If-Match", tag, "Content-Type", "application/yaml").refused(t, 412)
	a.do("POST", "/history/rollback", `{"revision":1}`, "If-Match", tag).refused(t, 412)
	a.do("PUT", "/farms/shop/actions", `{"action":"restart"}`, "If-Match", tag).refused(t, 412)
	a.do("PUT", "/farms/shop", `{"contimeout":6}`, "If-Match", "abc").refused(t, 412, "changed")
	a.do("PUT", "/farms/shop", `{"contimeout":6}`, "If-Match", "W/"+changed.header.Get("ETag")).refused(t, 412, "changed") // strong comparison
	a.must(200, "PUT", "/farms/shop", `{"contimeout":5}`, "If-Match", tag+", "+changed.header.Get("ETag"))
	a.must(200, "PUT", "/farms/shop", `{"contimeout":6}`, "If-Match", "*")
	if got := a.config().Farms[0].HTTP.ConnectTimeout; got != 6 {
		t.Errorf("contimeout %d", got)
	}
}

func TestTwoWritersWithTheSameTagOneWins(t *testing.T) {
	a := newAppliance(t)
	a.shop(0)
	tag := a.must(200, "GET", "/farms/shop", "").header.Get("ETag")
	var wg sync.WaitGroup
	statuses := make([]int, 8)
	for i := range statuses {
		wg.Go(func() {
			statuses[i] = a.do("PUT", "/farms/shop", `{"contimeout":`+quoteAny(i+1)+`}`, "If-Match", tag).status
		})
	}
	wg.Wait()
	won := 0
	for _, s := range statuses {
		switch s {
		case 200:
			won++
		case 412:
		default:
			t.Errorf("status %d", s)
		}
	}
	if won != 1 {
		t.Errorf("%d writers won, want one", won)
	}
}

func TestWhatTheEngineRefusesIsToldAndNotKept(t *testing.T) {
	a := newAppliance(t)
	a.shop(0)
	a.engine.refuse = &apply.Refused{Reason: "snapshot refused: too many services"}
	a.do("PUT", "/farms/shop", `{"contimeout":5}`).refused(t, 409, "too many services")
	a.engine.refuse = apply.ErrUnavailable
	a.do("PUT", "/farms/shop", `{"contimeout":5}`).refused(t, 503, "engine")
	a.engine.refuse = errors.New("open /var/lib/sluice/secret: no such file")
	if r := a.do("PUT", "/farms/shop", `{"contimeout":5}`); r.status < 500 || strings.Contains(r.raw, "/var/lib") {
		t.Errorf("%d\n%s", r.status, r.raw)
	}
	a.engine.refuse = nil
	a.must(200, "GET", "/farms/shop", "").want(t, "params.contimeout", 20)
}

func TestStatusTellsTheStateOfTheAppliance(t *testing.T) {
	a := newAppliance(t, func(d *apitest.Parts) {
		d.System.Roles = func() []system.Role { return []system.Role{{Name: "engine", PID: 77, State: "running"}} }
	})
	a.shop(1)
	r := a.must(200, "GET", "/status", "")
	r.want(t, "params.roles.0.name", "engine")
	r.want(t, "params.engine.pid", 77)
	r.want(t, "params.revision", 3)
	r.want(t, "params.farms.0.status", "up")
	a.engine.down = true
	r = a.must(200, "GET", "/status", "")
	r.want(t, "params.farms.0.status", "down")
	r.want(t, "params.farms.0.problem", "the engine is not running")
}

func TestReloadNeedsAFile(t *testing.T) {
	a := newAppliance(t)
	a.do("POST", "/config/reload", "").refused(t, 400, "--config")
	called := newAppliance(t, func(d *apitest.Parts) {
		d.Revisions.Reload = func(context.Context, apply.Author) (apply.Result, error) { return apply.Result{Unchanged: true}, nil }
	})
	called.must(200, "POST", "/config/reload", "").want(t, "params.unchanged", "true")
	gone := newAppliance(t, func(d *apitest.Parts) {
		d.Revisions.Reload = func(context.Context, apply.Author) (apply.Result, error) {
			return apply.Result{}, fmt.Errorf("%w: open /etc/farms.yaml: no such file or directory", rest.ErrConfigFile)
		}
	})
	gone.do("POST", "/config/reload", "").refused(t, 409, "cannot be read", "/etc/farms.yaml")
}
