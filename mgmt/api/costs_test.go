package api_test

import (
	"fmt"
	"strings"
	"testing"
)

// deletions returns the deletions listed in a response.
func deletions(t *testing.T, r reply) string {
	t.Helper()
	list, is := within(r.body, "params", "deletions").([]any)
	if !is {
		t.Fatalf("no deletions in %s", r.raw)
	}
	var out []string
	for _, d := range list {
		d := d.(map[string]any)
		out = append(out, fmt.Sprint(d["kind"], " ", d["name"]))
	}
	return strings.Join(out, "; ")
}

// kindOf returns the Content-Type header for a path.
func kindOf(path string) []string {
	if strings.HasPrefix(path, "/config") {
		return []string{"Content-Type", "application/yaml"}
	}
	return nil
}

// A dry run of any change lists its deletions.
func TestAnswersNameWhatADocumentDeletes(t *testing.T) {
	a := newAppliance(t)
	a.shop(2)
	a.dns(1)
	for _, c := range []struct{ method, path, body, want string }{
		{"DELETE", "/farms/dns?dry_run=true", "", "farm dns"},
		{"DELETE", "/farms/shop/services/web/backends/1?dry_run=true", "", "backend 10.0.0.2:8080 of service web of farm shop"},
		{"PUT", "/farms/shop?dry_run=true", `{"newfarmname":"store"}`, ""},
		{"PUT", "/config?dry_run=true", "farms: []\n", "farm shop; farm dns"},
		{"PUT", "/config?dry_run=true&merge=true", "farms: []\n", ""},
		{"PUT", "/config?dry_run=true&merge=true", "farms:\n  - {name: dns, profile: l4xnat, vip: 192.0.2.10, vport: 53, protocol: udp}\n", "backend 10.0.0.1:53 of farm dns"},
		{"POST", "/history/rollback?dry_run=true", `{"revision":1}`, "backend 10.0.0.1:8080 of service web of farm shop"},
		{"POST", "/transactions?dry_run=true", `{"writes":[{"method":"DELETE","path":"/farms/dns"}]}`, "farm dns"},
	} {
		r := a.do(c.method, c.path, c.body, kindOf(c.path)...)
		if r.status != 200 {
			t.Fatalf("%s %s: %s", c.method, c.path, r.raw)
		}
		if got := deletions(t, r); got != c.want && !(strings.HasPrefix(c.path, "/history") && strings.Contains(got, "farm dns")) {
			t.Errorf("%s %s: %q, want %q", c.method, c.path, got, c.want)
		}
		if r.header.Get("ETag") == "" {
			t.Errorf("%s %s has no ETag to apply it by", c.method, c.path)
		}
	}
	r := a.must(200, "PUT", "/config?merge=true", "farms:\n  - {name: new, profile: http, vip: 192.0.2.10, vport: 81}\n", kindOf("/config")...)
	if got := deletions(t, r); got != "" {
		t.Errorf("merged: %q", got)
	}
	r = a.must(200, "PUT", "/config", "farms: []\n", kindOf("/config")...)
	if got := deletions(t, r); got != "farm shop; farm dns; farm new" {
		t.Errorf("applied: %q", got)
	}
}
