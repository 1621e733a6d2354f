package api_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/api"
)

// stream opens a stream. ends reports whether it ends within some time.
func stream(t *testing.T, url, path, key string) (status int, ends func() bool, leave func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	r, err := http.NewRequestWithContext(ctx, "GET", url+api.Base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("ZAPI_KEY", key)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = resp.Body.Close() })
	return resp.StatusCode, func() bool {
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
		}
		return lines.Err() == nil
	}, cancel
}

// A trace ends when its viewer loses the right to it, for any reason.
func TestATraceEndsWithTheRightsOfWhoWatches(t *testing.T) {
	gone := func(method, path, body string) func(*appliance) {
		return func(a *appliance) { a.must(200, method, path, body) }
	}
	for name, take := range map[string]func(*appliance){
		"permission of the role": gone("PUT", "/rbac/roles/ops", `{"trace":{"show":"false"}}`),
		"farm of the group":      gone("DELETE", "/rbac/groups/team/farms/shop", ""),
		"all farms":              gone("PUT", "/rbac/groups/other", `{"all_farms":"false"}`),
		"user of the group":      gone("DELETE", "/rbac/groups/team/users/ann", ""),
		"group":                  gone("DELETE", "/rbac/groups/team", ""),
		"user":                   gone("DELETE", "/rbac/users/ann", ""),
		"use of the API":         gone("PUT", "/rbac/users/ann", `{"zapi_permissions":"false"}`),
		"key":                    gone("PUT", "/rbac/users/ann", `{"zapikey":"Other0123456789"}`),
		"farm":                   gone("DELETE", "/farms/shop", ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			change, _, start := watchable(t)
			a := newAppliance(t, change)
			a.shop(1)
			start(a.config())
			a.people()
			a.must(200, "PUT", "/rbac/roles/ops", `{"trace":{"show":"true"}}`)
			if name == "all farms" {
				a.must(200, "DELETE", "/rbac/groups/team/users/ann", "")
				a.must(201, "POST", "/rbac/groups", `{"name":"other"}`)
				a.must(200, "PUT", "/rbac/groups/other", `{"role":"ops","all_farms":"true"}`)
				a.must(201, "POST", "/rbac/groups/other/users", `{"name":"ann"}`)
			} else {
				a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"shop"}`)
			}
			srv := httptest.NewServer(a.server.Handler())
			t.Cleanup(srv.Close)
			status, ends, _ := stream(t, srv.URL, "/farms/shop/trace", annsKey)
			if status != 200 {
				t.Fatalf("status %d", status)
			}
			take(a)
			if !ends() {
				t.Error("the stream does not end")
			}
		})
	}
}

// If the right is withdrawn during the count, the result is not sent.
func TestQuestionsAreToldToWhoStillMaySeeThem(t *testing.T) {
	change, _, start := watchable(t)
	a := newAppliance(t, change)
	a.gslb()
	start(a.config())
	a.people()
	a.must(200, "PUT", "/rbac/roles/ops", `{"trace":{"show":"true"}}`)
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"names"}`)
	if r := a.as("GET", "/farms/names/questions?seconds=1", ""); r.status != 200 {
		t.Fatal(r.raw)
	}
	answer := make(chan reply)
	go func() { answer <- a.as("GET", "/farms/names/questions?seconds=3", "") }()
	// This also holds once the call has begun.
	a.must(200, "DELETE", "/rbac/groups/team/farms/names", "")
	if r := <-answer; r.status == 200 {
		t.Errorf("a user without the farm gets an answer: %s", r.raw)
	}
}

// A user may have many pages open. A user cannot lock others, or root, out of streams.
func TestStreamsAreLeftForOthers(t *testing.T) {
	change, _, start := watchable(t)
	a := newAppliance(t, change)
	a.shop(1)
	start(a.config())
	a.must(201, "POST", "/rbac/roles", `{"name":"ops"}`)
	a.must(200, "PUT", "/rbac/roles/ops", `{"trace":{"show":"true"}}`)
	a.must(201, "POST", "/rbac/groups", `{"name":"team"}`)
	a.must(200, "PUT", "/rbac/groups/team", `{"role":"ops"}`)
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"shop"}`)
	for n := range 2 {
		user := fmt.Sprint("user", n)
		a.user(user)
		a.must(201, "POST", "/rbac/groups/team/users", `{"name":"`+user+`"}`)
	}
	srv := httptest.NewServer(a.server.Handler())
	t.Cleanup(srv.Close)
	for _, path := range []string{"/changes/stream", "/farms/shop/trace"} {
		opened := 0
		var leave func()
		for {
			status, _, left := stream(t, srv.URL, path, keyOf("user0"))
			if status != 200 {
				if status != 503 {
					t.Errorf("%s: %d", path, status)
				}
				break
			}
			opened, leave = opened+1, left
		}
		if opened < 12 {
			t.Fatalf("%s: one user has %d at most", path, opened)
		}
		for _, key := range []string{keyOf("user1"), a.key} {
			if status, _, _ := stream(t, srv.URL, path, key); status != 200 {
				t.Errorf("%s: another user got %d", path, status)
			}
		}
		leave() // frees its place
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			status, _, _ := stream(t, srv.URL, path, keyOf("user0"))
			if status == 200 {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%s: a slot is not released", path)
			}
		}
	}
}
