package api_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/accesslog"
)

func TestLogsAreListedShownAndDownloaded(t *testing.T) {
	a := newAppliance(t)
	folder := filepath.Join(a.dir, accesslog.Folder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("a line\n", 200_000) + "the last one\n"
	if err := os.WriteFile(filepath.Join(folder, "shop.log"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := a.must(200, "GET", "/system/logs", "")
	seen := map[string]any{}
	for _, f := range r.body["params"].([]any) {
		f := f.(map[string]any)
		seen[f["file"].(string)] = f["size"]
		if f["date"] == "" {
			t.Errorf("%v", f)
		}
	}
	if seen["shop.log"] != float64(len(text)) || seen["sluice-audit.log"] == nil || len(seen) != 2 {
		t.Errorf("listed: %v", seen)
	}
	if got := fmt.Sprint(a.must(200, "GET", "/system/logs/shop.log/lines/2", "").body["log"]); got != "[the last one a line]" {
		t.Errorf("last lines: %s", got)
	}
	r = a.must(200, "GET", "/system/logs/shop.log", "")
	if r.raw != text || r.header.Get("Content-Length") != fmt.Sprint(len(text)) || r.header.Get("Content-Disposition") != `attachment; filename="shop.log"` || r.header.Get("Content-Type") != "application/x-download" {
		t.Errorf("%d bytes, %v", len(r.raw), r.header)
	}
	if got := fmt.Sprint(within(a.must(200, "GET", "/ids", "").body, "params", "system", "logs")); got != "map[shop.log:<nil> sluice-audit.log:<nil>]" {
		t.Errorf("names: %s", got)
	}
	for path, want := range map[string]int{"/none.log": 404, "/none.log/lines/1": 404, "/shop.log/lines/0": 400, "/shop.log/lines/10001": 400, "/shop.log/lines/many": 400, "/store.db": 404} {
		a.do("GET", "/system/logs"+path, "").refused(t, want)
	}
}

// Logs concern all farms.
func TestWhoSeesSomeFarmsSeesNoLogs(t *testing.T) {
	a := newAppliance(t)
	a.people()
	a.must(200, "PUT", "/rbac/groups/team", `{"role":"administration"}`)
	a.as("GET", "/system/logs", "").refused(t, 403, "all farms") // without any farm, a group does not see all farms
	a.shop(1)
	for _, path := range []string{"/system/logs", "/system/logs/sluice-audit.log", "/system/logs/sluice-audit.log/lines/1"} {
		a.as("GET", path, "").refused(t, 403, "all farms")
	}
	if got := within(a.as("GET", "/ids", "").body, "params", "system", "logs"); got != nil {
		t.Errorf("names: %v", got)
	}
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"shop"}`)
	if r := a.as("GET", "/system/logs", ""); r.status != 200 {
		t.Errorf("with all farms: %s", r.raw)
	}
}
