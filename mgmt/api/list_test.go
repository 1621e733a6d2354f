package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// Lists of farms, backends and users are long. All lists share the same code.
func TestListsOfFarmsAreHadInPartsAndByField(t *testing.T) {
	a := newAppliance(t)
	a.fill(12, 2)
	a.must(200, "PUT", "/farms/farm0003/actions", `{"action":"stop"}`)
	a.must(200, "PUT", "/farms/farm0005/services/web/backends/1/maintenance", `{"action":"maintenance"}`)
	names := func(path, list, field string) string {
		t.Helper()
		body := a.must(200, "GET", path, "").body
		var out []string
		for _, one := range body[list].([]any) {
			out = append(out, fmt.Sprint(one.(map[string]any)[field]))
		}
		if total, told := body["total"]; told {
			out = append(out, fmt.Sprintf("of %v", total))
		}
		return strings.TrimSpace(strings.Join(out, " "))
	}
	for path, want := range map[string]string{
		"/farms?status=down":                             "farm0003",
		"/farms?name=FARM001&profile=http":               "farm0010 farm0011",
		"/farms?limit=2&offset=4":                        "farm0004 farm0005 of 12",
		"/farms?status=maintenance&limit=1":              "farm0005 of 1",
		"/farms?name=none":                               "",
		"/farms/modules/lslb?offset=11":                  "farm0011 of 12",
		"/farms/modules/gslb?limit=1":                    "of 0",
		"/stats/farms?status=down":                       "farm0003",
		"/stats/farms?name=farm000&limit=1&offset=9":     "farm0009 of 10",
		"/stats/farms/modules/lslb?limit=1&offset=2":     "farm0002 of 12",
		"/stats/farms/modules/dslb?profile=http&limit=1": "of 0",
	} {
		list := "params"
		if strings.HasPrefix(path, "/stats") {
			list = "farms"
		}
		if got := names(path, list, "farmname"); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	const backends = "/farms/farm0005/services/web/backends"
	for query, want := range map[string]string{"?status=" + string(farm.StatusMaintenance): "10.0.5.2", "?ip=5.1": "10.0.5.1", "?port=8080&limit=1": "10.0.5.1 of 2", "?port=80": ""} {
		if got := names(backends+query, "params", "ip"); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	for _, wrong := range []string{"/farms?limit=0", "/farms?offset=x", "/farms?farm=a", "/farms/farm0005?limit=1", "/stats/farms?status=none", "/history?offset=1", "/keys?key=x"} {
		a.must(400, "GET", wrong, "")
	}
}
