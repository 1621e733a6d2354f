//go:build !race

// One caller at a time: the race detector finds nothing here.

package api_test

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/api"
)

// canary is part of every name of the farms that the caller does not see.
const canary = "quokka"

// hide creates farms and a health check with names of the canary, with everything that is
// worth a warning, and a group of the shop whose user ann is an administrator.
func (a *appliance) hide() {
	a.t.Helper()
	a.must(201, "POST", "/farms", `{"farmname":"quokka","profile":"http","vip":"192.0.2.10","vport":8085,"comment":"quokka"}`)
	a.must(201, "POST", "/farms/quokka/services", `{"id":"quokka"}`)
	a.must(201, "POST", "/farms/quokka/services/quokka/backends", `{"ip":"10.0.9.1","port":8085,"alias":"quokka"}`)
	a.must(201, "POST", "/farms", `{"farmname":"quokkadns","profile":"gslb","vip":"192.0.2.10","vport":5390}`)
	a.must(201, "POST", "/farms/quokkadns/zones", `{"id":"quokka.example"}`) // its name server has no address
	a.must(201, "POST", "/farms", `{"farmname":"quokkal4","profile":"l4xnat","vip":"192.0.2.10","vport":"5391"}`)
	a.must(201, "POST", "/farms/quokkal4/backends", `{"ip":"10.0.9.1","port":5391}`) // the kernel farm has no check
	a.must(200, "POST", fg, `{"name":"quokkacheck","command":"check_http -I HOST -p PORT -a user:quokka"}`)
	a.must(200, "POST", "/farms/quokka/services/quokka/fg", `{"name":"quokkacheck"}`)
	a.people()
	a.must(200, "PUT", "/rbac/groups/team", `{"role":"administration"}`)
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"shop"}`)
}

// examples returns bodies for all operations: the examples of the OpenAPI document, or a
// few of their own.
func (a *appliance) examples() map[string]string {
	a.t.Helper()
	var document struct {
		Paths map[string]map[string]struct {
			RequestBody struct {
				Content map[string]struct{ Example json.RawMessage }
			}
		}
	}
	if err := json.Unmarshal([]byte(a.must(200, "GET", "/openapi.json", "").raw), &document); err != nil {
		a.t.Fatal(err)
	}
	out := map[string]string{}
	for path, verbs := range document.Paths {
		for verb, o := range verbs {
			out[strings.ToUpper(verb)+" "+path] = string(o.RequestBody.Content["application/json"].Example)
		}
	}
	out["POST /transactions"] = transaction("PUT", "/farms/shop", `{"resurrectime":31}`)
	out["PUT /farms/{farm}"] = `{"resurrectime":32}`
	out["POST /farms"] = `{"farmname":"mine","profile":"http","vip":"192.0.2.10","vport":8086}`
	out["PUT /config"], out["POST /config"] = "farms: []\n", "farms: []\n"
	return out
}

// No response names a farm that the caller does not see, or anything of it: reads, dry
// runs, changes that are made, and refusals.
func TestNoResponseNamesWhatIsHidden(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.hide()
	examples := a.examples()
	routes := a.server.Routes()
	order := []string{"GET", "POST", "PUT", "DELETE"}
	slices.SortStableFunc(routes, func(x, y api.Route) int {
		return cmp.Or(slices.Index(order, x.Method)-slices.Index(order, y.Method), len(y.Path)-len(x.Path)) // parts before their whole
	})
	made, all := 0, 0
	for _, r := range routes {
		if strings.HasSuffix(r.Path, "/stream") || strings.HasSuffix(r.Path, "/trace") || strings.HasSuffix(r.Path, "/questions") {
			continue
		}
		path, queries := filled(r.Path), []string{""}
		if r.Method != "GET" {
			queries = []string{"?dry_run=true", ""}
		}
		for _, query := range queries {
			got := a.as(r.Method, path+query, examples[r.Method+" "+r.Path])
			if all++; got.status < 300 && r.Method != "GET" {
				made++
			}
			if strings.Contains(got.raw, canary) || strings.Contains(got.raw, "10.0.9.1") {
				t.Errorf("%s %s%s: %d %s", r.Method, path, query, got.status, around(got.raw, canary))
			}
		}
	}
	if all < 500 || made < 50 {
		t.Errorf("%d calls were made, %d changes succeeded", all, made)
	}
}
